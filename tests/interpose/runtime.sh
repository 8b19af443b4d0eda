#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/client stands in for programs with NVIDIA's static runtime: it looks up what that one looks up, in its order, and all
# its launches are seen, fused and identical.
. "$top_srcdir/tests/tools/functions.sh"

# lookups PROGRAM: printed by a driver that has nothing else; the program fails for lack of a device
lookups() { LD_LIBRARY_PATH=$top_builddir/tests/interpose/lookups/.libs "$@" 2>&1 >/dev/null | grep -E '^(exported|1[12]) "'; }
case $("$CUDA_HOME/bin/nvcc" --version) in
*'release 13.0'*)
    lookups "$bench/vadd" --size 32 --steps 1 >"$work/runtime"
    lookups "$bench/client" >"$work/client"
    [ "$(wc -l <"$work/runtime")" -gt 400 ] || fail "the runtime looked up nothing"
    diff "$work/runtime" "$work/client" >&2 || fail "bench/runtime_lookup.def is not what the runtime looks up"
    ;;
*) echo 'the table is for the runtime of CUDA 13.0: not compared' ;;
esac

# fuses_all STEPS FUSED OPTION...: in a planned run; every launch is in the trace, and is counted
fuses_all() {
    steps=$1 fused=$2
    shift 2
    fuses "$bench/client" --steps "$steps" "$@"
    launches=$((steps * launches_a_step))
    recorded=$("$kfuse" report --records "$work/app.kftrace" | grep -c '^launch ')
    [ "$recorded" = $launches ] || fail "$recorded launches recorded of $launches"
    [ "$(stat_of launches)" = $launches ] || fail "$(stat_of launches) launches seen of $launches"
    [ "$(stat_of fused)" = "$fused" ] || fail "$(stat_of fused) groups launched, not $fused"
}
launches_a_step=3
fuses_all 12 7 --pattern sdg # updates in place, from step to step
fuses_all 12 5 --pattern sdg --variety 3 # sizes that take turns
launches_a_step=7
fuses_all 10 10 --pattern sdsdsgo

# Beside the looked-up entry, --compare launches by the driver's own, which nobody sees; the plan is of the last of the above.
env KFUSE_STATS="$work/stats" KFUSE_PLAN="$work/app.kfplan" LD_PRELOAD="$top_builddir/interpose/.libs/libkfuse.so" \
    LD_LIBRARY_PATH="$emulator" "$bench/client" --pattern o --steps 21 --compare >"$work/out" || fail "--compare: $(cat "$work/out")"
[ "$(stat_of launches)" = 21 ] || fail "$(stat_of launches) launches seen, not 21"
grep -q '^ratio [0-9]' "$work/out" || fail "no ratio: $(cat "$work/out")"
