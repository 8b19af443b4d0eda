# SPDX-License-Identifier: Apache-2.0
# For the shell tests of the command and of whole programs: a folder that goes away, and ways to run and to compare.
# Sourced; needs top_builddir, top_srcdir. on_gpu.sh sets emulate to nothing, and limit: seconds for a run.
set -u
emulate=${emulate---emulate}
limit=${limit:-300}
kfuse=$top_builddir/tools/kfuse
bench=$top_builddir/bench
emulator=$top_builddir/emulator/.libs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD KFUSE_RECORD KFUSE_PLAN KFUSE_DISABLE KFUSE_LOG KFUSE_STATS KFUSE_HOLD_US KFUSE_SHADOW_MB KFUSE_EMULATOR KFUSE_VERIFY KFUSE_VERIFY_MIB KFUSE_VERIFY_WAIT_MS KFUSE_SPOIL_STALE KFUSE_TRUST KFUSE_OWN_STREAM
export KFUSE_CACHE="$work/cache" KFUSE_MEASURE=${KFUSE_MEASURE:-0} # counts are those of a plan that is used throughout

# make check runs a share of the longest tests, make check-long the whole of them.
is_long() { [ "${KFUSE_TEST_LONG:-0}" = 1 ]; }

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# expect STATUS COMMAND...: output in $work/out and $work/err
expect() {
    expected=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" = "$expected" ] && return 0
    cat "$work/out" "$work/err" >&2
    fail "exit status $status, not $expected: $*"
}

# says TEXT [FILE]: the last command's standard error, or FILE, holds TEXT
says() {
    grep -qF -- "$1" "${2:-$work/err}" && return 0
    cat "${2:-$work/err}" >&2
    fail "not said: $1"
}

# stat KEY: from $work/stats
stat_of() { awk -v key="$1" '$1 == key { print $2 }' "$work/stats"; }

# within COMMAND...: ended after $limit seconds
within() { timeout -k 5 "$limit" "$@"; }

# on_emulator COMMAND...: without kfuse; on_gpu.sh has it run on the GPU
on_emulator() {
    if [ -n "$emulate" ]; then
        within env LD_LIBRARY_PATH="$emulator${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
    else
        within "$@"
    fi
}

# is_over FILE: the run with this status was not ended by within
is_over() { case $(cat "$1") in 124 | 137) return 1 ;; esac; }

# original PROGRAM ARGUMENT...: the reference: $work/original.{status,out,dump}. --dump is added.
original() {
    rm -f "$work/original.dump"
    on_emulator "$@" --dump "$work/original.dump" >"$work/original.out" 2>"$work/original.err"
    echo $? >"$work/original.status"
    is_over "$work/original.status" || fail "without kfuse it takes longer than $limit s: $*"
    ! grep -q '^usage: ' "$work/original.err" || fail "it does not know --dump, or another option: $*"
}

# same_as_original COMMAND...: under kfuse; same exit status, standard output and dump
same_as_original() {
    rm -f "$work/fused.dump"
    "$@" --dump "$work/fused.dump" >"$work/fused.out" 2>"$work/err"
    echo $? >"$work/fused.status"
    is_over "$work/fused.status" || fail "with kfuse it takes longer than $limit s: $*"
    cmp "$work/original.status" "$work/fused.status" >&2 || {
        cat "$work/err" >&2
        fail "exit status $(cat "$work/fused.status"), not $(cat "$work/original.status"): $*"
    }
    cmp "$work/original.out" "$work/fused.out" >&2 || fail "other output: $*"
    [ -e "$work/original.dump" ] || return 0
    cmp "$work/original.dump" "$work/fused.dump" >&2 || fail "other results: $*"
}

# The launches of tests are small, so that one block could do what the other kinds are tested for, or the last one of another launch.
kinds=${kinds---without one-block,last-block,inter-block}

# record_and_plan PROGRAM ARGUMENT...: $work/app.kftrace and $work/app.kfplan; with $kinds and $plan_options
record_and_plan() {
    rm -rf "$work/app.kftrace" "$work/app.kfplan"
    # shellcheck disable=SC2086
    expect 0 within "$kfuse" record $emulate -o "$work/app.kftrace" -- "$@"
    # shellcheck disable=SC2086
    expect 0 timeout -k 5 $((4 * limit)) "$kfuse" plan $kinds ${plan_options:-} -o "$work/app.kfplan" "$work/app.kftrace"
}

# record_run PROGRAM ARGUMENT...: one more trace in $work/runs
record_run() {
    mkdir -p "$work/runs"
    # shellcheck disable=SC2086
    expect 0 within "$kfuse" record $emulate -o "$work/runs/$(find "$work/runs" -name '*.kftrace' | wc -l).kftrace" -- "$@"
}

# plan_runs: $work/app.kfplan of all of them, with $kinds and $plan_options
plan_runs() {
    # shellcheck disable=SC2086
    expect 0 timeout -k 5 $((4 * limit)) "$kfuse" plan $kinds ${plan_options:-} -o "$work/app.kfplan" "$work/runs"
}

# run_planned PROGRAM ARGUMENT...: a run with the plan that must be as the original; counts in $work/stats; with $run_options
run_planned() {
    rm -f "$work/stats"
    # shellcheck disable=SC2086
    same_as_original within "$kfuse" run $emulate ${run_options:-} -p "$work/app.kfplan" --stats "$work/stats" -- "$@"
}

# fuses PROGRAM ARGUMENT...: everything, and launches were replaced. Holds for seconds: the machine may be busy.
fuses() {
    original "$@"
    [ "$(cat "$work/original.status")" = 0 ] || {
        cat "$work/original.err" >&2
        fail "the program itself fails: $*"
    }
    record_and_plan "$@"
    export KFUSE_HOLD_US=10000000
    run_planned "$@"
    unset KFUSE_HOLD_US
    [ "$(stat_of issued)" -lt "$(stat_of launches)" ] || {
        cat "$work/stats" "$work/err" >&2
        "$kfuse" explain "$work/app.kfplan" >&2
        fail "nothing was fused: $*"
    }
}

# told NAME: what explain tells of $work/app.kfplan, a line each after NAME, in the words of bench/told.awk
told() { "$kfuse" explain "$work/app.kfplan" | awk -f "$top_srcdir/bench/told.awk" | sort -u | sed "s/^/$1 /"; }

# corner MODE: tests/bench/corners.cu behaves under record and with a plan as it does alone
corner() {
    corners=$top_builddir/tests/bench/corners
    original "$corners" --mode "$1"
    same_as_original "$kfuse" record --emulate -o "$work/app.kftrace" -- "$corners" --mode "$1"
    expect 0 "$kfuse" plan -o "$work/app.kfplan" "$work/app.kftrace"
    run_planned "$corners" --mode "$1"
}

# replays PROGRAM ARGUMENT...: without kfuse, where it must not fail, and with the plan
replays() {
    original "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
    run_planned "$@"
}
