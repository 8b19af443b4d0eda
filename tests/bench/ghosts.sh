#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels of sides that fill ghost cells between stencils are in one group with these, the corners too, which two of them write. So are
# stencils that data keep from storing, or that store in one way or another.
. "$top_srcdir/tests/tools/functions.sh"
ghosts=$top_builddir/tests/bench/ghosts
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# together MOST STEP...: a run of 4 steps is as alone, and issues so many launches at most
together() {
    most=$1
    shift
    for step in "$@"; do
        # shellcheck disable=SC2086
        fuses "$ghosts" --step "$step" --size $size
        [ "$(stat_of issued)" -le "$most" ] || {
            "$kfuse" explain "$work/app.kfplan" >&2
            fail "$step, $size: $(stat_of issued) launches for 4 steps"
        }
    done
}
size='61 45'
together 5 md od mSNd mSNWEd oSNWEg dSNWEg dWESNg dWNESd dSWd dxyd dyxg dSNWEcd dcSWg dsnwed
together 9 mmd omd mpd mad dSNWEad
size='64 32'
together 13 mSNWEd dxyd dcSWg
size='130 9'
together 13 oSNWEd dyxg dSNWEcd
