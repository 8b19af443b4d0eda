#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan made at one size meets the same program at another: the launches differ, and nothing is replaced wrongly.
. "$top_srcdir/tests/tools/functions.sh"
record_and_plan "$bench/vadd-shared" --size 3000 --steps 4
for size in 2999 3001 4096 100; do
    original "$bench/vadd-shared" --size $size --steps 4
    run_planned "$bench/vadd-shared" --size $size --steps 4
    says 'fitted no launch of this run'
done
original "$bench/vadd-shared" --size 3000 --steps 4
run_planned "$bench/vadd-shared" --size 3000 --steps 4
! grep -q 'fitted no launch' "$work/err" || fail "a plan that was used is said not to fit"
