#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that were built for a default stream of each thread's own: one thread's launches are fused, also where the timer, or a
# host that polls, has what is held; many threads' are as without kfuse.
. "$top_srcdir/tests/tools/functions.sh"
memops=$top_builddir/tests/bench/memops-own corners=$top_builddir/tests/bench/corners-own threads=$top_builddir/tests/bench/threads-own
managed=$top_builddir/tests/bench/managed-own
plan_options=--keep-losing

# only where it is asked for
record_and_plan "$memops" --mode clear
says 'record and run with --own-stream' "$work/app.kfplan/plan.json"
export KFUSE_OWN_STREAM=1

fuses "$memops" --mode clear
[ "$(stat_of issued)" -le 17 ] || fail "$(stat_of issued) launches are left of 48"
for mode in save buffer pack peek; do
    fuses "$memops" --mode $mode
    for KFUSE_EMULATOR in seed=1 seed=2 seed=3; do
        export KFUSE_EMULATOR
        for hold in 1 20 10000000; do
            original "$memops" --mode $mode
            run_options=--through-sync run_planned "$memops" --mode $mode
            original "$memops" --mode $mode --twist
            KFUSE_HOLD_US=$hold run_planned "$memops" --mode $mode --twist
        done
    done
    unset KFUSE_EMULATOR
done

kept=$kinds kinds='--only one-block'
record_and_plan "$memops" --mode clear
kinds=$kept
for KFUSE_EMULATOR in seed=1 seed=2; do
    export KFUSE_EMULATOR
    original "$memops" --mode clear
    KFUSE_CHAINS=always run_planned "$memops" --mode clear
    [ "$(stat_of chained)" -ge 8 ] || fail "$(stat_of chained) launches in graphs"
done
unset KFUSE_EMULATOR

for KFUSE_CHAINS in 0 always; do
    export KFUSE_CHAINS
    original "$corners" --mode poll
    record_and_plan "$corners" --mode poll
    run_planned "$corners" --mode poll
done
unset KFUSE_CHAINS

# what the host sees behind a wait for its own stream
for mode in temporary pair pool; do
    record_and_plan "$managed" --mode $mode
    for KFUSE_EMULATOR in seed=1 seed=2 seed=3; do
        export KFUSE_EMULATOR
        for hold in 1 30 10000000; do
            original "$managed" --mode $mode
            KFUSE_HOLD_US=$hold run_planned "$managed" --mode $mode
        done
    done
    unset KFUSE_EMULATOR
done

plan_options=
record_and_plan "$threads" --mode short-streams
for mode in streams one-stream events short-streams; do
    original "$threads" --mode $mode
    for hold in 1 100 1000000; do
        KFUSE_HOLD_US=$hold run_planned "$threads" --mode $mode
    done
done
