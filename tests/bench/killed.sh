#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that is killed while it is recorded leaves a trace that can be planned and used.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000"
# shellcheck disable=SC2086
"$kfuse" record --emulate -o "$work/app.kftrace" --launches 0 -- $program --steps 100000000 >/dev/null 2>&1 &
pid=$!
tries=0
while [ ! -e "$work/app.kftrace" ] || [ "$(wc -c <"$work/app.kftrace")" -lt 200000 ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { kill -9 $pid; fail "the trace does not grow"; }
    sleep 0.1
done
kill -9 $pid
wait $pid 2>/dev/null
# shellcheck disable=SC2086
original $program --steps 4
expect 0 "$kfuse" plan -o "$work/app.kfplan" "$work/app.kftrace"
# shellcheck disable=SC2086
run_planned $program --steps 4
[ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "nothing was fused"
