#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels of sides that fill ghost cells between stencils are in one group with these, the corners too, which two of them write.
. "$top_srcdir/tests/tools/functions.sh"
ghosts=$top_builddir/tests/bench/ghosts
export KFUSE_HOLD_US=10000000
plan_options=--keep-losing

# together STEP...: the step is one launch, and results are those of the program alone
for size in '61 45' '64 32' '130 9'; do
    for step in dSNWEg dWESNg dWNESd dSWd dxyd dyxg dSNWEcd dcSWg dsnwed dSNWEad; do
        # shellcheck disable=SC2086
        fuses "$ghosts" --step "$step" --size $size
        echo "$size $step: $(stat_of launches) launches, $(stat_of issued) issued"
        [ "$size" != '61 45' ] || case $step in
        *a*) ;;
        *) [ "$(stat_of issued)" -le 7 ] || {
            "$kfuse" explain "$work/app.kfplan" >&2
            fail "$step: $(stat_of issued) launches for 4 steps"
        } ;;
        esac
    done
done
