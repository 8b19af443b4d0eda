#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shallow water on the emulator: recorded, planned and run with fewer launches and the same results.
. "$top_srcdir/tests/tools/functions.sh"
fuses "$bench/shallow-shared" --size 32 --steps 6
[ "$(stat_of launches)" = 18 ] || fail "$(stat_of launches) launches seen, not 18"
# An update's blocks compute the fluxes that they need, in every step. A launch more makes what they left unstored, at the end.
grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json" || fail "fluxes and update do not meet by halo"
[ "$(stat_of issued)" = 8 ] || fail "$(stat_of issued) launches issued, not 8"
# With a border, its copies are members too: of the 24 launches of a step one is left. Two more for the first and the last.
plan_options="--keep-losing --store-all"
fuses "$bench/shallow-shared" --size 32 --steps 6 --border
[ "$(stat_of launches)" = 144 ] || fail "$(stat_of launches) launches seen, not 144"
[ "$(stat_of issued)" = 8 ] || fail "$(stat_of issued) launches issued, not 8"
# Without what has a halo: the copies among themselves, and the update with what follows it.
plan_options="--keep-losing --store-all --only inner-thread"
fuses "$bench/shallow-shared" --size 32 --steps 6 --border
if grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json"; then fail "a halo fusion, which was not wanted"; fi
[ "$(stat_of issued)" = 24 ] || fail "$(stat_of issued) launches issued, not 24"
