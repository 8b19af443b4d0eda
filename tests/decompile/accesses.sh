#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every memory access of the PTX stands once in its C: its line is in one comment at the right end. A load whose address data choose
# stands there twice, under a condition and against it; an access whose array threads choose once for each array.
. "$top_srcdir/tests/tools/functions.sh"
cd "$top_srcdir" || exit 1
for file in tests/decompile/forms.ptx tests/codegen/*.ptx tests/analysis/*.ptx; do
    [ "$file" != tests/analysis/calls.ptx ] || continue # where a function is called twice, its lines stand twice
    spaces='global|shared|local|const'
    # copies of parameters in local memory are not there: they are read where they came from
    [ "$file" != tests/analysis/parameters.ptx ] || spaces='global|shared|const'
    expect 0 "$kfuse" ptx --source "$file"
    sed -n 's|.*  *// \([0-9 ]*\)$|\1|p' "$work/out" | tr ' ' '\n' | sort -n | uniq -c | awk '{ print $2, $1 }' | sort >"$work/written"
    grep -nE '(^|[[:space:];])(ld|st|atom|red)\.((volatile|relaxed|acquire|release|weak)[a-z.]*\.)?('"$spaces"')[.:]' "$file" |
        cut -d: -f1 | sort >"$work/lines"
    [ -s "$work/lines" ] || fail "$file has no accesses"
    join -a 1 "$work/lines" "$work/written" | awk '$2 != 1 { print "line", $1, "is written", $2 + 0, "times" }' >"$work/wrong"
    sed -nE 's|^ *if \((!?)([a-z0-9]+)\) .*  // ([0-9]+)$|\3 \2 \1|p' "$work/out" | sort |
        awk '$1 == line && $2 == condition && ($3 == "!") != was { print $1 } { line = $1; condition = $2; was = $3 == "!" }' >"$work/chosen"
    while read -r line; do sed -i "/^line $line is written 2 times\$/d" "$work/wrong"; done <"$work/chosen"
    sed -nE 's|^ *if \((kfuse_chosen_[0-9]+) == ([0-9]+)\) .*  // ([0-9]+)$|\3 \1 \2|p' "$work/out" | sort -k1,1n -k3,3n |
        awk '$1 != line { if (line) print line, n; line = $1; n = 0 } $3 == n { n++ } END { if (line) print line, n }' >"$work/arrays"
    while read -r line times; do sed -i "/^line $line is written $times times\$/d" "$work/wrong"; done <"$work/arrays"
    [ ! -s "$work/wrong" ] || fail "$file: $(cat "$work/wrong")"
done
