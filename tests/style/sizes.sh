#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In fuser/ no function is longer than a screen; nowhere is a file longer than can be kept in mind.
set -u
cd "${top_srcdir:?}" || exit 99
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
# Functions as .clang-format lays them out: a head from the first column on, and braces of their own there.
long_functions() {
    awk -v most=60 '
        /^[a-zA-Z_].*\(/ && !/;$/ { head = $0; first = FNR }
        /^\{/ { begin = first }
        /^}/ { if (begin && FNR - begin + 1 > most) printf "%s: %d lines: %s\n", FILENAME, FNR - begin + 1, head; begin = 0 }' "$@"
}
planted=$(awk 'BEGIN { print "int f(void)\n{"; for (i = 0; i < 58; i++) print "    g();"; print "}" }' | long_functions -)
[ -n "$planted" ] || fail 'a planted long function is not seen'
[ -z "$(awk 'BEGIN { print "int f(void)\n{"; for (i = 0; i < 57; i++) print "    g();"; print "}" }' | long_functions -)" ] ||
    fail 'a function of 60 lines is refused'
found=$(long_functions fuser/*/*.c)
[ -z "$found" ] || fail "functions of more than 60 lines: $found"
found=$(find bench common emulator fuser interpose profiler ptx tests tools -name '*.[ch]' -exec awk 'FNR == 801 { print FILENAME }' {} +)
[ -z "$found" ] || fail "files of more than 800 lines: $found"
