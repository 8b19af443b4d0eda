#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan for another program, device or driver, and one whose plan.json was edited, change nothing but the log.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000 --steps 4"

# another program
record_and_plan "$bench/chain-shared" --size 3000 --steps 4
# shellcheck disable=SC2086
original $program
# shellcheck disable=SC2086
run_planned $program
[ "$(stat_of issued)" = "$(stat_of launches)" ] || fail "launches were replaced by another program's plan"

# shellcheck disable=SC2086
record_and_plan $program
cp -r "$work/app.kfplan" "$work/good.kfplan"
for kind in device driver edited; do
    rm -rf "$work/app.kfplan"
    cp -r "$work/good.kfplan" "$work/app.kfplan"
    case $kind in
    edited) sed -i 's/"uses": [0-9]*/"uses": 12345678/' "$work/app.kfplan/plan.json" ;;
    *) "$top_builddir/tests/bench/patch_plan" "$work/app.kfplan/plan.bin" $kind || fail "patch_plan" ;;
    esac
    # shellcheck disable=SC2086
    run_planned $program
    says "$work/app.kfplan"
    says 'kfuse plan'
    [ "$(stat_of issued)" = "$(stat_of launches)" ] || fail "launches were replaced by a plan that is $kind"
done
