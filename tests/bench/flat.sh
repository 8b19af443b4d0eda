#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stencils by lines of threads over the rows of an array: kernels that read each other's neighbours become one, over tiles of rows
# and columns, whatever the row's length, and wherever the last block ends.
. "$top_srcdir/tests/tools/functions.sh"
flat=$top_builddir/tests/bench/flat
plan_options="--keep-losing"
for options in "--kind 1" "--kind 1 --nx 128 --ny 33 --threads 96" "--kind 2" "--kind 2 --nx 77 --threads 256" \
    "--kind 3 --nx 37 --ny 23 --nz 9" "--kind 4" "--kind 4 --nx 84 --ny 31 --threads 192"; do
    # shellcheck disable=SC2086
    fuses "$flat" --steps 3 $options
    grep -q '"fusion": "halo"' "$work/app.kfplan/plan.json" || fail "$options: no halo fusion"
    grep -q 'line of threads is cut in' "$work/app.kfplan/plan.json" || fail "$options: no rows"
    # shellcheck disable=SC2086
    run_options=--verify run_planned "$flat" --steps 3 $options
    if awk '$1 == "verified" && $6 > 0' "$work/stats" | grep .; then fail "$options: other results"; fi
done
