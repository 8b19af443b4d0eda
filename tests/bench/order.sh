#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches with an order that their data do not show keep their places: fences, accesses that are ordered or meant for the
# whole system, clocks. Relaxed atomics of the device are ordinary writes.
. "$top_srcdir/tests/tools/functions.sh"
order=$top_builddir/tests/bench/order
plan_options=--keep-losing
export KFUSE_HOLD_US=10000000
for mode in fence volatile release system timer cycles relaxed exchange; do
    record_and_plan "$order" --mode $mode
    for KFUSE_EMULATOR in seed=1 seed=2 seed=3 seed=4 seed=5 ''; do
        export KFUSE_EMULATOR
        original "$order" --mode $mode
        [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $mode"
        run_planned "$order" --mode $mode
    done
    case $mode in
    relaxed | exchange)
        [ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail 'nothing is fused across a relaxed atomic'
        continue
        ;;
    timer | cycles) why='reads a clock' ;;
    *) why='others may rely on what has been done before it' ;;
    esac
    [ "$(stat_of issued)" = "$(stat_of launches)" ] || fail "$mode: a launch has left its place"
    "$kfuse" explain "$work/app.kfplan" >"$work/said"
    says "$why" "$work/said"
done
