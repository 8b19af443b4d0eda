#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kfuse report of a small known trace, of a damaged one, and of a plan with the counters of a run.
. "$top_srcdir/tests/tools/functions.sh"
samples=$top_builddir/tests/tools/write_samples
mkdir "$work/app.kfplan"
cp "$top_srcdir/tests/tools/explain.kfplan/plan.json" "$work/app.kfplan/"
"$samples" "$work/app.kftrace" "$work/app.kfplan" || fail "no samples"
cd "$work" || exit 1

expect 0 "$kfuse" report app.kftrace
diff -u "$top_srcdir/tests/tools/report_trace.expected" out >&2 || fail "other text than expected"
expect 0 "$kfuse" report --records app.kftrace
[ "$(grep -c '^launch ' out)" -eq 15 ] || fail "not every launch is listed"
says 'kernel   1 module 1 scale registers 20 shared 128' out
says 'arguments 0102030405060708' out
says 'end      #2000 15 launches, 12 with times, because the launches had become periodic' out

# cut in the middle of a record
size=$(wc -c <app.kftrace)
head -c $((size - 20)) app.kftrace >cut.kftrace
expect 0 "$kfuse" report cut.kftrace
says 'damaged: the last' out
says 'recording did not end' out
says '15 launches of 2 kernels' out

expect 0 "$kfuse" report app.kfplan
cp out both
printf 'launches 300\nissued 200\ngroup g1 uses 99\ngroup other uses 1\n' >stats
expect 0 "$kfuse" report --stats stats app.kfplan
cat out >>both
diff -u "$top_srcdir/tests/tools/report_plan.expected" both >&2 || fail "other text than expected"

# what cannot be reported is named, with the next step
expect 1 "$kfuse" report none.kftrace
says 'none.kftrace'
says 'kfuse record'
echo 'not a trace at all, just text' >text
expect 1 "$kfuse" report text
says 'text: not a kfuse trace'
echo 'launches many' >bad
expect 1 "$kfuse" report --stats bad app.kfplan
says 'bad:1:'
printf 'x' >>app.kfplan/plan.bin
expect 1 "$kfuse" report app.kfplan
says 'app.kfplan/plan.bin'
says 'kfuse plan'
expect 2 "$kfuse" report
expect 2 "$kfuse" report --stats stats app.kftrace
expect 2 "$kfuse" report --records app.kfplan
