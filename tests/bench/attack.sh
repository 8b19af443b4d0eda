#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels whose data meet in unusual ways give the same bytes with a plan, also when the plan was made for other
# pointers, sizes or values. attack.sh [MODE]...
. "$top_srcdir/tests/tools/functions.sh"
attack=$top_builddir/tests/bench/attack
used=0
export KFUSE_EMULATOR=packed=1 # one past the end of an array is the start of the next one, as on a GPU
least=20 modes='chain one shift null views widths vectors conditions shared numbers passed renew'
if is_long; then least=40 modes="$modes end pool null-last in-place pairs strides atomics variables boxes switch arguments gather"; fi
for mode in ${@:-$modes}; do
    record_and_plan "$attack" --mode $mode
    for variant in 1 2 3 4 5; do
        original "$attack" --mode $mode --variant $variant
        [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $mode $variant"
        run_planned "$attack" --mode $mode --variant $variant
        echo "$mode $variant: $(stat_of issued) issued of $(stat_of launches)"
        [ "$(stat_of issued)" = "$(stat_of launches)" ] || used=$((used + 1))
    done
done
[ "$used" -ge $least ] || [ $# -gt 0 ] || fail "only $used runs had anything fused"
