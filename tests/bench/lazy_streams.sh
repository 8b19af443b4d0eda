#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Temporaries that a fused kernel leaves stale in a stream that the program has made: whoever looks at them from another stream sees
# what he would have seen, and nobody waits for what waits for the host (interpose/home_stream.h).
limit=150
. "$top_srcdir/tests/tools/functions.sh"
lazy=$top_builddir/tests/bench/lazy
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing
schedules=seed=1,races=error
! is_long || schedules='seed=1,races=error seed=2,races=error seed=3'

# stale KIND LETTERS STALE PAID: of 8 steps, with the plan
stale() {
    original "$lazy" --stream "$1" --then "$2"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $2"
    run_planned "$lazy" --stream "$1" --then "$2"
    [ "$(stat_of stale) $(stat_of paid)" = "$3 $4" ] ||
        fail "stream $1, ${2:-nothing}: stale in $(stat_of stale) uses, not $3; made again $(stat_of paid) times, not $4"
}

# m: made again for its own stream, before another one looks, too; W: two streams in turns; X: what t1 is made of changes in another
for kind in 1 2 3; do
    record_and_plan "$lazy" --stream $kind --then sbs
    stale $kind sbs 8 1
    stale $kind '' 8 1
    stale $kind bse 8 1
    stale $kind W 4 0
    for KFUSE_EMULATOR in $schedules; do
        export KFUSE_EMULATOR
        for letters in t u S y Y V m X Xt k M mW YW; do stale $kind $letters 3 3; done
        stale $kind T 1 1
        stale $kind si 1 1
    done
    unset KFUSE_EMULATOR
    for letters in z Z A F l h bY; do
        original "$lazy" --stream $kind --then $letters
        run_planned "$lazy" --stream $kind --then $letters
        [ "$(stat_of stale)" -gt 0 ] || fail "stream $kind, $letters: nothing is left stale"
    done
done

# Others wait for the host meanwhile: a: what work waits for stands before a rematerialisation; D: it does by the default stream; N: a
# copy that comes before a step waits until it is done
for kind in 1 2 3; do
    record_and_plan "$lazy" --stream $kind --then sbs
    for letters in J a D N p ap; do
        original "$lazy" --stream $kind --then $letters
        run_planned "$lazy" --stream $kind --then $letters
    done
done

# spoiled at each use
export KFUSE_SPOIL_STALE=1
for kind in 1 2; do
    record_and_plan "$lazy" --stream $kind --then sbs
    for letters in sbs m Y V W k; do
        original "$lazy" --stream $kind --then $letters
        run_planned "$lazy" --stream $kind --then $letters
        [ "$(stat_of stale)" -gt 0 ] || fail "stream $kind, $letters: nothing is left stale"
    done
done
