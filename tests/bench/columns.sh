#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels with a loop over levels inside the thread, whose loops nvcc unrolled by 4: values pass on the same level and
# from the levels before; with every rest that the number of levels may leave.
. "$top_srcdir/tests/tools/functions.sh"
for levels in 3 4 17 18 19 20; do
    fuses "$top_builddir/tests/bench/columns" --nz $levels
done
"$kfuse" explain "$work/app.kfplan" >"$work/text"
grep -q '^fused: density, then buoyancy .*: joined loops.* 8 values in registers' "$work/text" || fail "$(cat "$work/text")"
group=$(sed -n 's/.*"name": "\(g[0-9]*_.*_clouds.*\)".*/\1/p' "$work/app.kfplan/plan.json" | head -n 1)
"$kfuse" explain "$work/app.kfplan" "$group" >"$work/text"
grep -q 'in each iteration, of 1 before' "$work/text" || fail "no value of the level below: $(cat "$work/text")"
