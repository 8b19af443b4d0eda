#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Members that use variables and constants of the program's modules, or call functions (reach.cu).
# shellcheck disable=SC2034
patterns=$top_builddir/tests/bench/reach
table='
constants fused
constants_set_between fused
constants_drawn fused
variables fused guarded
variables_of_neighbours fused
counters fused
vectors fused guarded
addresses fused guarded
constants_by_pointer fused guarded
constants_as_values apart
places_in_variables fused guarded
halves fused guarded
narrow fused guarded
local_arrays fused guarded
gathers fused guarded
gathers_beside_writes fused guarded
gathers_of_written apart
gathers_from_within apart
lists fused guarded
calls fused guarded
calls_with_bytes fused guarded
calls_of_mathematics fused guarded
managed apart
'
. "$top_srcdir/tests/bench/check_patterns.sh"
