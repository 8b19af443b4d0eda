#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scenes of test_fused and test_random on a GPU: what ptxas made of fused kernels, against the originals.
KFUSE_TEST_DEVICE=gpu
export KFUSE_TEST_DEVICE
"$top_builddir/tests/codegen/test_fused" || exit $?
KFUSE_TEST_SCENES=${KFUSE_TEST_SCENES:-200} "$top_builddir/tests/codegen/test_random"
