#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernel summation on the emulator: right against the host; by hand the same bits as from plain kernels, and under a plan
# too. What is fused and why the rest is not is in the table below, which follows kfuse.
. "$top_srcdir/tests/tools/functions.sh"
program=$bench/kernel-summation-shared
plan_options=--keep-losing

sort >"$work/expected" <<END
tiles alone squares: a warp collective
tiles alone gemm: shared memory
tiles alone gemv_tiles: a warp collective
tiles alone add_tiles: shared memory
rows alone squares: a warp collective
rows alone gemm: shared memory
rows alone gemv: a warp collective
END

for options in '--m 1 --n 1 --k 1' '--m 128 --n 256 --k 16' '--m 300 --n 200 --k 33'; do
    # shellcheck disable=SC2086
    {
        expect 0 on_emulator "$program" $options --check --dump "$work/plain"
        expect 0 on_emulator "$program" $options --check --dump "$work/limit" --variant limit
        expect 0 on_emulator "$program" $options --check --rows
    }
    cmp "$work/plain" "$work/limit" || fail "by hand: other results: $options"
done
export KFUSE_HOLD_US=10000000
for form in tiles rows; do
    set -- "$program" --m 300 --n 200 --k 33 --steps 2
    [ $form = tiles ] || set -- "$@" --rows
    original "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
    record_and_plan "$@"
    run_planned "$@"
    told $form >"$work/lines"
    cat "$work/lines"
    ! grep -q " group " "$work/lines" || [ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "planned, not used: $form"
done >"$work/told"
sort "$work/told" | diff "$work/expected" - >&2 || fail "<: as this test has it; >: as kfuse explain tells"
