#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches of few threads behind large ones run in the last block of these: sums, scalars, a source, receivers, a border. Streams that
# work at a time count their blocks apart.
kinds="--without one-block"
. "$top_srcdir/tests/tools/functions.sh"
behind=$top_builddir/tests/bench/behind
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# kinds_are WANTED: the plan has a group of it, or with a - before it, none
kinds_are() {
    "$kfuse" explain "$work/app.kfplan" >"$work/told"
    case $1 in
    -*) ! grep -q "^fused: .*: ${1#-} in group" "$work/told" || fail "there is a group of ${1#-}" ;;
    *) grep -q "^fused: .*: $1 in group" "$work/told" || fail "there is no group of $1: $(cat "$work/told")" ;;
    esac
}
# recorded WANTED ARGUMENT...
recorded() {
    wanted=$1
    shift
    record_and_plan "$behind" "$@"
    kinds_are "$wanted"
    again "$@"
}
# again ARGUMENT...: with this plan
again() { replays "$behind" "$@"; }

recorded last-block --step Adfcxrdfcp
[ "$(stat_of fused)" -ge 12 ] || fail "fused uses: $(stat_of fused)"
run_options=--verify run_planned "$behind" --step Adfcxrdfcp
again --step Adfcxrdfcp --steps 9
again --step Adscfcxrdfcp
again --step Adfcxrdfcp --streams 3
again --step Adfcxrdfcp --streams 2 --renew
recorded last-block --step wigb
again --step wgib
again --step wigb --size 151 110
recorded last-block --step dFcx        # fewer threads than the head's block has
recorded last-block --step dWcx        # some of which leave early
recorded -last-block --step dB         # more than the head's block has
recorded last-block --step Aefcx --size 160 110 # threads of the head leave early
again --step Aefcx --size 160 110 --streams 2
recorded last-block --step ACg
"$kfuse" explain "$work/app.kfplan" | grep -q 'a tile of' || fail 'the head is no halo fusion'
again --step ACg --streams 3
recorded last-block --step AdfcxrwiBdg # others between
recorded last-block --step Adfcxrdfcp --streams 2
again --step Adfcxrdfcp --streams 4 --renew
again --step Adfcxrdfcp
# where nothing else is wanted
plan_options='--keep-losing --only last-block'
recorded last-block --step wg --size 130 70
again --step wg --size 130 70 --streams 3
recorded last-block --step wigb
recorded last-block --step dWcx --size 300 40
