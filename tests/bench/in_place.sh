#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An array that a group renames, and launches between its uses: they go on with the second buffer where all that they touch is known
# and their pointers are addresses alone. What they write beside the uses is there in both buffers, and nobody sees the fluxes stale.
. "$top_srcdir/tests/tools/functions.sh"
in_place=$top_builddir/tests/bench/in_place
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# runs ARGUMENT...: under the plan
runs() {
    original "$in_place" "$@"
    [ "$(cat "$work/original.status")" = 0 ] || fail "the program itself fails: $*"
    run_planned "$in_place" "$@"
}
# counts RENAMED RESTORES MIRRORED REDIRECTED STALE PAID: of the last run
counts() {
    is="$(stat_of renamed) $(stat_of restores) $(stat_of mirrored) $(stat_of redirected) $(stat_of stale) $(stat_of paid)"
    [ "$is" = "$*" ] || fail "renamed, restores, mirrored, redirected, stale, paid: $is, not $*"
}
# recorded LETTERS COUNT...
recorded() {
    between=$1
    shift
    record_and_plan "$in_place" --between "$between"
    for KFUSE_SPOIL_STALE in 0 1; do
        export KFUSE_SPOIL_STALE
        runs --between "$between"
        counts "$@"
    done
    unset KFUSE_SPOIL_STALE
}

recorded s 8 0 21 12 8 1 # a row that is written through the one pointer, and read through the other
recorded D 8 0 21 8 8 1  # a copy
recorded z 8 0 21 8 8 1  # a set
recorded f 8 2 2 27 1 1  # what is stale is read
recorded h 8 8 16 8 3 3  # the host looks
recorded t 8 8 0 0 0 0   # another stream may have something to do with it
for letters in k i I g pk ip pI v vp pv; do # pointers that are looked at, one that goes anywhere, and one that moves on
    record_and_plan "$in_place" --between $letters
    runs --between $letters
done

# a range cannot be widened over what members touch
record_and_plan "$in_place" --together --between Bp
runs --together --between Bp

# what was not recorded comes in between
recorded p 8 0 21 8 8 1
for letters in c p P f q g k i I s o b h H d D z w e t cP Hc zc oc kP pp; do
    for KFUSE_SPOIL_STALE in 0 1; do
        export KFUSE_SPOIL_STALE
        runs --between p --then $letters
        case $letters in
        t) [ "$(stat_of redirected)" = 0 ] || fail 'redirected beside another stream' ;;
        p | pp) ;;
        *) [ "$(stat_of restores)$(stat_of paid)" != 01 ] || fail "$letters: nothing was restored, or made again" ;;
        esac
    done
done
run_options=--verify=3 runs --between p
