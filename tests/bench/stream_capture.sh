#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches in a stream capture pass through.
. "$top_srcdir/tests/tools/functions.sh"
corner capture

# The first launches of a program may be captured.
original "$corners" --mode first
same_as_original "$kfuse" record --emulate -o "$work/first.kftrace" -- "$corners" --mode first
same_as_original "$kfuse" run --emulate -p "$work/app.kfplan" -- "$corners" --mode first
