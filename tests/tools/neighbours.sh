#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every two neighbouring launches of a program are explained, once: how they are fused, or what keeps them apart, with a kernel
# and a line of PTX, threads and a byte, the call between them, or the times that were weighed.
. "$top_srcdir/tests/tools/functions.sh"

# why PROGRAM ARGUMENT...: the pairs, in $work/pairs
why() {
    record_and_plan "$@"
    "$kfuse" explain "$work/app.kfplan" | grep -E '^(fused|apart|passed over): ' >"$work/pairs"
    launches=$("$kfuse" explain "$work/app.kfplan" | sed -n '1s/ .*//p')
    pairs=$(sed 's/.* (\([0-9]*\) times): .*/\1/' "$work/pairs" | awk '{ sum += $1 } END { print sum }')
    [ "$pairs" = $((launches - 1)) ] || fail "$pairs pairs of $launches launches: $*"
    grep -v '^apart: .* times): between them: ' "$work/pairs" | grep '^apart: ' | grep -vE \
        'line [0-9]+ .*block \([0-9,]+\) thread \([0-9,]+\), .* line [0-9]+ .*thread \([0-9,]+\), both byte [0-9]+|line [0-9]+: |us apart|as many members' >"$work/bare"
    [ ! -s "$work/bare" ] || fail "a bare reason: $* $(cat "$work/bare")"
    ! grep -iE 'unknown( |$)|out of memory|\(null\)' "$work/pairs" | grep -v 'address of unknown origin' || fail "$*"
}

shallow=$bench/shallow-shared
why "$shallow" --size 32 --steps 6
grep -q '^fused: fluxes, then update (5 times): halo in group' "$work/pairs" || fail "shallow: $(cat "$work/pairs")"
grep -q '^fused: update, then smooth (5 times): halo .* values in registers' "$work/pairs" || fail "shallow: $(cat "$work/pairs")"
grep -q '^apart: smooth, then fluxes (4 times): group .* with fluxes (projected: .*): other groups gain more' "$work/pairs" || fail "shallow: $(cat "$work/pairs")"
why "$bench/listings-shared" --nx 70 --ny 30 --nz 3 --steps 3 --part x
says 'fused: kernel_a, then kernel_a_rest (3 times): halo in group' "$work/pairs"
says 'apart: fill, then kernel_a (1 times): between them: cuCtxSynchronize' "$work/pairs"
why "$bench/nofuse-shared" --size 3000 --steps 4
why "$bench/chain-shared" --size 3000 --steps 6
why "$bench/vadd-shared" --size 5000 --steps 4
why "$bench/lecture-shared" --size 3000 --steps 4
for mode in passed_before passed_after needed_between two_streams host_read indexed reallocated atomics constants tables managed from_one last_element; do
    why "$top_builddir/tests/bench/patterns" --mode $mode
done
# Every thread may compute what one thread wrote, but not from where another thread wrote.
grep -q 'no halo fusion: kernel shift line [0-9]* and kernel last_of line [0-9]*: ' "$work/pairs" || fail "$(cat "$work/pairs")"
