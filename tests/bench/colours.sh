#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sweeps in place over cells of one colour, then of the other: a group reads old contents of what no member has updated yet, and new
# ones of the rest; borders read both. Whatever stands between them, and was not recorded, sees what it would have seen.
. "$top_srcdir/tests/tools/functions.sh"
colours=$top_builddir/tests/bench/colours
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# sweeps LEAST: the plan has a group of so many sweeps
sweeps() {
    most=$("$kfuse" explain "$work/app.kfplan" | awk '/^group/ { n = 0 } /^    sweep/ { if (++n > most) most = n } END { print most + 0 }')
    [ "$most" -ge "$1" ] || fail "a group has $most sweeps, not $1"
}
# recorded LEAST ARGUMENT...
recorded() {
    least=$1
    shift
    record_and_plan "$colours" "$@"
    sweeps "$least"
    original "$colours" "$@"
    run_planned "$colours" "$@"
    [ "$(stat_of renamed)" -gt 0 ] || fail "nothing was renamed: $*"
}

for size in '200 90 1' '67 33 1' '40 20 9'; do
    # shellcheck disable=SC2086
    recorded 2 --size $size
done
for size in '200 90 1' '66 33 1' '40 20 9'; do
    # shellcheck disable=SC2086
    recorded 2 --halved --size $size
done
for letters in b c h s; do
    original "$colours" --halved --size 40 20 9 --then $letters
    run_planned "$colours" --halved --size 40 20 9 --then $letters
done
recorded 2 --between b
recorded 2 --between s
recorded 2 --between b --size 33 60 1
for letters in c h bs a ab sc; do
    original "$colours" --between b --then $letters
    run_planned "$colours" --between b --then $letters
done
# A temporary of what the sweep has left is left out, and made again where somebody looks.
recorded 1 --between p
[ "$(stat_of stale)" = 0 ] || fail 'a kernel that reads old contents would be launched again where the new ones are'
for letters in po poh; do
    original "$colours" --between p --then $letters
    run_planned "$colours" --between p --then $letters
done
# A cell that is read again after it was written.
record_and_plan "$colours" --between th
original "$colours" --between th
run_planned "$colours" --between th
