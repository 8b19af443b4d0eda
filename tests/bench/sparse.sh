#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Loops that end by what they load, and elements that data name (sparse.cu).
# shellcheck disable=SC2034
patterns=$top_builddir/tests/bench/sparse
table='
product fused guarded
product_in_memory fused
products_beside fused guarded
rows_of_rows fused
walks fused
searches fused guarded
strides fused
firsts fused
rows_of_written apart
polls apart
gradients fused
scatters fused guarded
scatters_to_read apart
scatters_between fused guarded
scatters_and_products fused guarded
scatters_to_within apart
histograms fused guarded
powers fused guarded
sums fused guarded
sums_anywhere fused guarded
sums_of_sums apart
sums_of_blocks apart
'
. "$top_srcdir/tests/bench/check_patterns.sh"
