#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kfuse run --verify: groups that are right are verified and used; one that is wrong is caught, and the results are those
# of the program alone; what cannot be verified runs as it is, and the report says why.
. "$top_srcdir/tests/tools/functions.sh"
export KFUSE_HOLD_US=10000000

# verified FIELD: the sum over groups: 4 uses, 6 mismatches, 8 bytes
verified() { awk -v field="$1" '$1 == "verified" { sum += $field } END { print sum + 0 }' "$work/stats"; }

# verifies PROGRAM ARGUMENT...: a run with --verify=$uses that must be as the original
uses=3
verifies() {
    run_options=--verify=$uses
    run_planned "$@"
    run_options=
}

# patched KIND: a copy of the good plan, changed
patched() {
    rm -rf "$work/app.kfplan"
    cp -r "$work/good.kfplan" "$work/app.kfplan"
    "$top_builddir/tests/bench/patch_plan" "$work/app.kfplan/plan.bin" "$1" || fail "patch_plan $1"
}

# sound PROGRAM ARGUMENT...: every group that is used is verified, none differs
sound() {
    original "$@"
    record_and_plan "$@"
    verifies "$@"
    [ "$(verified 6)" = 0 ] || fail "a group differs: $*"
    grep -q because "$work/stats" && fail "a group could not be verified: $*"
    [ "$(stat_of fused)" -gt 0 ] || fail "nothing was fused: $*"
    awk '$1 == "group" { uses[$2] = $4 < 3 ? $4 : 3 } $1 == "verified" && uses[$2] != $4 { bad = 1 } END { exit bad }' "$work/stats" ||
        fail "not the first three uses of each group: $(cat "$work/stats")"
}
sound "$bench/shallow-shared" --size 32 --steps 6
sound "$bench/chain-shared" --size 3000 --steps 6
sound "$bench/vadd-shared" --size 5000 --steps 8 --form temporary
sound "$bench/vadd-shared" --size 5000 --steps 64 --form inplace
[ "$(verified 4)" -ge 4 ] || fail "$(verified 4) uses verified"
expect 0 "$kfuse" report "$work/app.kfplan"
says 'verified on the last run' "$work/out"
grep -Eq ' 3 +0 +20000  yes +g' "$work/out" || fail "the report has no verified group: $(cat "$work/out")"
cp -r "$work/app.kfplan" "$work/good.kfplan"
program="$bench/vadd-shared --size 5000 --steps 64 --form inplace"

# code or arguments that are wrong: caught at the first use, and never used again
for kind in wrong rotate; do
    patched $kind
    # shellcheck disable=SC2086
    verifies $program
    says 'its result differs'
    [ "$(verified 6)" -gt 0 ] || fail "not caught: $kind"
    awk '$1 == "group" { uses[$2] = $4 } $1 == "verified" && $6 && uses[$2] + $4 { bad = 1 } END { exit bad }' "$work/stats" ||
        fail "a wrong group was used: $(cat "$work/stats")"
done
[ "$(stat_of fused)" = 0 ] || fail "groups with other pointers were used"
says 'must be 0x'
expect 0 "$kfuse" report "$work/app.kfplan"
says 'its result differs' "$work/out"
patched wrong
# shellcheck disable=SC2086
"$kfuse" run --emulate -p "$work/app.kfplan" -- $program --dump "$work/wrong.dump" >/dev/null 2>&1
cmp -s "$work/original.dump" "$work/wrong.dump" && fail "the planted fault changes nothing"

# groups that need verification are used after it, and only then
patched unverified
# shellcheck disable=SC2086
run_planned $program
[ "$(stat_of fused)" = 0 ] || fail "groups that were not verified are used"
says '--verify'
# shellcheck disable=SC2086
verifies $program
[ "$(stat_of fused)" -gt "$(verified 4)" ] || fail "groups are not used after they have been verified"

# where bytes anywhere in an allocation may be written, it is compared as a whole
ranges=$(verified 8)
patched unsure
# shellcheck disable=SC2086
verifies $program
[ "$(stat_of fused)" -gt "$(verified 4)" ] || fail "groups that write anywhere are not used after they have been verified"
[ "$(verified 8)" -ge "$ranges" ] || fail "$(verified 8) bytes of allocations were compared, $ranges of ranges"

# what cannot be verified is not used
patched unordered
# shellcheck disable=SC2086
verifies $program
[ "$(stat_of fused)" = 0 ] || fail "a group was used that cannot be verified"
says 'the order of its floating-point atomics is open'
patched narrow
# shellcheck disable=SC2086
verifies $program
[ "$(stat_of fused)" = 0 ] || fail "a group was used whose plan is wrong"
says 'its members write outside what the plan says'
patched unverified
# shellcheck disable=SC2086
KFUSE_VERIFY_MIB=1 verifies $program
says 'MiB'
[ "$(stat_of fused)" = 0 ] || fail "more memory was used than allowed"

# a folder that cannot be written
rm -rf "$work/app.kfplan"
cp -r "$work/good.kfplan" "$work/app.kfplan"
rm -f "$work/app.kfplan/verified"
mkdir "$work/app.kfplan/verified"
# shellcheck disable=SC2086
verifies $program
[ "$(verified 4)" -ge 4 ] || fail "$(verified 4) uses verified"
expect 2 "$kfuse" run --verify=0 -p "$work/app.kfplan" -- true
expect 2 "$kfuse" run --verify=x -p "$work/app.kfplan" -- true

# other threads at work, also between the bytes that the group writes; and waiting for what is not to come
busy=$top_builddir/tests/interpose/verified
limit=60
export KFUSE_HOLD_US=1000000
record_and_plan "$busy" --rounds 100
for settings in seed=0 seed=3; do
    export KFUSE_EMULATOR=$settings
    original "$busy" --mode neighbours
    uses=1000 verifies "$busy" --mode neighbours
    [ "$(verified 4)" -gt 0 ] || fail "nothing was verified beside other threads: $(cat "$work/stats")"
    [ "$(verified 6)" = 0 ] || fail "a group differs beside other threads"
done
unset KFUSE_EMULATOR
for mode in stream-waits thread-waits copy-waits; do
    original "$busy" --mode $mode
    KFUSE_VERIFY_WAIT_MS=200 verifies "$busy" --mode $mode
    says 'nothing more is verified'
    [ "$(stat_of fused)" = 0 ] || fail "a group was used that was not verified: $mode"
done

# threads that launch at once, capture, fork, reset the device
threads=$top_builddir/tests/bench/threads
record_and_plan "$threads" --mode short-streams
for mode in streams one-stream events captures signals fork exit reset; do
    original "$threads" --mode $mode
    for hold in 1 1000000; do
        export KFUSE_HOLD_US=$hold
        verifies "$threads" --mode $mode
        [ "$(verified 6)" = 0 ] || fail "a group differs: $mode"
    done
done
