#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernel summation on the emulator: right against the host; by hand the same bits as from plain kernels, and under a plan
# too. What is fused and why the rest is not is in the table below, which follows kfuse.
. "$top_srcdir/tests/tools/functions.sh"
program=$bench/kernel-summation-shared
plan_options="--keep-losing --store-all"

sort >"$work/expected" <<END
tiles apart gemv_tiles, add_tiles: gemv_tiles writes array 7 in block (1,0,0) thread (0,7,0), add_tiles reads it in block (0,0,0) thread (7,1,0), both byte 1228 (element 307 of 4 bytes)
tiles apart squares, gemm: blocks stay whole, of other shapes: a warp collective
tiles fused evaluate, gemv_tiles: inner-block, a barrier between them, 8 loads from shared memory
tiles fused gemm, evaluate: inner-block, 64 values in registers, 64 stores left out
tiles fused squares, squares: inner-thread
tiles handed array 5, 128 rows of 512 bytes: 8 loads take what 64 stores leave, 0 of which go nowhere else
tiles group gemm+evaluate+gemv_tiles
tiles group squares+squares
rows apart evaluate, gemv: kernel gemm writes the array of its argument at byte 32, kernel gemv reads it from another thread
rows apart squares, gemm: blocks stay whole, of other shapes: a warp collective
rows fused gemm, evaluate: inner-thread, 64 values in registers, 64 stores left out
rows fused squares, squares: inner-thread
rows group gemm+evaluate
rows group squares+squares
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

# the matrix is written in none of the steps, though the squared lengths that it is made of are computed anew in each
plan_options=--keep-losing
set -- "$program" --m 300 --n 200 --k 33 --steps 4
original "$@"
record_and_plan "$@"
run_planned "$@"
[ "$(stat_of stale) $(stat_of paid)" = '4 0' ] ||
    fail "the matrix is left out in $(stat_of stale) steps, not 4, and made again $(stat_of paid) times"
