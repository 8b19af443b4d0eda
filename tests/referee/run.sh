#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the referee runs: it goes on with its own state alone, finds the program that ends a worker, and wants fusions.
. "${top_srcdir:?}/tests/tools/functions.sh"
referee=$top_builddir/tests/referee/referee
state=$work/state
# drawn OPTION...: four programs
drawn() { "$referee" --seed 3 --count 4 --batch 2 --schedules 1 --state "$state" --failures "$work" --commit one --no-shrink "$@"; }
# lines PATTERN FILE: how many
lines() { grep -c "$1" "$2"; }

# A run that has ended is not begun again; one of more programs judges the others, and again a batch that was smaller.
expect 0 drawn --count 3
expect 0 drawn --count 3
[ "$(lines '^batch' "$state")" = 2 ] || fail 'judged again'
expect 0 drawn
[ "$(tail -n 1 "$work/out")" = '4 passed, 0 failed' ] || fail "counted: $(tail -n 1 "$work/out")"
[ "$(lines '^batch' "$state")" = 3 ] || fail "not the second batch alone: $(cat "$state")"

# Of another commit, seed or way to judge: begun anew, and what there was is kept.
for other in '--commit two' '--seed 4' '--batch 4' '--any-nan' '--schedules 2'; do
    cp "$state" "$work/before"
    # shellcheck disable=SC2086
    expect 0 drawn $other
    says 'is of another run'
    cmp "$work/before" "$state.old" || fail "not kept: $other"
    [ "$(tail -n 1 "$work/out")" = '4 passed, 0 failed' ] || fail "$other: $(tail -n 1 "$work/out")"
    [ "$(lines '^batch' "$state")" = "$(($(lines '^batch 0 4' "$state") ? 1 : 2))" ] || fail "not begun anew: $other"
    [ "$(lines '^passed, but that NaNs' "$work/out")" = "$([ "$other" = --any-nan ]; echo $((1 - $?)))" ] || fail "NaNs: $other"
done

# So does another build.
sed -i '1s/build [0-9a-f]*/build 0123456789abcdef/' "$state"
expect 0 drawn --schedules 2
says 'is of another run'

# A program that ends the worker is found, and the others are judged.
rm -f "$state"
expect 1 drawn --die-at 3
[ "$(tail -n 1 "$work/out")" = '3 passed, 1 failed' ] || fail "$(cat "$work/out" "$work/err")"
says 'fail 3 crash: ended a worker' "$state"
says 'program 3' "$work/seed3-3.program"
[ "$(lines '^program ' "$work/seed3-3.program")" = 1 ] || fail 'not the program alone'
[ ! -e "$work/seed3-2-and-on.program" ] || fail 'the batch was not needed'

# Fewer with a fusion than wanted: all passed, but the run fails.
rm -f "$state"
expect 1 drawn --least-fused 101
says 'have a fusion, less than 101%'
[ "$(tail -n 1 "$work/out")" = '4 passed, 0 failed' ] || fail "$(tail -n 1 "$work/out")"
