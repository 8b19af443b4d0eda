#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets and copies between kernels are members of groups, and the results are those of the program: also where a later run
# has others in their places.
. "$top_srcdir/tests/tools/functions.sh"
memops=$top_builddir/tests/bench/memops
plan_options=--keep-losing
kinds=
export KFUSE_HOLD_US=10000000

# compare MODE OPTION...: with the plan that was made for MODE
compare() {
    for KFUSE_EMULATOR in seed=1 seed=2 ''; do
        export KFUSE_EMULATOR
        for run_options in '' --verify --through-sync; do
            original "$memops" --mode "$@"
            [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
            run_planned "$memops" --mode "$@"
        done
    done
    run_options=
}

# mode NAME MOST: kernels, sets and copies of 12 steps, with at most MOST launches
mode() {
    for streams in '' --streams; do
        # shellcheck disable=SC2086
        record_and_plan "$memops" --mode "$1" $streams
        # shellcheck disable=SC2086
        compare "$1" $streams
        [ "$(stat_of issued)" -le "$2" ] || {
            "$kfuse" explain "$work/app.kfplan" >&2
            fail "$1 $streams: $(stat_of issued) launches, more than $2"
        }
        # shellcheck disable=SC2086
        compare "$1" $streams --twist
        # shellcheck disable=SC2086
        compare "$1" $streams --width 80
        # shellcheck disable=SC2086
        record_and_plan "$memops" --mode "$1" $streams --twist
        # shellcheck disable=SC2086
        compare "$1" $streams --twist
        # shellcheck disable=SC2086
        compare "$1" $streams
    done
}

mode clear 5
mode save 6
mode buffer 13
mode pack 16
mode count 26
mode drop 6
mode peek 16
mode bytes 4
