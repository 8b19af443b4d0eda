#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kfuse explain --source: of groups, every value that passes, every store that is left out, tiles and barriers; of kernels, all of
# the plan.
. "$top_srcdir/tests/tools/functions.sh"
plan=$work/app.kfplan

# in_plan GROUP LIST: how many entries LIST of the group has
in_plan() {
    awk -v group="\"name\": \"$1\"," -v list="\"$2\": [" '
        index($0, group) { inside = 1 }
        inside && index($0, list) { counting = 1; if (/\]/) exit; next }
        counting && /^ *\]/ { exit }
        counting { count++ }
        END { print count + 0 }' "$plan/plan.json"
}

# group_of PREFIX: the first group whose name begins so, without its number, in $group; its C in $work/out
group_of() {
    group=$(sed -n 's/.*"name": "\(g[0-9]*_'"$1"'[^"]*\)".*/\1/p' "$plan/plan.json" | head -n 1)
    [ -n "$group" ] || fail "no group $1"
    expect 0 "$kfuse" explain --source "$plan" "$group"
}

# counts NUMBER PATTERN: the C has so many lines like this
counts() {
    number=$(grep -cE -- "$2" "$work/out")
    [ "$number" = "$1" ] || {
        cat "$work/out" >&2
        fail "$number lines, not $1: $2"
    }
}

kept=$kinds kinds='--only inner-thread'
record_and_plan "$bench/shallow-shared" --size 32 --steps 6
kinds=$kept
group_of update_smooth
counts "$(in_plan "$group" forwards)" '/\* not a[0-9]+\['
counts 1 '^    /\* member 0: _Z6update'
counts 1 '^    /\* member 1: _Z6smooth'
expect 0 "$kfuse" explain --source "$plan" smooth
counts 1 '^__global__ void smooth\('
"$kfuse" explain --source "$plan" >"$work/all"
[ "$(grep -c '^__global__' "$work/all")" = "$(grep -c '"readable"' "$plan/plan.json")" ] || fail "not all kernels and groups"
grep -q '"readable": null' "$plan/plan.json" && fail "a kernel has no C"
expect 1 "$kfuse" explain --source "$plan" nobody
says 'no group or kernel nobody'
rm "$plan"/kernel-*-smooth.c
expect 1 "$kfuse" explain --source "$plan" smooth
says "make the plan again"

record_and_plan "$bench/listings-shared" --nx 70 --ny 30 --nz 3 --steps 3 --part x
group_of kernel_a
counts 1 '^    __syncthreads'
counts 1 '^    for \(each cell of a tile of .* and of a border of'
counts "$(in_plan "$group" forwards)" '= m[0-9]+_line[0-9]+; .* not a[0-9]+\['
counts 4 '= tile0\[cell.* not a[0-9]+\['
counts 1 '^ *tile0\[cell\] = '

record_and_plan "$bench/chain-shared" --size 3000 --steps 6
group_of scale_damp
counts "$(in_plan "$group" drops)" '/\* not stored: '
