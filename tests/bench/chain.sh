#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A chain of eight kernels in place becomes one launch; so does one longer than the four links that repeat.
. "$top_srcdir/tests/tools/functions.sh"
fuses "$bench/chain-shared" --size 3000 --steps 6
issued=$(stat_of issued)
[ "$issued" -le 12 ] || fail "$issued launches issued for 6 chains of 8"
fuses "$bench/chain-shared" --size 1000 --steps 4 --length 11
