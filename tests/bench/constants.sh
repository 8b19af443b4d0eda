#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels whose sizes and tables stand in __constant__ variables are fused as those that have them as arguments; what a later run
# writes into them otherwise than the recorded one, and how, is seen in its results.
. "$top_srcdir/tests/tools/functions.sh"
constants=$top_builddir/tests/bench/constants
plan_options=--keep-losing
export KFUSE_HOLD_US=10000000

# most CHANGE MOST LEAST: launches that are issued with the plan
most() {
    for run_options in '' --verify; do
        original "$constants" --change "$1" $stream
        [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $1"
        run_planned "$constants" --change "$1" $stream
        issued=$(stat_of issued)
        [ -n "$run_options" ] || { [ "$issued" -le "$2" ] && [ "$issued" -ge "$3" ]; } || {
            "$kfuse" explain "$work/app.kfplan" >&2
            fail "$1 $stream: $issued launches, not $3 to $2"
        }
    done
    run_options=
}

for stream in '' --stream; do
    record_and_plan "$constants" $stream
    # what indices are made of is numbers in the code, weights are not
    ! grep 'ld\.global\.nc\.[su]' "$work"/app.kfplan/group-*.cu || fail 'indices are loaded'
    grep -q 'ld\.global\.nc\.f32' "$work"/app.kfplan/group-*.cu || fail 'weights are not loaded'
    most nothing 12 12
    most same 12 12
    most twice 12 12
    most weight 12 12
    # from the change on as the program has them
    for change in less byte table async set device; do most "$change" 24 24; done
done
# that runs behind what waits for the host, in a stream that the host's copies do not wait for
most queued 27 27
most overtaking 24 24
most late 25 25
most wait 12 12
stream=
record_and_plan "$constants" --change kernel
most kernel 37 37
for change in less table; do
    record_and_plan "$constants" --change "$change"
    most "$change" 12 12
    most nothing 18 12
done
# one plan of all three: each run finds the variables as its image has them, whatever the run before has written
for change in nothing less table; do record_run "$constants" --change "$change"; done
plan_runs
for change in nothing less table; do most "$change" 12 12; done
