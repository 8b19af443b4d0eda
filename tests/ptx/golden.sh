#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is printed for golden/NAME.ptx is golden/NAME.expected, and only in unread.ptx is something that the parser does not
# know. To accept a change: golden.sh --accept
failures=0
for input in "$top_srcdir"/tests/ptx/golden/*.ptx; do
    expected=${input%.ptx}.expected
    if [ "$1" = --accept ]; then
        "$top_builddir/tests/ptx/print_module" "$input" >"$expected" 2>/dev/null
    elif ! "$top_builddir/tests/ptx/print_module" "$input" 2>/dev/null | diff -u "$expected" -; then
        failures=1
    elif [ "${input##*/}" != unread.ptx ] && ! "$top_builddir/tests/ptx/print_module" -q "$input"; then
        failures=1
    fi
done
exit $failures
