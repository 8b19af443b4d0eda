#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace that is cut short is planned as far as it goes; a foreign or random one is refused by name.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000 --steps 20"
# shellcheck disable=SC2086
{
    original $program
    record_and_plan $program
    size=$(wc -c <"$work/app.kftrace")
    head -c $((size - 100)) "$work/app.kftrace" >"$work/cut.kftrace"
    expect 0 "$kfuse" plan -o "$work/app.kfplan" "$work/cut.kftrace"
    says 'could not be read' "$work/out"
    run_planned $program
}
[ "$(stat_of issued)" -lt "$(stat_of launches)" ] || fail "a trace without its end gave no group"

head -c 5 "$work/app.kftrace" >"$work/short.kftrace"
head -c 20000 /dev/urandom >"$work/random.kftrace"
cp "$bench/vadd-shared" "$work/foreign.kftrace"
: >"$work/empty.kftrace"
for trace in short random foreign empty none; do
    rm -rf "$work/refused.kfplan"
    expect 1 "$kfuse" plan -o "$work/refused.kfplan" "$work/$trace.kftrace"
    says "$work/$trace.kftrace"
    says 'kfuse record'
    [ ! -e "$work/refused.kfplan/plan.bin" ] || fail "a plan was made from $trace.kftrace"
done
