#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Neighbouring launches in many ways (patterns.cu): recorded, planned and run, also in a random order with races reported, and
# with --vary under the plan of the run without. Results are those of the program alone; what must fuse does, what must not
# does not. PATTERNS (environment): these alone.
# shellcheck disable=SC2086
. "$top_srcdir/tests/tools/functions.sh"
patterns=$top_builddir/tests/bench/patterns
export KFUSE_HOLD_US=10000000 # the machine may be busy, so what pays is not asked
plan_options=--keep-losing
# pattern; whether anything is fused, or that does not matter; whether --vary makes guards fail; --seed
table='
passed_before fused
passed_after fused
needed_between apart
on_a_stream fused
two_streams apart
two_streams_joined fused
distance fused guarded
distances fused
alias fused guarded
aliases fused
scalar fused guarded
scalars fused
block_sizes fused
planes fused
strided fused
strided_otherwise fused
host_read apart
set_between apart
copy_between fused
structs fused
integers fused
doubles fused
indexed apart
indexed_written fused
reallocated fused
mirrored fused
stencil apart
conditional fused
vectors fused
atomics fused
host_write fused
blocking_streams fused
constants any
tables fused
leaving fused
rows fused
iterated fused
wrapped fused guarded
half_floats fused
from_one any
last_element fused
block_sums fused
barriers_under_a_test any
barriers_after_leaving fused
warps_parted_at_barriers apart
warp_sums fused
warps_that_leave apart
dynamic_shared fused
within_blocks fused
within_blocks_in_place fused
blocks_of_two_shapes apart
block_votes fused
blocks_that_skip_barriers fused
blocks_that_skip_shared fused
barriers_in_both_branches fused
votes_before_leaving fused
aligned_shared fused
host_function fused
managed apart
drawn fused guarded 2
drawn fused guarded 5
drawn fused guarded 8
drawn fused guarded 16
'
check_count() { # PATTERN EXPECTATION
    fused=$(stat_of fused)
    case $2 in
    fused) [ "$fused" -gt 0 ] ;;
    apart) [ "$fused" = 0 ] ;;
    any) ;;
    *) false ;;
    esac || {
        cat "$work/stats" "$work/err" >&2
        "$kfuse" explain "$work/app.kfplan" >&2
        fail "$1: $fused fused launches"
    }
}

check_varied() { # PATTERN [guarded]: after the run without --vary
    issued=$(stat_of issued)
    cp "$work/original.dump" "$work/plain.dump"
    original "$patterns" $arguments --vary
    run_planned "$patterns" $arguments --vary
    [ "${2:-}" ] || return 0
    cmp -s "$work/plain.dump" "$work/original.dump" && fail "$1: --vary changes nothing"
    [ "$(stat_of issued)" -gt "$issued" ] || fail "$1: no guard failed"
}

check_passed() { # PATTERN
    case $1 in
    passed_*) grep -q "\"role\": \"${1#passed_}\"" "$work/app.kfplan/plan.json" || fail "$1: nothing is passed over" ;;
    esac
}

check_pattern() { # PATTERN EXPECTATION [guarded [SEED]]
    arguments="--mode $1 --seed ${4:-1}"
    original "$patterns" $arguments
    [ "$(cat "$work/original.status")" = 0 ] || fail "$1 itself fails: $(cat "$work/original.err")"
    record_and_plan "$patterns" $arguments
    check_passed "$1"
    export KFUSE_EMULATOR=seed=3,races=error
    run_planned "$patterns" $arguments
    unset KFUSE_EMULATOR
    check_count "$1" "$2"
    run_planned "$patterns" $arguments
    check_count "$1" "$2"
    check_varied "$1" "${3:-}"
}

printf '%s\n' "$table" | while read -r pattern expectation varied seed; do
    [ -n "$pattern" ] || continue
    case " ${PATTERNS:-$pattern} " in *" $pattern "*) ;; *) continue ;; esac
    check_pattern "$pattern" "$expectation" "$varied" "$seed"
done
