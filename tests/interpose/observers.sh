#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interpose/observers.def against the sources: every observer has a row for each state, and what a row names is there: the
# guard in its file, the scene, the planted fault.
. "$top_srcdir/tests/tools/functions.sh"
table=$top_srcdir/interpose/observers.def
sed -n 's/^OBSERVER("\([^"]*\)", *\([A-Z]*\), *"[^"]*", *"\([^"]*\)", *\([A-Za-z_]*\), *"\([^"]*\)", *"*\([A-Za-z-]*\)"*)$/\1|\2|\3|\4|\5|\6/p' "$table" >"$work/rows"
[ "$(grep -c '^OBSERVER(' "$table")" = "$(wc -l <"$work/rows")" ] || fail 'a row is malformed'
[ "$(wc -l <"$work/rows")" -gt 0 ] || fail 'no rows'

cut -d'|' -f1 "$work/rows" | sort | uniq -c | awk '$1 != 5 { $1 = ""; print; bad = 1 } END { exit bad }' ||
    fail 'these have not a row for each state'
[ -z "$(cut -d'|' -f1,2 "$work/rows" | sort | uniq -d)" ] || fail 'two rows of one cell'

while IFS='|' read -r who state file guard scene fault; do
    row="$who, $state"
    case $state in HELD | MOVED | AWAY | STALE | PASSED) ;; *) fail "$row: no such state" ;; esac
    grep -qw "$guard" "$top_srcdir/$file" || fail "$row: no $guard in $file"
    case $scene in
    SCRIPT_*) grep -qw "$scene" "$top_srcdir/tests/referee/script.h" || fail "$row: programs have no $scene" ;;
    *) [ -f "$top_srcdir/$scene" ] || fail "$row: there is no $scene" ;;
    esac
    [ "$fault" = NULL ] || grep -q "^$fault " "$top_srcdir/tests/referee/mutants.txt" || fail "$row: no fault $fault is planted"
done <"$work/rows"
