#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels that stage in shared memory what they read fuse as plain stencils do, in whatever way they stage it. Those that change what
# they stage, or compute in shared memory, stay as they are.
. "$top_srcdir/tests/tools/functions.sh"
staged=$top_builddir/tests/bench/staged
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# recorded ARGUMENT...: the results are those of the program alone
recorded() {
    record_and_plan "$staged" "$@"
    "$kfuse" explain "$work/app.kfplan" >"$work/said"
    original "$staged" "$@"
    run_planned "$staged" "$@"
}
# seen KERNEL: it is a member that reads where its values lie
seen() {
    grep -q "^    $1 .*read where it lies" "$work/said" || {
        cat "$work/said" >&2
        fail "$1 is not seen without its tile"
    }
}
# stays KERNEL
stays() {
    ! grep -q "^    $1 .*read where it lies" "$work/said" || fail "$1 is seen without its tile"
}

for size in '100 77' '64 32' '33 19'; do
    for kernel in e:edges c:clamped b:box w:counted p:periodic z:cleared r:row; do
        # shellcheck disable=SC2086
        recorded --step "s${kernel%%:*}" --size $size
        seen "${kernel#*:}"
    done
done
recorded --step ser
seen edges
seen row
echo "bytes"
recorded --step 989
seen grey
grep -q '^    grey .*border of 1' "$work/said" || fail 'bytes are served from no tile'
recorded --step 88
grep -q '^    plain_grey .*border of 1' "$work/said" || fail 'plain bytes are served from no tile'
echo "what only the place in a tile depends on is guarded"
recorded --step sds --distance 3
seen beside
original "$staged" --step sds --distance 5
run_planned "$staged" --step sds --distance 5
echo "a tile that is not what memory holds, or that is changed"
recorded --step sIs
stays in_place
recorded --step sLs
stays late
recorded --step sFs
stays refilled
recorded --step sSs
stays sums
