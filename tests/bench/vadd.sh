#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Both vector additions on the emulator; the last block is not full. A plan holds the source of each group.
. "$top_srcdir/tests/tools/functions.sh"
for form in inplace temporary; do
    fuses "$bench/vadd-shared" --size 5000 --steps 4 --form $form
    ls "$work/app.kfplan"/group-*.cu >/dev/null || fail "no source of the group"
done
