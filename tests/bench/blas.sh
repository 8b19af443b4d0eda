#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sequences of linear algebra on the emulator: right against the host; by hand the same bits as from the routines, and
# under a plan too. What is fused, what cannot be and what stays apart is in the table below, which follows kfuse;
# bench/told.awk tells its words.
. "$top_srcdir/tests/tools/functions.sh"
blas=$bench/blas-shared
plan_options="--keep-losing --store-all"

# right SEQUENCE OPTION...: within the bound of the host's results, and by hand with the same bits: in gesummv the second
# product is added to the rounded first, by hand only one of both is rounded
right() {
    expect 0 on_emulator "$blas" --sequence "$@" --check --dump "$work/plain"
    grep -q "^$1 .* limit" "$work/list" || return 0
    expect 0 on_emulator "$blas" --sequence "$@" --check --dump "$work/limit" --variant limit
    [ "$1" = gesummv ] || cmp "$work/plain" "$work/limit" || fail "by hand: other results: $*"
}

sort >"$work/expected" <<END
axpydot fused copy, axpy: inner-thread, 4 values in registers, 4 stores left out
axpydot apart dot, sum: dot writes array 5 in block (1,0,0) thread (0,0,0), sum reads it in block (0,0,0) thread (1,0,0), both byte 4 (element 1 of 4 bytes)
axpydot fused axpy, dot: inner-thread, 4 values in registers
axpydot group copy+axpy+dot
vadd group copy+axpy+axpy
vadd fused copy, axpy: inner-thread, 4 values in registers, 4 stores left out
vadd fused axpy, axpy: inner-thread, 4 values in registers, 4 stores left out
waxpby group copy+scal+axpy
waxpby fused copy, scal: inner-thread, 4 values in registers, 4 stores left out
waxpby fused scal, axpy: inner-thread, 4 values in registers, 4 stores left out
madd group copy+axpy
madd fused copy, axpy: inner-thread, 4 values in registers, 4 stores left out
bicgk apart gemvt_tiles, add_tiles: gemvt_tiles writes array 6 in block (0,0,0) thread (0,1,0), add_tiles reads it in block (1,0,0) thread (0,0,0), both byte 128 (element 32 of 4 bytes)
bicgk group gemv_tiles+gemvt_tiles
bicgk gemvt_tiles: loops joined with those of members before: 8 values pass in registers
gemver fused copy_matrix, ger: joined loops, 8 values in registers, 8 stores left out
gemver fused ger, ger: joined loops, 8 values in registers, 8 stores left out
gemver fused ger, copy: joined loops
gemver apart add_tiles, gemv: add_tiles writes array 8 in block (1,0,0) thread (0,0,0), gemv reads it in block (2,0,0) thread (0,3,0), both byte 128 (element 32 of 4 bytes)
gemver apart gemvt_tiles, add_tiles: gemvt_tiles writes array 10 in block (0,0,0) thread (0,1,0), add_tiles reads it in block (1,0,0) thread (0,0,0), both byte 128 (element 32 of 4 bytes)
gemver fused copy, gemvt_tiles: joined loops
gemver ger: loops joined with those of members before: 8 values pass in registers
gemver gemvt_tiles: loops joined with those of members before: 8 values pass in registers
gemver group copy_matrix+ger+ger+copy+gemvt_tiles
bicgk-rows apart gemv, gemvt_tiles: blocks stay whole, of other shapes: a warp collective
bicgk-rows apart gemvt_tiles, add_tiles: gemvt_tiles writes array 6 in block (0,0,0) thread (0,1,0), add_tiles reads it in block (1,0,0) thread (0,0,0), both byte 128 (element 32 of 4 bytes)
atax apart gemv, gemvt_tiles: gemv writes array 2 in block (30,0,0) thread (0,0,0), gemvt_tiles reads it in block (0,1,0) thread (0,0,0), both byte 960 (element 240 of 4 bytes)
atax apart gemvt_tiles, add_tiles: gemvt_tiles writes array 4 in block (0,0,0) thread (0,1,0), add_tiles reads it in block (1,0,0) thread (0,0,0), both byte 128 (element 32 of 4 bytes)
sgemvt apart add_tiles, gemv: add_tiles writes array 3 in block (1,0,0) thread (0,0,0), gemv reads it in block (2,0,0) thread (0,3,0), both byte 128 (element 32 of 4 bytes)
sgemvt apart gemvt_tiles, add_tiles: gemvt_tiles writes array 5 in block (0,0,0) thread (0,1,0), add_tiles reads it in block (1,0,0) thread (0,0,0), both byte 128 (element 32 of 4 bytes)
sgemvt fused copy, gemvt_tiles: inner-thread
sgemvt group copy+gemvt_tiles
gesummv fused gemv, gemv: joined loops, 5 values in registers
gesummv group gemv+gemv
gesummv gemv: loops joined with those of members before: 5 values pass in registers
END

expect 0 on_emulator "$blas" --list
cp "$work/out" "$work/list"
export KFUSE_HOLD_US=10000000
while read -r sequence _; do
    right "$sequence" --size 1
    right "$sequence" --size 256
    right "$sequence" --size 130 --columns 300
    case $sequence in axpydot | vadd | waxpby | sscal) size=1900 ;; *) size=300 ;; esac # some blocks
    set -- "$blas" --sequence "$sequence" --size $size --columns 200 --steps 2
    original "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
    record_and_plan "$@"
    run_planned "$@"
    told "$sequence" >"$work/lines"
    "$kfuse" explain "$work/app.kfplan" | awk -v sequence="$sequence" '
        /^    [A-Za-z_0-9]+  grid / { name = $1; sub(/_kernel/, "", name) }
        /^ *loops / { sub(/^ */, ""); print sequence, name ": " $0 }' | sort -u >>"$work/lines"
    cat "$work/lines"
    ! grep -q " group " "$work/lines" || [ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "$sequence: planned, not used"
done <"$work/list" >"$work/told"
# Enough for three launches of sums, of which the last is not full.
right axpydot --size 1100000
sort "$work/told" | diff "$work/expected" - >&2 || fail "<: as this test has it; >: as kfuse explain tells"
