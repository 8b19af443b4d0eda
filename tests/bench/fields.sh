#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels whose threads choose the array are members, also where data choose it. What runs otherwise than was recorded, with other
# arrays for the choices or one for both, is as without a plan.
. "$top_srcdir/tests/tools/functions.sh"
fields=$top_builddir/tests/bench/fields
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# together KERNEL STEP THEN...: it is in a group; so are runs of which a step is another
together() {
    kernel=$1 step=$2
    shift 2
    record_and_plan "$fields" --step "$step"
    "$kfuse" explain "$work/app.kfplan" >"$work/told"
    awk -v kernel="$kernel" '/^group/ { is = 1 } /^(apart|fused)/ { is = 0 } is && $1 == kernel { found = 1 } END { exit !found }' "$work/told" ||
        fail "$kernel is in no group: $(cat "$work/told")"
    for then in "$step" "$@"; do
        original "$fields" --step "$step" --then "$then"
        run_planned "$fields" --step "$step" --then "$then"
    done
}

together edges ec xec ecx e
together weave ecw xecw ecm
together edges es xes se
together weave cw cxw cm
together push pc xpc
together weave cwe xcwe cwex
# A pointer that goes on in a loop is not followed: as ever, it may be anywhere.
record_and_plan "$fields" --step cr
for then in cr xcr; do
    original "$fields" --step cr --then "$then"
    run_planned "$fields" --step cr --then "$then"
done
