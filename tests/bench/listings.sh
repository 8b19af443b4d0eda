#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three launches of stencils become one, with a border, also where the loop over k stands inside the thread; three that read
# the same arrays another, with their loops joined there.
. "$top_srcdir/tests/tools/functions.sh"
# listings PART COUNT ARGUMENT...: as many values pass by a neighbour's cell
listings() {
    part=$1
    values=$2
    shift 2
    fuses "$bench/listings-shared" --nx 70 --ny 30 --steps 3 --part "$part" "$@"
    group=$(sed -n 's/.*"name": "\(g[0-9]*_kernel_[ac].*\)".*/\1/p' "$work/app.kfplan/plan.json" | head -n 1)
    "$kfuse" explain "$work/app.kfplan" "$group" >"$work/text"
    [ "$(grep -c 'cells away' "$work/text")" = "$values" ] || fail "part $part: $(cat "$work/text")"
}
listings x 12 --nz 3
listings x 12 --nz 3 --loop
listings x 60 --nz 7 --loop
grep -q 'turns of its loop' "$work/text" || fail "loops are not taken apart: $(cat "$work/text")"
listings y 0 --nz 3
listings y 0 --nz 7 --loop
grep -q 'in each iteration' "$work/text" || fail "loops are not joined: $(cat "$work/text")"
