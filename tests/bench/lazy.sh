#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Temporaries that a fused kernel leaves stale: whoever looks at them sees what he would have seen, whatever happens in
# between, recorded or not; and they are made again only where somebody looks.
. "$top_srcdir/tests/tools/functions.sh"
lazy=$top_builddir/tests/bench/lazy
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing
# The share of make check: schedules of the emulator, what is recorded, and what comes after what is spoiled.
schedules='seed=1,races=error' recorded='t U f k'
set -- '' sbs u w T
if is_long; then
    schedules='seed=1,races=error seed=2,races=error seed=3' recorded='t U Z f w g x i k bA'
    set -- '' sbs t u r w f H T k
fi

# stale LETTERS STALE PAID: of 8 steps, with the plan
stale() {
    original "$lazy" --then "$1"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $1"
    run_planned "$lazy" --then "$1"
    [ "$(stat_of stale) $(stat_of paid)" = "$2 $3" ] ||
        fail "${1:-nothing}: stale in $(stat_of stale) uses, not $2; made again $(stat_of paid) times, not $3"
}

# recorded with nothing in between but a launch that has nothing to do with the temporaries. In the end they are read.
record_and_plan "$lazy" --then sbs
stale sbs 8 1
stale '' 8 1
stale sbo 8 1   # what is read is stored
stale bse 8 1   # waits see nothing
stale bZ 3 3    # both overwritten, but not at once
stale t 3 3     # a group whose stores are materialised again and again stores everything
stale u 3 3
stale r 3 3
stale si 1 1    # once somebody may pass pointers on, nothing is stale any more
stale sI 1 1    # or other processes may see memory
stale k 3 3     # another stream that is made meanwhile is ordered behind what is made again
stale sT 1 1    # or another thread
for letters in A B U P z d c f F G w g x h l H At Bt gu fb fut cF Et Eb; do
    original "$lazy" --then $letters
    run_planned "$lazy" --then $letters
    [ "$(stat_of paid)" -gt 0 ] || fail "$letters: nothing was made again"
done

for KFUSE_EMULATOR in $schedules; do
    export KFUSE_EMULATOR
    for letters in S bS sS k sk T sT t; do
        original "$lazy" --then $letters
        run_planned "$lazy" --then $letters
    done
done
unset KFUSE_EMULATOR

# with a library that hands device memory to network cards
cc -shared -o "$work/libmpi.so.40" -x c /dev/null || fail 'no library can be made'
export LD_PRELOAD="$work/libmpi.so.40"
stale sbs 0 0
unset LD_PRELOAD

# recorded with it
for letters in $recorded; do
    record_and_plan "$lazy" --then $letters
    for others in '' $letters b t w; do
        original "$lazy" --then "$others"
        run_planned "$lazy" --then "$others"
    done
done

# other forms of a step: what one launch makes beside t1 is no temporary, nor is what is made of things that change in the group
for form in both update alternate; do
    record_and_plan "$lazy" --form $form --then s
    for letters in '' s t u v sv q Qt Qq H sH tA tB; do
        original "$lazy" --form $form --then "$letters"
        run_planned "$lazy" --form $form --then "$letters"
        case $form$letters in
        update | alternates) [ "$(stat_of stale)" -gt 0 ] || fail "$form: nothing is left stale" ;;
        esac
    done
done

# a launch that is passed over reads what the members make, or changes what they read; another group overwrites a part
for form in peek spoil before ends; do
    between=s
    [ $form != before ] || between=
    record_and_plan "$lazy" --form $form --then "$between"
    [ $form = ends ] || grep -q '"role"' "$work/app.kfplan/plan.json" || fail "$form: nothing is passed over"
    for letters in '' t u; do
        original "$lazy" --form $form --then "$letters"
        run_planned "$lazy" --form $form --then "$letters"
        [ "$(stat_of stale)" -gt 0 ] || fail "$form: nothing is left stale"
    done
done

# verified; the members' results stay where they differ, and what is stale once it has been compared is spoiled
run_options='--verify=2'
record_and_plan "$lazy" --then sbs
stale sbs 8 1

# spoiled at each use: bytes that the rematerialisation does not write stay what they are
export KFUSE_SPOIL_STALE=1
run_options=
for form in plain both update ends peek before; do
    record_and_plan "$lazy" --form $form --then s
    for letters in "$@"; do
        original "$lazy" --form $form --then "$letters"
        run_planned "$lazy" --form $form --then "$letters"
        [ "$(stat_of stale)" -gt 0 ] || fail "$form: nothing is left stale"
    done
done
unset KFUSE_SPOIL_STALE

# verified while the other group's store is pending; in the end the second one stores everything, and has none itself
run_options='--verify=1'
record_and_plan "$lazy" --form arena --then s
for letters in tA v; do
    original "$lazy" --form arena --then $letters
    run_planned "$lazy" --form arena --then $letters
    grep '^verified ' "$work/stats" | grep -v ' mismatches 0 ' && fail 'a group that is verified while a store is pending seems wrong'
    grep -q '^verified .* uses 2 mismatches 0 ' "$work/stats" || fail "$letters: no group was verified in both its forms"
done

# only what is worth it: t1 is read, t2 is not
run_options=
plan_options='--margin 0'
record_and_plan "$lazy" --size 1000000 --steps 16 --then t
grep -q '"stale": \[\]' "$work/app.kfplan/plan.json" && fail 't2 is not left stale'
original "$lazy" --size 1000000 --steps 16 --then t
run_planned "$lazy" --size 1000000 --steps 16 --then t
[ "$(stat_of stale) $(stat_of paid)" = '16 1' ] ||
    fail "stale in $(stat_of stale) uses, made again $(stat_of paid) times"
plan_options=--store-all
record_and_plan "$lazy" --size 1000000 --steps 16 --then b
run_planned "$lazy" --size 1000000 --steps 16 --then t
[ "$(stat_of stale)" = 0 ] || fail 'stale in spite of --store-all'
