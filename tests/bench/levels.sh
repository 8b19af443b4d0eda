#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Numbers that only shift addresses belong to the pointer: one group for all steps, those too that were not recorded; and nothing
# is replaced wrongly where such numbers make launches overlap in another way, or do more.
. "$top_srcdir/tests/tools/functions.sh"
levels=$top_builddir/tests/bench/levels
fuses "$levels" --steps 24
groups=$(grep -c '"uses"' "$work/app.kfplan/plan.json")
[ "$groups" -le 6 ] || fail "$groups groups for three time levels"
grep -q 'p(8)+4\*i(20)' "$work/app.kfplan/plan.json" || fail "the table of forcings is not shifted by the step"
for options in "--steps 60" "--steps 20 --from 7" "--steps 9 --from 40000" "--steps 24 --skew 1" "--steps 24 --skew 1000" "--steps 24 --bound 1"; do
    # shellcheck disable=SC2086
    original "$levels" $options
    # shellcheck disable=SC2086
    run_planned "$levels" $options
    case $options in
    "--steps 60" | *"--from "*) [ "$(stat_of issued)" -lt $(($(stat_of launches) / 2 + 10)) ] ||
        fail "$options: $(stat_of issued) launches issued of $(stat_of launches)" ;;
    esac
done
for bound in 1 2; do
    fuses "$levels" --steps 24 --bound $bound
    original "$levels" --steps 50 --bound $bound
    run_planned "$levels" --steps 50 --bound $bound
done

# A neighbour that lies some elements before: where that number leads from an array's beginning is no memory of the program.
plan_options=--keep-losing
fuses "$levels" --steps 24 --back 1
run_planned "$levels" --steps 24 --back 1
grep -q '4\*i(' "$work/app.kfplan/plan.json" || fail 'the neighbour is not found by a number'
[ "$(stat_of issued)" -lt $(($(stat_of launches) / 2 + 10)) ] || fail "back: $(stat_of issued) launches issued of $(stat_of launches)"
