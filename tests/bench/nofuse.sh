#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels that read what far away blocks have written stay apart, and explain says so.
. "$top_srcdir/tests/tools/functions.sh"
original "$bench/nofuse-shared" --size 600 --steps 10
record_and_plan "$bench/nofuse-shared" --size 600 --steps 10
run_planned "$bench/nofuse-shared" --size 600 --steps 10
[ "$(stat_of issued)" = "$(stat_of launches)" ] || fail "something was fused that must not be"
expect 0 "$kfuse" explain "$work/app.kfplan"
says 'apart: ' "$work/out"
