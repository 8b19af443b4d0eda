#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan is the same, byte for byte, with one process and with several, also when one of these is killed in the middle.
. "$top_srcdir/tests/tools/functions.sh"
expect 0 within "$kfuse" record $emulate -o "$work/app.kftrace" -- "$bench/shallow-shared" --size 32 --steps 3

# planned NAME OPTION...: $work/NAME.kfplan, as the first plan is
planned() {
    name=$1
    shift
    expect 0 timeout -k 5 $((4 * limit)) "$kfuse" plan --seconds 0 "$@" -o "$work/$name.kfplan" "$work/app.kftrace"
    diff -r "$work/one.kfplan" "$work/$name.kfplan" >&2 || fail "$name: another plan"
}

# workers PID: the processes that the planner, a child of this one, has started
workers() { pgrep -P "$(pgrep -d , -P "$1")"; }

planned one --jobs 1
planned three --jobs 3
planned cores

"$kfuse" plan --seconds 0 --jobs 3 -o "$work/killed.kfplan" "$work/app.kftrace" >"$work/out" 2>"$work/err" &
plan=$!
tries=0
while [ -z "$(workers $plan 2>/dev/null)" ] && [ $tries -lt 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
victim=$(workers $plan | head -n 1)
[ -n "$victim" ] || fail "no worker was seen"
kill -KILL "$victim"
wait $plan || fail "with a worker killed: $(cat "$work/err")"
diff -r "$work/one.kfplan" "$work/killed.kfplan" >&2 || fail "with a worker killed: another plan"

# The launches of an even step lie to each other as those of an odd one, but on swapped arrays: a reason holds for both.
swapped=$top_builddir/tests/bench/jacobi
expect 0 within "$kfuse" record $emulate -o "$work/app.kftrace" -- "$swapped" --mirror 1 --steps 9
rm -rf "$work"/*.kfplan
planned one --jobs 1
if grep -E '"reason": "[^"]*array [0-9]' "$work/one.kfplan/plan.json" >&2; then fail 'a reason that holds for other arrays names one'; fi
for jobs in 2 3 4; do planned jobs-$jobs --jobs $jobs; done

expect 2 "$kfuse" plan --jobs 0 "$work/app.kftrace"
says '0: at least one core is used'
