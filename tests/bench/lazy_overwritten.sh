#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A temporary that a fused kernel leaves stale, and others overwrite: another group that stores it, a launch alone. Where they write
# all of it and read none before, nobody makes it again; else it is made again before them.
. "$top_srcdir/tests/tools/functions.sh"
lazy=$top_builddir/tests/bench/lazy
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# uses FORM LETTERS STALE PAID: of 8 steps, with the plan
uses() {
    original "$lazy" --form "$1" --then "$2"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $1 $2"
    run_planned "$lazy" --form "$1" --then "$2"
    [ "$(stat_of stale) $(stat_of paid)" = "$3 $4" ] ||
        fail "$1, $2: stale in $(stat_of stale) uses, not $3; made again $(stat_of paid) times, not $4"
}

# by a launch alone, recorded so
for KFUSE_SPOIL_STALE in '' 1; do
    export KFUSE_SPOIL_STALE
    [ "$KFUSE_SPOIL_STALE" ] || unset KFUSE_SPOIL_STALE
    record_and_plan "$lazy" --form single --then s1st
    uses single s1st 8 0
    uses single s1s 8 0
    for letters in 2 3 4 5 6 7 r x 12 21 31 71 17 1r 1b; do # the credit of a group is soon used up
        original "$lazy" --form single --then s${letters}st
        run_planned "$lazy" --form single --then s${letters}st
        case $letters in
        1?) [ "$(stat_of stale) $(stat_of paid)" = '8 0' ] || fail "$letters: it is made again" ;;
        71) ;;
        *) [ "$(stat_of paid)" -gt 0 ] || fail "$letters: nothing was made again" ;;
        esac
    done
    # by one that reads it before
    record_and_plan "$lazy" --form read
    for letters in '' t 1 2; do
        original "$lazy" --form read --then "$letters"
        run_planned "$lazy" --form read --then "$letters"
    done
    # recorded with what overwrites a part, or reads
    for letters in 2 3 4 5 6; do
        record_and_plan "$lazy" --form single --then s${letters}st
        for others in 1 $letters; do
            original "$lazy" --form single --then s${others}st
            run_planned "$lazy" --form single --then s${others}st
        done
    done
done

# by another group, which stores it each time, as somebody reads it
plan_options='--margin 0'
large='--size 1000000 --form handed'
record_and_plan "$lazy" $large
original "$lazy" $large
run_planned "$lazy" $large
[ "$(stat_of stale) $(stat_of paid)" = '8 0' ] ||
    fail "handed: stale in $(stat_of stale) uses; made again $(stat_of paid) times"
