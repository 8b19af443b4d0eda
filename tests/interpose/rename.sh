#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arrays that fused kernels rename: what a program reads back is what it wrote, in any order of streams, of blocks and of
# threads, and each array is copied back as often as it must be.
. "$top_srcdir/tests/tools/functions.sh"
renamed=$top_builddir/tests/interpose/renamed
ptx=$top_builddir/tests/interpose/renamed.ptx
export KFUSE_HOLD_US=10000000

mkdir "$work/app.kfplan"
expect 0 on_emulator "$renamed" "$ptx" plan "$work/app.kfplan"

# runs ARGUMENT...: under the plan
runs() {
    rm -f "$work/stats" "$work/log"
    expect 0 on_emulator env LD_PRELOAD="$top_builddir/interpose/.libs/libkfuse.so" KFUSE_PLAN="$work/app.kfplan" \
        KFUSE_STATS="$work/stats" KFUSE_LOG="$work/log" "$renamed" "$ptx" "$@"
}
# renames OPERATIONS USES RESTORES
renames() {
    runs run "$1"
    [ "$(stat_of renamed)" = "$2" ] || fail "$1: $(stat_of renamed) uses with second buffers, not $2"
    [ "$(stat_of restores)" = "$3" ] || fail "$1: $(stat_of restores) restores, not $3"
}
expect 0 on_emulator "$renamed" "$ptx" run fbtTe12f0bxyz

for KFUSE_EMULATOR in seed=1,races=error seed=2,races=error; do
    export KFUSE_EMULATOR
    renames f 1 1
    renames ff 2 0
    renames fff 3 1
    renames fffff 5 1
    renames b 1 1
    renames bb 2 0
    renames bbb 3 1
    renames bbbbb 5 1
    renames bbTbbb 5 1 # the copy for the third use has what was touched
    renames ftffx 3 1
    renames fbfb 4 0 # the one has nothing to do with what the other renames
    renames 1f2f0f 3 3
    renames 1ff2ff0ff 6 0
    renames bebbebb 9 5
    renames fsfsbs 3 3
done

# the timer restores what nobody uses; the counts depend on its time
(
    export KFUSE_HOLD_US=1000
    runs run fwxbwyffwxbbwy
    [ "$(stat_of restores)" -ge 2 ] || fail "$(stat_of restores) restores by the timer"
) || exit 1

for seed in 1 2 3 4 5 6 7 8; do
    export KFUSE_EMULATOR=seed=$seed,races=error
    (export KFUSE_HOLD_US=50 && runs random 1$seed 60) || exit 1
    runs random $seed 60
    [ "$(stat_of renamed)" -gt 20 ] || fail "seed $seed: $(stat_of renamed) uses with second buffers"
done
unset KFUSE_EMULATOR

# under verification nothing stays away; afterwards all goes on
export KFUSE_VERIFY=3
runs run fffffbbbbb
[ "$(stat_of renamed)" = 10 ] || fail "$(stat_of renamed) uses with second buffers"
[ "$(stat_of restores)" = 6 ] || fail "$(stat_of restores) restores"
[ "$(grep -c '^verified .* uses 3 mismatches 0' "$work/stats")" = 2 ] || fail "not verified: $(cat "$work/stats")"
unset KFUSE_VERIFY

# memory: the program's own allocation takes it back; where there is none, the members run
if [ -n "$emulate" ]; then
    renames fmxff 1 1
    says 'the program needs the memory' "$work/log"
fi
export KFUSE_SHADOW_MB=0
renames fffbbb 0 0
says 'KFUSE_SHADOW_MB' "$work/log"
[ "$(stat_of fused)" = 0 ] || fail "$(stat_of fused) groups were used"
