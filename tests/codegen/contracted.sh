#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scenes of these tests with a product in every sum of their kernels: as the assembler contracts them, so must the fused
# kernels have them, whatever becomes of loads, stores and loops around them.
KFUSE_TEST_CONTRACTED=1
export KFUSE_TEST_CONTRACTED
tests='joined halo coarsening'
[ "${KFUSE_TEST_LONG:-0}" != 1 ] || tests='joined tiles block_tile halo border layers expansion coarsening'
for test in $tests; do
    "$top_builddir/tests/codegen/test_$test" >/dev/null 2>"${TMPDIR:-/tmp}/contracted.$$"
    status=$?
    said=$(grep 'products contracted' "${TMPDIR:-/tmp}/contracted.$$")
    [ $status = 0 ] || cat "${TMPDIR:-/tmp}/contracted.$$" >&2
    rm -f "${TMPDIR:-/tmp}/contracted.$$"
    [ $status != 77 ] || exit 77
    [ $status = 0 ] || exit 1
    echo "test_$test: $said"
    case $said in '' | '0 '*)
        echo "FAILED: no scene of test_$test has a product that is contracted" >&2
        exit 1
        ;;
    esac
done
