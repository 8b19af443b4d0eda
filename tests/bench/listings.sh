#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three launches of stencils become one, with a border; three that read the same arrays another.
. "$top_srcdir/tests/tools/functions.sh"
for part in x y; do
    fuses "$bench/listings-shared" --nx 70 --ny 30 --nz 3 --steps 3 --part $part
    grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json" && halo=1 || halo=0
    [ $part = x ] && expected=1 || expected=0
    [ $halo = $expected ] || fail "part $part: halo fusions: $halo"
done
