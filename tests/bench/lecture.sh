#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lecture's kernels: dependent, and independent on vectors of equal and of different sizes.
. "$top_srcdir/tests/tools/functions.sh"
fuses "$bench/lecture-shared" --size 3000 --steps 4
for size2 in 3000 5000; do
    original "$bench/lecture-shared" --size 3000 --size2 $size2 --steps 4 --form independent
    record_and_plan "$bench/lecture-shared" --size 3000 --size2 $size2 --steps 4 --form independent
    run_planned "$bench/lecture-shared" --size 3000 --size2 $size2 --steps 4 --form independent
done
