#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stencil whose two arrays are swapped from launch to launch: pairs of launches become one, or several pairs (steps in time);
# where they do not, that is for a reason which is true.
. "$top_srcdir/tests/tools/functions.sh"
jacobi=$top_builddir/tests/bench/jacobi
fuses "$jacobi" --steps 20
[ "$(stat_of issued)" -le 13 ] || fail "$(stat_of issued) launches issued of $(stat_of launches)"
fuses "$jacobi" --steps 21
# Eight steps are one launch, and four; some are left.
fuses "$jacobi" --nx 512 --ny 512 --steps 40
[ "$(stat_of issued)" -le 6 ] || fail "$(stat_of issued) launches issued of $(stat_of launches)"
original "$jacobi" --nx 512 --ny 512 --steps 43
run_planned "$jacobi" --nx 512 --ny 512 --steps 43
plan_options="--only inner-thread"
record_and_plan "$jacobi" --steps 20
expect 0 "$kfuse" explain "$work/app.kfplan"
if grep 'relax, then relax.*other groups gain more' "$work/out"; then fail "other groups, of which there are none"; fi
says 'relax, then relax' "$work/out"
