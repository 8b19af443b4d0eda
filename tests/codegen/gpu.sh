#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scenes of these tests on a GPU: what ptxas made of fused kernels, against the originals. A kernel that hangs is ended
# after two minutes; all tests run, whatever becomes of one.
KFUSE_TEST_DEVICE=gpu
KFUSE_TEST_SCENES=${KFUSE_TEST_SCENES:-200}
export KFUSE_TEST_DEVICE KFUSE_TEST_SCENES
failed=0
for test in fused joined tiles block_tile halo border expansion rename parameters random; do
    timeout -k 5 120 "$top_builddir/tests/codegen/test_$test"
    status=$?
    [ $status = 77 ] && exit 77
    [ $status = 0 ] && continue
    echo "test_$test: exit status $status" >&2
    failed=1
done
exit $failed
