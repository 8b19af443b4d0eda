#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels whose arrays are managed memory, or such as a stream allocates, are fused; what the host sees of them without a call is as it
# is without kfuse.
. "$top_srcdir/tests/tools/functions.sh"
managed=$top_builddir/tests/bench/managed
plan_options=--keep-losing
export KFUSE_HOLD_US=10000000

# mode NAME MOST: launches that are issued at most with the plan
mode() {
    for stream in '' --stream; do
        # shellcheck disable=SC2086
        record_and_plan "$managed" --mode "$1" $stream
        for KFUSE_EMULATOR in seed=1 seed=2 ''; do
            export KFUSE_EMULATOR
            for run_options in --verify --through-sync ''; do
                # shellcheck disable=SC2086
                original "$managed" --mode "$1" $stream
                [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
                # shellcheck disable=SC2086
                run_planned "$managed" --mode "$1" $stream
            done
        done
        [ "$(stat_of issued)" -le "$2" ] || {
            "$kfuse" explain "$work/app.kfplan" >&2
            fail "$1 $stream: $(stat_of issued) launches, more than $2"
        }
    done
}

mode temporary 8
mode buffer 24
mode again 16
mode pair 8
mode pool 8

# Where launches wait for the device, the host may look behind each.
record_and_plan "$managed" --mode pair
export CUDA_LAUNCH_BLOCKING=1
original "$managed" --mode pair
run_planned "$managed" --mode pair
[ "$(stat_of issued)" = "$(stat_of launches)" ] || fail "held, although launches are to wait"
