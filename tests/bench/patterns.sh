#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Neighbouring launches in many ways (patterns.cu): what must fuse does, what must not does not.
# shellcheck disable=SC2034
patterns=$top_builddir/tests/bench/patterns
table='
passed_before fused
passed_after fused
needed_between apart
on_a_stream fused
two_streams apart
two_streams_joined fused
distance fused guarded
distances fused
alias fused guarded
aliases fused
scalar fused guarded
scalars fused
block_sizes fused
planes fused
strided fused
strided_otherwise fused
host_read apart
set_between fused
copy_between fused
structs fused
integers fused
doubles fused
indexed fused
indexed_written fused
reallocated fused
mirrored fused
stencil fused
conditional fused
vectors fused
atomics fused
host_write fused
blocking_streams fused
constants any
tables fused
leaving fused
rows fused
iterated fused
wrapped fused guarded
half_floats fused
from_one any
last_element fused
block_sums fused
barriers_under_a_test any
barriers_after_leaving fused
warps_parted_at_barriers apart
warp_sums fused
warps_that_leave apart
dynamic_shared fused
much_dynamic_shared apart
within_blocks fused
within_blocks_in_place fused
blocks_of_two_shapes apart
block_votes fused
blocks_that_skip_barriers fused
blocks_that_skip_shared fused
barriers_in_both_branches fused
votes_before_leaving fused
aligned_shared fused
host_function fused
managed fused
drawn fused guarded 2
drawn fused guarded 5
drawn fused guarded 8
drawn fused guarded 16
'
. "$top_srcdir/tests/bench/check_patterns.sh"
