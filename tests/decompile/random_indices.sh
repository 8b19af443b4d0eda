#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C of kernels with random integer arithmetic stores what they store.
INDICES_COUNT=${INDICES_COUNT:-60} INDICES_CHECK=tests/decompile/test_decompile exec "$top_srcdir/tests/analysis/random_indices.sh"
