#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A temporary in a part of an allocation, which a fused kernel leaves stale, and the next use overwrites. Where a launch before that
# use reads it, it is made again first, as one in an allocation of its own is.
. "$top_srcdir/tests/tools/functions.sh"
pieces=$top_builddir/tests/bench/pieces
export KFUSE_HOLD_US=10000000
for kinds in '--without inter-block' '--without one-block,last-block,inter-block' ''; do
    for plan_options in '' --keep-losing; do
        for recorded in '--steps 12' '--steps 12 --apart 1'; do
            record_and_plan "$pieces" $recorded
            for run in "$recorded" '--steps 30' '--steps 12 --apart 1'; do
                original "$pieces" $run
                [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $run"
                run_planned "$pieces" $run
                [ "$(stat_of fused)" -gt 0 ] || fail "recorded with $recorded, run with $run: nothing is fused"
            done
        done
    done
done
