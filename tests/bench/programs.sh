#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/programs on programs of our own: what is the same, what varies by itself, what fails, and the shares in the table.
. "$top_srcdir/tests/tools/functions.sh"
programs=$(cd "$top_srcdir" && pwd)/bench/programs
build=$(cd "$top_builddir" && pwd)
mkdir "$work/there"
cat >"$work/list" <<LIST
# made by programs.sh
folder: there
ignore: [0-9]+ns

program: chain
command: KFUSE_HOLD_US=10000000 $build/bench/chain-shared --size 3000 --length 4 --steps 3 --dump result; date +%Nns
outputs: result
program: varies
command: $build/bench/vadd-shared --size 3000 --steps 2; date +%N
program: fails
command: $build/bench/vadd-shared --no-such-option
LIST
expect 0 "$programs" -b "$build" -e -r 2 -j 1 -o "$work/table" "$work/list"
grep -Eq '^chain +12 +4 +100% +100% .* identical' "$work/table" || { cat "$work/table" >&2; fail "the row of chain is another"; }
says ' varies ' "$work/table"
says 'fails                    exit status 2: ' "$work/table"
says '# 3 programs, 1 with identical results, 0 different, ' "$work/table"

mv "$work/table" "$work/earlier"
ratio=$(awk '$1 == "chain" { print $7 }' "$work/earlier")
sed -i '/^program: varies/,$d' "$work/list"
expect 0 "$programs" -b "$build" -e -r 1 -j 1 -l "$work/lock" -p "$work/earlier" -o "$work/table" "$work/list"
grep -Eq "^chain .* [0-9]+ +100% +$ratio " "$work/table" || { cat "$work/table" >&2; fail "chain has not what it had then, $ratio"; }

# a program that finds out that there is a plan makes other results
cat >"$work/list" <<LIST
program: looks
command: $build/bench/vadd-shared --size 3000 --steps 2; echo \${KFUSE_PLAN:-none}
LIST
expect 1 "$programs" -b "$build" -e -r 1 -o "$work/table" "$work/list"
says ' DIFFERENT ' "$work/table"
says 'results differ'

echo 'colour: red' >"$work/list"
expect 1 "$programs" -b "$build" -e "$work/list"
says 'list:1: colour: no such key'
