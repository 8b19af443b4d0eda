#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong usage ends with 2 and says where to read more; what cannot be done ends with 1 and names the file.
. "$top_srcdir/tests/tools/functions.sh"

expect 2 "$kfuse"
says 'usage: kfuse COMMAND'
expect 2 "$kfuse" fuse-everything
says 'kfuse: fuse-everything: no such command'
expect 0 "$kfuse" --version
says 'kfuse 0' "$work/out"

for command in record run report explain; do
    expect 2 "$kfuse" $command
    says "Try 'kfuse $command --help'."
    expect 2 "$kfuse" $command --no-such-option
    says 'no-such-option'
    says "Try 'kfuse $command --help'."
done

expect 2 "$kfuse" record -n many -- true
says 'many: not a number of launches'
expect 2 "$kfuse" run --hold-us=-1 -- true
says 'not a number of microseconds'

expect 1 "$kfuse" explain "$work/none.kfplan"
says "$work/none.kfplan/plan.json: No such file or directory"
says 'kfuse plan'
mkdir "$work/bad.kfplan"
echo '{ "groups": [' >"$work/bad.kfplan/plan.json"
expect 1 "$kfuse" explain "$work/bad.kfplan"
says "$work/bad.kfplan/plan.json"
echo '{}' >"$work/bad.kfplan/plan.json"
expect 1 "$kfuse" explain "$work/bad.kfplan"
says 'not a plan'

for margin in -1 1 much; do
    expect 2 "$kfuse" plan -m $margin "$work/app.kftrace"
    says "$margin: the margin must be at least 0 and below 1"
done
expect 2 "$kfuse" plan --max-members 1 "$work/app.kftrace"
expect 1 "$kfuse" plan "$work/app.kftrace"
says "$work/app.kftrace"
[ ! -e "$work/app.kfplan" ] || fail "a plan without a trace"
expect 0 "$kfuse" plan
says "$work/cache: nothing to plan" "$work/out"
