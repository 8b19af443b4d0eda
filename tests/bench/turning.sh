#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch has other numbers each step. Where they tell only which elements it reads, of an array that nobody writes, the plan knows
# none of them: it is fused in steps that were not recorded. Where they tell more, it is in no group with those that have the same
# numbers each time, as that would be used once. Where its numbers come again, it is.
. "$top_srcdir/tests/tools/functions.sh"
turning=$top_builddir/tests/bench/turning

# fused_at_least USES ARGUMENT...: of a run with these
fused_at_least() {
    least=$1
    shift
    original "$turning" "$@"
    run_planned "$turning" "$@"
    [ "$(stat_of fused)" -ge "$least" ] || fail "fused uses: $(stat_of fused), not $least and more: $*"
}

record_and_plan "$turning" --steps 12
"$kfuse" explain "$work/app.kfplan" >"$work/told"
! grep -q 'would be used once' "$work/told" || fail "a plan for numbers that were recorded: $(cat "$work/told")"
grep -q 'passed over: take (' "$work/told" || fail "nothing passes over what reads the ring: $(cat "$work/told")"
fused_at_least 11 --steps 12
fused_at_least 39 --steps 40
fused_at_least 39 --steps 40 --turns 7

record_and_plan "$turning" --steps 12 --gaps 1
"$kfuse" explain "$work/app.kfplan" >"$work/told"
grep -q 'would be used once' "$work/told" || fail "it is not said why: $(cat "$work/told")"
fused_at_least 11 --steps 12 --gaps 1
fused_at_least 39 --steps 40 --gaps 1
fused_at_least 39 --steps 40 --turns 7 --gaps 1

record_and_plan "$turning" --steps 24 --turns 3 --gaps 1
! "$kfuse" explain "$work/app.kfplan" | grep -q 'would be used once' || fail 'its numbers do come again'
fused_at_least 20 --steps 24 --turns 3 --gaps 1
