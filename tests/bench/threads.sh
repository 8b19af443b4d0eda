#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads that launch at once, capture, fork, reset the device and end the program, as the program does alone; nothing
# waits for ever.
limit=60
. "$top_srcdir/tests/tools/functions.sh"
threads=$top_builddir/tests/bench/threads
record_and_plan "$threads" --mode short-streams
for mode in streams one-stream events captures short-streams signals fork exit reset; do
    original "$threads" --mode $mode
    for hold in 1 100 1000000; do
        KFUSE_HOLD_US=$hold run_planned "$threads" --mode $mode
    done
    same_as_original within "$kfuse" record --emulate -o "$work/$mode.kftrace" -- "$threads" --mode $mode
done
