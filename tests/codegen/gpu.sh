#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scenes of test_fused, test_joined, test_tiles, test_block_tile and test_random on a GPU: what ptxas made of fused kernels, against the originals.
KFUSE_TEST_DEVICE=gpu
export KFUSE_TEST_DEVICE
"$top_builddir/tests/codegen/test_fused" || exit $?
"$top_builddir/tests/codegen/test_joined" || exit $?
"$top_builddir/tests/codegen/test_tiles" || exit $?
"$top_builddir/tests/codegen/test_block_tile" || exit $?
KFUSE_TEST_SCENES=${KFUSE_TEST_SCENES:-200} "$top_builddir/tests/codegen/test_random"
