#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A search for groups that has no time left keeps what it has, and says so.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/chain-shared --size 3000 --steps 6" plan_options='--seconds 0'
# shellcheck disable=SC2086
record_and_plan $program
says ' in 1 group;' "$work/out"
expect 0 "$kfuse" plan --seconds 1e-9 -o "$work/app.kfplan" "$work/app.kftrace"
says ' in 0 groups;' "$work/out"
expect 0 "$kfuse" report "$work/app.kfplan"
says 'planning had taken its 1e-09 seconds before' "$work/out"
expect 2 "$kfuse" plan --seconds=-1 "$work/app.kftrace"
says '-1: the seconds must be at least 0'
