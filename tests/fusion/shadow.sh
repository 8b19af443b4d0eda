#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The legality test beside the rules of the kinds of fusion, over the groups of other tests: what the kinds accept, it accepts, as far
# as the kinds' schedules are told (group_schedule.h), and what they refuse, it does. Groups that are spoiled are refused.
set -u
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
for test in test_fused test_joined test_random test_coarsening test_stale; do
    KFUSE_TEST_SCENES=8 KFUSE_TEST_SHADOW=$work/groups "${top_builddir:?}/tests/codegen/$test" >"$work/log" 2>&1
    status=$?
    [ $status != 77 ] || exit 77
    [ $status = 0 ] || fail "$test: $(tail -n 3 "$work/log")"
done
cut -d '|' -f 1,2 "$work/groups" | sort | uniq -c
difference=$(grep -e '^kinds accept, test refuses' -e '^kinds accept, test gives up' -e '^kinds refuse, test accepts' "$work/groups")
[ -z "$difference" ] || fail "$difference"
for kind in inner-thread inner-block 'joined loops'; do
    grep -q "^kinds accept, test accepts | $kind " "$work/groups" || fail "no group is $kind"
done
for fault in 'no barriers' 'a source of the turn before' 'a last store left out' 'no shifts'; do
    grep -q "^spoiled $fault, test refuses" "$work/groups" || fail "never refused: $fault"
done
