#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels that no analysis sees through (pointer tables, pointers in variables, calls through pointers, modules without PTX)
# find temporaries as they would be without kfuse, wherever they stand, also where a later run points them elsewhere.
. "$top_srcdir/tests/tools/functions.sh"
unseen=$top_builddir/tests/bench/unseen
patch_trace=$top_builddir/tests/planner/patch_trace
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing
fused=0 stale=0
letters='T M' least_fused=80 least_stale=40
if is_long; then letters='T V W C M' least_fused=200 least_stale=100; fi

# planned ORDER: the module is one without PTX for the planner, as a library's is
planned() {
    record_and_plan "$unseen" --order "$1"
    case $1 in
    *M*)
        expect 0 "$patch_trace" "$work/app.kftrace" without-ptx
        expect 0 "$kfuse" plan $kinds $plan_options -o "$work/app.kfplan" "$work/app.kftrace"
        ;;
    esac
}

for letter in $letters; do
    for order in eS${letter}12 e1${letter}2S eS1${letter}2 eS12${letter} S${letter}12s e${letter}12S; do
        planned $order
        for options in '' '--turned 3' '--steps 1'; do
            # shellcheck disable=SC2086
            original "$unseen" --order $order $options
            [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $order"
            # shellcheck disable=SC2086
            run_planned "$unseen" --order $order $options
            KFUSE_SPOIL_STALE=1 run_planned "$unseen" --order $order $options
            fused=$((fused + $(stat_of fused)))
            stale=$((stale + $(stat_of stale)))
        done
    done
    planned e${letter}S12
    original "$unseen" --order eS12
    run_planned "$unseen" --order eS12
    original "$unseen" --order e${letter}12S
    run_planned "$unseen" --order e${letter}12S
done
[ "$fused" -gt $least_fused ] || fail "only $fused uses of groups"
[ "$stale" -gt $least_stale ] || fail "in only $stale uses something is left stale"
