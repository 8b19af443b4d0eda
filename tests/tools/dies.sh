#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# When the planner dies of a halo fusion there is a plan without, which the program runs with.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/shallow-shared --size 32 --steps 6" plan_options=--keep-losing
# shellcheck disable=SC2086
fuses $program
grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json" || fail 'no halo fusion to die of'
expect 0 "$top_builddir/tests/tools/kfuse_dies" plan $kinds $plan_options -o "$work/app.kfplan" "$work/app.kftrace"
says 'the planner died (Segmentation fault); planning again without halo fusions'
says 'launches become' "$work/out"
grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json" && fail 'a halo fusion after all'
# shellcheck disable=SC2086
run_planned $program
[ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail 'nothing was fused without'
