#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shallow water on the emulator: recorded, planned and run with fewer launches and the same results.
. "$top_srcdir/tests/tools/functions.sh"
fuses "$bench/shallow-shared" --size 32 --steps 6
[ "$(stat_of launches)" = 18 ] || fail "$(stat_of launches) launches seen, not 18"
