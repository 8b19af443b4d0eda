#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A group that loses on the device is switched off while the program runs, and stays off in later runs; one that gains keeps its
# uses; what was measured is reported, and the next plan does without what lost. By the emulator's clock.
. "$top_srcdir/tests/tools/functions.sh"
unset KFUSE_MEASURE
export KFUSE_HOLD_US=10000000 KFUSE_LOG_LEVEL=info
pairs=$top_builddir/tests/interpose/measured

uses_of() { awk -v group="$1" '$1 == "group" && $2 ~ group { print $4 }' "$work/stats"; }

plan_options=--keep-losing
record_and_plan "$pairs"
original "$pairs" --steps 10000 --losers 1000
run_planned "$pairs" --steps 10000 --losers 1000
[ "$(stat_of switched_off)" = 1 ] || fail "not one group was switched off: $(cat "$work/stats")"
[ "$(uses_of lift_fold)" -gt 9900 ] || fail "the group that gains had $(uses_of lift_fold) of 10000 uses"
[ "$(uses_of brood_meet)" -lt 700 ] || fail "the group that loses had $(uses_of brood_meet) of 1000 uses"
says 'brood_meet is off: a use takes'
expect 0 "$kfuse" report "$work/app.kfplan"
says 'measured in place, a use:' "$work/out"
grep -q 'gains .*lift_fold' "$work/out" && grep -q 'loses .*brood_meet' "$work/out" || fail "$(cat "$work/out")"

# in the next run it is off from the start, unless nobody asks
original "$pairs" --steps 200 --losers 100
run_planned "$pairs" --steps 200 --losers 100
[ "$(uses_of brood_meet)" = 0 ] || fail 'a known loser was used'
run_options=--no-measure run_planned "$pairs" --steps 200 --losers 100
[ "$(uses_of brood_meet)" = 100 ] || fail 'with --no-measure a loser was not used'

# where the file cannot be written there is another in the cache folder, and it is read
measured=$(ls "$work/app.kfplan"/measured-*)
rm -f "$measured"
mkdir "$measured"
original "$pairs" --steps 4000 --losers 1000
run_planned "$pairs" --steps 4000 --losers 1000
ls "$KFUSE_CACHE"/measured-* >/dev/null 2>&1 || fail 'nothing in the cache folder'
original "$pairs" --steps 100
run_planned "$pairs" --steps 100
[ "$(uses_of brood_meet)" = 0 ] || fail 'what stands in the cache folder is not read'
rmdir "$measured"
rm -r "$KFUSE_CACHE"

# garbage beside the plan
original "$pairs" --steps 10000 --losers 1000
run_planned "$pairs" --steps 10000 --losers 1000
cp "$measured" "$work/measured"
head -c 100 /dev/urandom >"$measured"
original "$pairs" --steps 100
run_planned "$pairs" --steps 100

# what was measured to lose is not taken again: here, the times of the group that gains are exchanged
swap() { awk '$1 == "group" { for (i = 9; i <= NF; i++) { split($i, t, ":"); $i = t[2] ":" t[1] } } { print }' "$work/measured"; }
swap >"$work/swapped"
plan_options='-m 0'
has_pair() { grep -q '"name": "g[0-9]*_lift_fold"' "$work/app.kfplan/plan.json"; }
record_and_plan "$pairs" --steps 3000
has_pair || fail "the pair that gains is not planned: $("$kfuse" explain "$work/app.kfplan")"
expect 0 "$kfuse" plan $kinds --measured "$work/swapped" -o "$work/app.kfplan" "$work/app.kftrace"
has_pair && fail 'a group that was measured to lose is planned'
expect 0 "$kfuse" explain "$work/app.kfplan"
grep -qE 'measured [0-9.]+% slower on kfuse emulator' "$work/out" || fail "$(cat "$work/out")"
cp "$work/swapped" "$measured"
expect 0 "$kfuse" plan $kinds -o "$work/once.kfplan" "$work/app.kftrace" # nothing measured there
rm -rf "$work/once.kfplan"
expect 0 "$kfuse" plan $kinds -o "$work/app.kfplan" "$work/app.kftrace"
has_pair && fail 'what was measured beside the plan is not read'
[ -e "$measured" ] || fail 'planning has removed what was measured'
cp -r "$work/app.kfplan" "$work/before"
expect 0 "$kfuse" plan $kinds -o "$work/app.kfplan" "$work/app.kftrace"
diff -r "$work/before" "$work/app.kfplan" >&2 || fail 'same trace, same measurements, another plan'
expect 0 "$kfuse" plan $kinds --no-measured -o "$work/app.kfplan" "$work/app.kftrace"
has_pair || fail '--no-measured does not help'
expect 1 "$kfuse" plan $kinds --measured "$work/nothing" -o "$work/app.kfplan" "$work/app.kftrace"
says 'no measurements of'

# what is measured of members in blocks of their own says nothing of them in one thread
halves="$top_builddir/bench/beside-shared --kind halves --blocks 2 --terms 4"
plan_options='-m 0 --max-members 2 --only inter-block'
# shellcheck disable=SC2086
{
    kinds='' record_and_plan $halves --steps 50
    original $halves --steps 4000
    run_planned $halves --steps 4000
}
measured=$(ls "$work/app.kfplan"/measured-*)
cp "$measured" "$work/measured"
swap >"$work/swapped"
expect 0 "$kfuse" plan -m 0 --max-members 2 --only inter-block --measured "$work/swapped" -o "$work/app.kfplan" "$work/app.kftrace"
grep -q '"fusion": "inter-block"' "$work/app.kfplan/plan.json" && fail 'what was measured to lose is planned'
expect 0 "$kfuse" plan -m 0 --max-members 2 --only inner-thread --measured "$work/swapped" -o "$work/app.kfplan" "$work/app.kftrace"
grep -q '"fusion": "inner-thread"' "$work/app.kfplan/plan.json" || fail 'another kind is not planned'
