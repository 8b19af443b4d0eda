#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where nothing can be written, the program runs, the message names the file, and plan fails. /proc is closed to root too.
. "$top_srcdir/tests/tools/functions.sh"
program="$bench/vadd-shared --size 3000 --steps 4"
# shellcheck disable=SC2086
{
    original $program
    same_as_original "$kfuse" record --emulate -o /proc/app.kftrace -- $program
    says /proc/app.kftrace
    KFUSE_CACHE=/proc/cache same_as_original "$kfuse" run --emulate -- $program
    record_and_plan $program
    same_as_original "$kfuse" run --emulate -p "$work/app.kfplan" --stats /proc/stats -- $program
}
expect 1 "$kfuse" plan -o /proc/app.kfplan "$work/app.kftrace"
says /proc/app.kfplan
