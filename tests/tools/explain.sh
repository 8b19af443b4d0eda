#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What kfuse explain says about a small plan: explain.expected, the whole plan first, then its group, then the pairs.
. "$top_srcdir/tests/tools/functions.sh"
plan=$top_srcdir/tests/tools/explain.kfplan

expect 0 "$kfuse" explain "$plan"
cp "$work/out" "$work/both"
expect 0 "$kfuse" explain "$plan" g1
cat "$work/out" >>"$work/both"
expect 0 "$kfuse" explain --pairs "$plan"
cat "$work/out" >>"$work/both"
diff -u "$top_srcdir/tests/tools/explain.expected" "$work/both" >&2 || fail "other text than expected"

expect 1 "$kfuse" explain "$plan" g7
says "no group g7; 'kfuse explain $plan' lists them"
