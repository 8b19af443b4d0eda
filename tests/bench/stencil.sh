#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stencils on structured grids, whose arrays swap or turn; a wave with damping in place; a plane as a line of threads.
. "$top_srcdir/tests/tools/functions.sh"
stencil=$bench/stencil-shared
fuses "$stencil" --form jacobi --size 256 --steps 24
[ "$(stat_of issued)" -le 8 ] || fail "$(stat_of issued) launches issued of $(stat_of launches)"
fuses "$stencil" --form jacobi --size 256 --steps 24 --flat
fuses "$stencil" --form wave --size 20 --steps 12
fuses "$stencil" --form pair --size 20 --steps 6
fuses "$stencil" --form advect --size 96 --steps 8
[ "$(stat_of issued)" -le 16 ] || fail "$(stat_of issued) launches issued of $(stat_of launches)"

# Updates in place, with a border kernel between them: no other group takes the launches of the one that gains most.
export KFUSE_HOLD_US=10000000
set -- "$stencil" --form ring --size 2048 --steps 8
original "$@"
record_and_plan "$@"
run_planned "$@"
[ "$(stat_of renamed) $(stat_of restores)" = '8 0' ] || fail "$(stat_of renamed) uses with second buffers, $(stat_of restores) restores"
