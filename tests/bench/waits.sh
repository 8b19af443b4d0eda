#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Waits that are passed through where the user asks for it: launches before and behind them are fused, and whatever the program
# looks at behind a wait is there.
. "$top_srcdir/tests/tools/functions.sh"
waits=$top_builddir/tests/bench/waits
plan_options=--keep-losing
export KFUSE_HOLD_US=10000000

# passes MODE LEAST MOST: waits passed in a run with the plan
passes() {
    original "$waits" --mode "$1"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $1"
    KFUSE_THROUGH_SYNC=1 record_and_plan "$waits" --mode "$1"
    for KFUSE_EMULATOR in seed=1 seed=2 seed=3 ''; do
        export KFUSE_EMULATOR
        for run_options in '' --through-sync "--through-sync --verify"; do
            original "$waits" --mode "$1"
            run_planned "$waits" --mode "$1"
            passed=$(stat_of waits_passed)
            [ -n "$run_options" ] || [ "$passed" = 0 ] || fail "$1: $passed waits passed that nobody asked for"
        done
        [ "$passed" -ge "$2" ] && [ "$passed" -le "$3" ] || fail "$1: $passed waits passed, not $2 to $3"
    done
}

passes plain 30 36
run_options=--through-sync
run_planned "$waits" --mode plain
[ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail 'nothing is fused across a wait'
unset run_options
run_planned "$waits" --mode plain
[ "$(stat_of issued)" = "$(stat_of launches)" ] || fail 'something is fused across a wait that is real'
for mode in copy device table variable event flag graph call; do passes $mode 1 24; done
passes query 30 36
for mode in stream; do passes $mode 1 30; done
for mode in thread mapped managed; do passes $mode 0 24; done
