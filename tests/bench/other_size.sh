#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan made at one size meets the same program at another: the launches differ, and nothing is replaced wrongly. A plan made of
# runs at several sizes serves each of them as a plan of its own does.
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

# served SIZE...: launches issued at each, in its own plan and in that of all
served() {
    for size; do
        original "$bench/vadd-shared" --size "$size" --steps 4
        run_planned "$bench/vadd-shared" --size "$size" --steps 4
        stat_of issued
    done
}
plan_options=--keep-losing
export KFUSE_HOLD_US=10000000
for size in 3000 4096 100; do
    record_and_plan "$bench/vadd-shared" --size $size --steps 4
    served $size >>"$work/alone"
    record_run "$bench/vadd-shared" --size $size --steps 4
done
plan_runs
grep -q 'of 3 runs become' "$work/out" || fail "the plan is not of three runs: $(cat "$work/out")"
served 3000 4096 100 >"$work/together"
cmp "$work/alone" "$work/together" >&2 || fail "a size is served otherwise than by a plan of its own"
served 2999 >"$work/other"
says 'fitted no launch of this run'

rm -r "$work/runs"
mkdir "$work/runs"
expect 1 "$kfuse" plan "$work/runs"
says 'no .kftrace file in it'
expect 1 "$kfuse" plan "$work/app.kftrace" "$work/none.kftrace"
says 'none.kftrace'
