#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shallow water on the emulator: recorded, planned and run with fewer launches and the same results.
. "$top_srcdir/tests/tools/functions.sh"
fuses "$bench/shallow-shared" --size 32 --steps 6
[ "$(stat_of launches)" = 18 ] || fail "$(stat_of launches) launches seen, not 18"
# Whether it pays or not, an update's blocks could compute the fluxes that they need.
grep -q '"class": "halo"' "$work/app.kfplan/plan.json" || fail "fluxes and update do not meet by halo"
# With a border, its copies become one launch for the fluxes' arrays and one for those of the next step.
fuses "$bench/shallow-shared" --size 32 --steps 6 --border
[ "$(stat_of launches)" = 144 ] || fail "$(stat_of launches) launches seen, not 144"
# the first step has a kernel of its own; what else joins depends on the recorded gaps
[ "$(stat_of issued)" -le 25 ] || fail "$(stat_of issued) launches issued, more than 25"
