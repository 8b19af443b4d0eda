#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Golden test: the accesses of every PTX file here are those in the .expected file beside it.
: "${top_srcdir:=.}" "${top_builddir:=.}"
failed=0
count=0
for input in "$top_srcdir"/tests/analysis/*.ptx; do
    "$top_builddir"/tests/analysis/print_accesses -c "${input%.ptx}.expected" "$input" || failed=1
    count=$((count + 1))
done
[ $count -gt 0 ] || { echo "no inputs under $top_srcdir/tests/analysis"; exit 1; }
echo "$count files"
exit $failed
