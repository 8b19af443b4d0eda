#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three launches of stencils become one, with a border; three that read the same arrays another.
. "$top_srcdir/tests/tools/functions.sh"
for part in x y; do
    fuses "$bench/listings-shared" --nx 70 --ny 30 --nz 3 --steps 3 --part $part
    group=$(sed -n 's/.*"name": "\(g[0-9]*_kernel_[ac].*\)".*/\1/p' "$work/app.kfplan/plan.json" | head -n 1)
    "$kfuse" explain "$work/app.kfplan" "$group" >"$work/text"
    [ $part = x ] && expected=12 || expected=0
    [ "$(grep -c 'cells away' "$work/text")" = $expected ] || fail "part $part: $(cat "$work/text")"
done
