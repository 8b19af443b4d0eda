#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels whose few threads iterate over all elements fuse as those do that have a thread for each: with each other, and with such.
# Kernels to which the grid is more than that stay as they are.
. "$top_srcdir/tests/tools/functions.sh"
strides=$top_builddir/tests/bench/strides
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# members LEAST MOST: the longest group has so many launches
members() {
    most=$("$kfuse" explain "$work/app.kfplan" | sed -nE 's/^group .*: ([0-9]+) launches become one/\1/p' | sort -n | tail -n 1)
    [ "${most:-1}" -ge "$1" ] && [ "${most:-1}" -le "$2" ] || fail "the longest group has ${most:-1} launches, not $1 to $2"
}
# recorded LEAST MOST ARGUMENT...
recorded() {
    least=$1 most=$2
    shift 2
    record_and_plan "$strides" "$@"
    members "$least" "$most"
    original "$strides" "$@"
    run_planned "$strides" "$@"
}

recorded 2 32
"$kfuse" explain "$work/app.kfplan" | grep -q 'grid-stride' || fail 'iterations are not parted'
for size in '120 100 5' '128 64 7' '33 40 3' '64 30 1'; do
    # shellcheck disable=SC2086
    recorded 2 32 --size $size
    # shellcheck disable=SC2086
    recorded 2 32 --step sgu --size $size
    # shellcheck disable=SC2086
    recorded 2 32 --step fgu --size $size
    # shellcheck disable=SC2086
    recorded 3 32 --step DGU --size $size
done
# All elements have a thread each as it is.
recorded 2 32 --size 120 100 94
"$kfuse" explain "$work/app.kfplan" | grep -q 'grid-stride' && fail 'threads with one iteration each have other ones'
# A thread reads what it has left in its iteration before: it has all its iterations, one after the other.
recorded 2 32 --step r
! "$kfuse" explain "$work/app.kfplan" | grep -q 'grid-stride' || fail 'iterations that meet are parted'
recorded 1 32 --step rdgu
recorded 1 32 --step RDGU
! "$kfuse" explain "$work/app.kfplan" | grep -q 'R.*grid-stride' || fail 'iterations that meet are parted'
# Sums of what threads see keep the grid, and the kernels before them with it: their loops are joined.
recorded 2 32 --step ua
"$kfuse" explain "$work/app.kfplan" | grep -q 'loops joined' || fail 'no loops are joined'
recorded 1 32 --step ndg
# Another grid, another size: the plan is of no use.
record_and_plan "$strides"
original "$strides" --size 120 100 6
run_planned "$strides" --size 120 100 6
original "$strides" --size 120 99 5
run_planned "$strides" --size 120 99 5
