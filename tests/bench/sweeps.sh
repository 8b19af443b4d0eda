#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sweeps along axes leave the same array of fluxes stale, of which each writes an edge that the others do not: the edges are
# stored, the rest is not, and whoever looks sees what he would have seen.
. "$top_srcdir/tests/tools/functions.sh"
sweeps=$top_builddir/tests/bench/sweeps
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# leaves STALE PAID LETTERS ARGUMENT...
leaves() {
    stale=$1 paid=$2 letters=$3
    shift 3
    original "$sweeps" --then "$letters" "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $letters"
    run_planned "$sweeps" --then "$letters" "$@"
    [ "$(stat_of stale) $(stat_of paid)" = "$stale $paid" ] ||
        fail "${letters:-nothing}: stale in $(stat_of stale) uses, not $stale; made again $(stat_of paid) times, not $paid"
}

# stores PATTERN: a fused kernel stores this edge alone
stores() {
    cat "$work"/app.kfplan/group-*_lazy.cu | grep -q "kept_0 = own && ($1)" || fail "no fused kernel stores where $1"
}

record_and_plan "$sweeps"
stores 'ty == 38 && tx >= 2 && tx <= 71'
stores 'ty >= 2 && ty <= 37 && tx == 72'
for KFUSE_SPOIL_STALE in 0 1; do
    export KFUSE_SPOIL_STALE
    leaves 16 1 ''
    for letters in e i g w W u c z Z we eW cz; do leaves 16 2 $letters; done
    leaves 16 1 '' --first 1 # the other sweep first
    leaves 17 2 s            # in other arrays: nothing of the first is overwritten
    leaves 17 3 si
    leaves 0 0 '' --size 71 36 1
done
run_options=--verify=3 leaves 16 1 ''

# a range that begins a row before the other
record_and_plan "$sweeps" --low 1
leaves 16 1 '' --low 1
leaves 16 2 e --low 1
leaves 16 1 '' --low 1 --first 1

# one of two ranges is overwritten, the other is not
record_and_plan "$sweeps" --then h
for KFUSE_SPOIL_STALE in 0 1; do
    export KFUSE_SPOIL_STALE
    for letters in '' h hi hW hc; do
        original "$sweeps" --then "$letters"
        run_planned "$sweeps" --then "$letters"
    done
done
[ "$(stat_of stale)" -gt 10 ] || fail "half a sweep: stale in $(stat_of stale) uses alone"

record_and_plan "$sweeps" --size 40 20 12
stores 'tz == 14 && ty >= 2 && ty <= 21 && tx >= 2 && tx <= 41'
stores 'tz >= 2 && tz <= 13 && ty == 22 && tx >= 2 && tx <= 41'
stores 'tz >= 2 && tz <= 13 && ty >= 2 && ty <= 21 && tx == 42'
for KFUSE_SPOIL_STALE in 0 1; do
    leaves 24 1 '' --size 40 20 12
    for letters in e i w W; do leaves 24 2 $letters --size 40 20 12; done
done

# recorded with somebody who looks
for letters in e W; do
    record_and_plan "$sweeps" --then $letters
    for others in '' e i w u; do
        original "$sweeps" --then "$others"
        run_planned "$sweeps" --then "$others"
    done
done
