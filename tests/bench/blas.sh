#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sequences of linear algebra on the emulator: right against the host; by hand the same bits as from the routines, and
# under a plan too. What is fused, what cannot be and what stays apart is in the table below, which follows kfuse;
# bench/told.awk tells its words.
. "$top_srcdir/tests/tools/functions.sh"
blas=$bench/blas-shared
plan_options=--keep-losing

# right SEQUENCE OPTION...: within the bound of the host's results, and by hand with the same bits: in gesummv the second
# product is added to the rounded first, by hand only one of both is rounded
right() {
    expect 0 on_emulator "$blas" --sequence "$@" --check --dump "$work/plain"
    grep -q "^$1 .* limit" "$work/list" || return 0
    expect 0 on_emulator "$blas" --sequence "$@" --check --dump "$work/limit" --variant limit
    [ "$1" = gesummv ] || cmp "$work/plain" "$work/limit" || fail "by hand: other results: $*"
}

sort >"$work/expected" <<END
axpydot group copy+axpy
axpydot fused copy, axpy: inner-thread, 1 value in a register, 1 store left out
axpydot alone dot: a warp collective
axpydot alone sum: a warp collective
vadd group copy+axpy+axpy
vadd fused copy, axpy: inner-thread, 1 value in a register, 1 store left out
vadd fused axpy, axpy: inner-thread, 1 value in a register, 1 store left out
waxpby group copy+scal+axpy
waxpby fused copy, scal: inner-thread, 1 value in a register, 1 store left out
waxpby fused scal, axpy: inner-thread, 1 value in a register, 1 store left out
madd group copy+axpy
madd fused copy, axpy: inner-thread, 1 value in a register, 1 store left out
bicgk alone add_tiles: shared memory
bicgk alone gemv_tiles: a warp collective
bicgk alone gemvt_tiles: shared memory
gemver group copy_matrix+ger+ger+copy
gemver fused copy_matrix, ger: inner-thread
gemver fused ger, ger: inner-thread
gemver fused ger, copy: inner-thread
gemver alone add_tiles: shared memory
gemver alone gemv: a warp collective
gemver alone gemvt_tiles: shared memory
bicgk-rows alone add_tiles: shared memory
bicgk-rows alone gemv: a warp collective
bicgk-rows alone gemvt_tiles: shared memory
atax alone add_tiles: shared memory
atax alone gemv: a warp collective
atax alone gemvt_tiles: shared memory
sgemv alone gemv: a warp collective
sgemvt alone add_tiles: shared memory
sgemvt alone gemv: a warp collective
sgemvt alone gemvt_tiles: shared memory
gesummv alone gemv: a warp collective
END

expect 0 on_emulator "$blas" --list
cp "$work/out" "$work/list"
export KFUSE_HOLD_US=10000000
while read -r sequence _; do
    right "$sequence" --size 1
    right "$sequence" --size 256
    right "$sequence" --size 130 --columns 300
    set -- "$blas" --sequence "$sequence" --size 300 --columns 200 --steps 2
    original "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
    record_and_plan "$@"
    run_planned "$@"
    told "$sequence" >"$work/lines"
    cat "$work/lines"
    ! grep -q " group " "$work/lines" || [ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "$sequence: planned, not used"
done <"$work/list" >"$work/told"
# Enough for three launches of sums, of which the last is not full.
right axpydot --size 300000
sort "$work/told" | diff "$work/expected" - >&2 || fail "<: as this test has it; >: as kfuse explain tells"
