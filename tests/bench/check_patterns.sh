# SPDX-License-Identifier: Apache-2.0
# For patterns.sh and its like: $table has patterns of $patterns, a line each: name; whether anything is fused, or that does not
# matter; whether --vary makes guards fail; --seed. Recorded, planned and run, also in a random order with races reported, and
# with --vary under the plan of the run without. Results are those of the program alone. PATTERNS (environment): these alone.
# shellcheck shell=sh disable=SC2086,SC2154,SC2034
. "$top_srcdir/tests/tools/functions.sh"
export KFUSE_HOLD_US=10000000 # the machine may be busy, so whether holding gains is not asked
plan_options="--keep-losing --store-all"
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
