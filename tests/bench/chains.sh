#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches that go to the driver as graphs (interpose/chain.h): under random schedules results are those of the program.
. "$top_srcdir/tests/tools/functions.sh"
export KFUSE_CHAINS=always

# chained LEAST PROGRAM ARGUMENT...: at least so many launches are in graphs
chained() {
    least=$1
    shift
    for KFUSE_EMULATOR in seed=1 seed=2 ''; do
        export KFUSE_EMULATOR
        original "$@"
        run_planned "$@"
        [ "$(stat_of chained)" -ge "$least" ] || fail "$(stat_of chained) launches in graphs, not $least: $*"
    done
}

record_and_plan "$bench/chain-shared" --size 3000 --steps 6
chained 1 "$bench/chain-shared" --size 3000 --steps 6
chained 30 "$bench/chain-shared" --size 1000 --steps 40
# without a group: nothing but the program's own launches
kinds='--only one-block'
record_and_plan "$bench/chain-shared" --size 3000 --steps 6
chained 30 "$bench/chain-shared" --size 3000 --steps 6

for mode in streams events captures signals fork exit reset; do
    original "$top_builddir/tests/bench/threads" --mode $mode
    for hold in 1 100 1000000; do KFUSE_HOLD_US=$hold run_planned "$top_builddir/tests/bench/threads" --mode $mode; done
done
corner poll
