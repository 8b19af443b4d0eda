#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan that is cut short, random, foreign, flipped in one bit or missing is refused by name, and the program runs as it
# would alone, through the command and through the environment.
. "$top_srcdir/tests/tools/functions.sh"
library=$top_builddir/interpose/.libs/libkfuse.so
program="$bench/vadd-shared --size 3000 --steps 4"
# shellcheck disable=SC2086
original $program
# shellcheck disable=SC2086
record_and_plan $program
cp -r "$work/app.kfplan" "$work/good.kfplan"

spoil() {
    case $1 in
    cut) head -c 1000 "$work/good.kfplan/plan.bin" >"$work/app.kfplan/plan.bin" ;;
    random) head -c 20000 /dev/urandom >"$work/app.kfplan/plan.bin" ;;
    foreign) cp "$bench/vadd-shared" "$work/app.kfplan/plan.bin" ;;
    empty) : >"$work/app.kfplan/plan.bin" ;;
    flipped) "$top_builddir/tests/bench/patch_plan" "$work/app.kfplan/plan.bin" flip || fail "patch_plan" ;;
    missing) rm "$work/app.kfplan/plan.bin" ;;
    esac
}
for kind in cut random foreign empty flipped missing; do
    rm -rf "$work/app.kfplan"
    cp -r "$work/good.kfplan" "$work/app.kfplan"
    spoil $kind
    # shellcheck disable=SC2086
    run_planned $program
    says "$work/app.kfplan/plan.bin"
    says 'kfuse plan'
    # shellcheck disable=SC2086
    same_as_original on_emulator env LD_PRELOAD="$library" KFUSE_PLAN="$work/app.kfplan" KFUSE_LOG="$work/log" $program
    says "$work/app.kfplan" "$work/log"
    rm "$work/log"
    # shellcheck disable=SC2086
    same_as_original on_emulator env LD_PRELOAD="$library" KFUSE_PLAN="$work/app.kfplan" $program
    [ ! -s "$work/err" ] || fail "the library printed unasked"
done
