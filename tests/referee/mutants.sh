#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every fault of mutants.txt can still be planted, in every area, and under a name of its own.
. "$top_srcdir/tests/tools/functions.sh"
expect 0 "$top_srcdir/tests/referee/mutants" --check
names=$(grep -c '^[a-z]' "$top_srcdir/tests/referee/mutants.txt")
[ "$(awk '/^[a-z]/ { print $1 }' "$top_srcdir/tests/referee/mutants.txt" | sort -u | wc -l)" = "$names" ] || fail 'two faults of one name'
[ "$(grep -c '^+ ' "$top_srcdir/tests/referee/mutants.txt")" = "$names" ] || fail 'a fault without its change'
