#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The folders of fuser/ include and call downwards only, and no files of fuser/ call each other in a circle but those named
# here. "How fuser/ is layered" in ARCHITECTURE.md has the order, and why these may.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
# A circle a line: files that follow one data structure together.
circles='decompile/address decompile/expression decompile/operand'
level='function level(folder) { return folder in at ? at[folder] : -1 }
BEGIN { at["solver"] = at["kernel"] = 0; at["access"] = 1; at["fusion"] = 2; at["codegen"] = at["decompile"] = 3; at["planner"] = 4 }
function folder(file) { sub("/.*", "", file); return file }
function is_upwards(from, to) { return folder(from) != folder(to) && level(folder(from)) <= level(folder(to)) }'
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# Lines "FROM TO", files without their endings below fuser/.
includes() {
    (cd "$top_srcdir/fuser" && grep -o '^#include "fuser/[^"]*' ./*/*.[ch]) |
        sed 's,^\./\([^:]*\)\.[ch]:#include "fuser/\(.*\)\.[a-z]*$,\1 \2,'
}
calls() {
    objects=$(find "$top_builddir/fuser" -path '*/.libs/libfuser_la-*.o')
    [ -n "$objects" ] || objects=$(find "$top_builddir/fuser" -name 'libfuser_la-*.o')
    # shellcheck disable=SC2086
    "${NM:-nm}" -A -P $objects | awk '
        { file = $1; sub(/:$/, "", file); sub(/.*\/fuser\//, "", file); sub(/\.libs\//, "", file)
          sub(/libfuser_la-/, "", file); sub(/\.o$/, "", file) }
        $3 == "U" { uses[file " " $2] = $2; next }
        $3 ~ /^[TDRBC]$/ { owner[$2] = file }
        END { for (use in uses) { split(use, pair, " ")
              to = owner[uses[use]]; if (to != "" && to != pair[1]) print pair[1], to } }' | sort -u
}
# Standard input: "FROM TO". Those that go from a folder to one above or beside it.
upwards() {
    awk "$level"' is_upwards($1, $2) { print $1 " -> " $2 }' | sort -u
}
# The files of a circle, where there is one.
circle() {
    awk '$1 != $2' | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^ ]*\/[^ ]*\)$/\1/p' | sort -u
}
# Every named circle as one file.
without_named() {
    awk -v circles="$circles" '
        BEGIN { count = split(circles, lines, "\n")
                for (i = 1; i <= count; i++) { size = split(lines[i], files, " "); for (k = 1; k <= size; k++) name[files[k]] = "circle/" i } }
        { print ($1 in name ? name[$1] : $1), ($2 in name ? name[$2] : $2) }'
}

all=$(calls)
[ "$(printf '%s\n' "$all" | wc -l)" -gt 300 ] || fail 'the calls are not found'
[ "$(includes | wc -l)" -gt 300 ] || fail 'the includes are not found'
[ -n "$(printf 'access/x fusion/y\n' | upwards)" ] || fail 'a planted include upwards is not seen'
[ -n "$(printf 'kernel/x solver/y\n' | upwards)" ] || fail 'a planted include beside is not seen'
[ -n "$(printf '%s\nkernel/dominators kernel/loops\n' "$all" | without_named | circle)" ] || fail 'a planted circle is not seen'

found=$(includes | upwards)
[ -z "$found" ] || fail "these include upwards: $found"
found=$(printf '%s\n' "$all" | upwards)
[ -z "$found" ] || fail "these call upwards: $found"
found=$(printf '%s\n' "$all" | without_named | circle)
[ -z "$found" ] || fail "these call each other in a circle: $found"
printf '%s\n' "$circles" | while read -r files; do
    for file in $files; do
        printf '%s\n' "$all" | awk -v files=" $files " 'index(files, " " $1 " ") && index(files, " " $2 " ")' | circle |
            grep -qx "$file" || { printf 'FAILED: %s is in no circle any more: take it off the list\n' "$file" >&2; exit 1; }
    done
done || exit 1
