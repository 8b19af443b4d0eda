#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches that have nothing to do with each other run in blocks of their own of one launch: of other sizes and shapes, with blocks
# that stay whole, with threads that leave early.
kinds='--only inter-block'
. "$top_srcdir/tests/tools/functions.sh"
behind=$top_builddir/tests/bench/behind
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# recorded MEMBERS ARGUMENT...: some group has so many
recorded() {
    members=$1
    shift
    record_and_plan "$behind" "$@"
    "$kfuse" explain "$work/app.kfplan" >"$work/told"
    grep -q "^fused: .*: inter-block in group" "$work/told" || fail "there is no such group: $(cat "$work/told")"
    grep -q "^group [^:]*: $members launches" "$work/told" || fail "no group has $members members: $(cat "$work/told")"
    again "$@"
}
# again ARGUMENT...: with this plan
again() { replays "$behind" "$@"; }

recorded 3 --step Awx
[ "$(stat_of fused)" = 6 ] || fail "fused uses: $(stat_of fused)"
run_options=--verify run_planned "$behind" --step Awx
again --step Awx --steps 9
again --step xAw                                  # of another order: not all of it comes as planned
again --step Awx --size 151 110                   # other numbers
recorded 3 --step wdx --size 300 40               # blocks that stay whole beside others
recorded 3 --step wex --size 160 110              # threads of which leave early
again --step wex --size 160 110 --streams 2
recorded 3 --step dwFA --size 130 70              # fewer threads than the fused block has
recorded 2 --step dWwc                            # a block of which leaves early, and is followed
recorded 3 --step iACgpwrb                        # what conflicts is passed over
recorded 3 --step Awdcx --streams 2
again --step Awdcx --streams 4 --renew

# 64 small kernels of a step, in one launch
beside=$top_builddir/bench/beside-shared
KFUSE_HOLD_US=10000000 record_and_plan "$beside" --kind borders --size 40 --steps 6
"$kfuse" report "$work/app.kfplan" | grep -q '^ *6 *64 ' || fail 'the 64 kernels of a step are not one launch'
replays "$beside" --kind borders --size 40 --steps 6
[ "$(stat_of issued)" -le 10 ] || fail "launches: $(stat_of issued)"
