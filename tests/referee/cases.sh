#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that failed once (cases/*.program), and a few that are drawn.
. "$top_srcdir/tests/tools/functions.sh"
referee=$top_builddir/tests/referee/referee
for file in "$top_srcdir"/tests/referee/cases/*.program; do
    [ -e "$file" ] || continue
    expect 0 timeout 20 "$referee" "$file" # the slowest takes 2 s
done
count=20
if is_long; then count=60; fi
expect 0 "$referee" --count "${REFEREE_COUNT:-$count}" --seed "${REFEREE_SEED:-1}" --batch 20 --failures "$work"
cat "$work/out"
