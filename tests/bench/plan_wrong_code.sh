#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Code of a plan that cannot be loaded or launched: the originals run, and the log says so once a group.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000 --steps 4"
# shellcheck disable=SC2086
original $program
# shellcheck disable=SC2086
record_and_plan $program
cp -r "$work/app.kfplan" "$work/good.kfplan"
for kind in entry grid code; do
    rm -rf "$work/app.kfplan"
    cp -r "$work/good.kfplan" "$work/app.kfplan"
    "$top_builddir/tests/bench/patch_plan" "$work/app.kfplan/plan.bin" $kind || fail "patch_plan $kind"
    # shellcheck disable=SC2086
    run_planned $program
    says 'is off'
    [ "$(stat_of fused)" = 0 ] || fail "launches were replaced by code that is wrong: $kind"
done
