#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the driver again, with operations, blocks and warps in random order: the results of a correct program stay.
set -u
seeds='1 2'
[ "${KFUSE_TEST_LONG:-0}" != 1 ] || seeds='1 2 3 4 5'
for seed in $seeds; do
    for test in test_driver test_driver_capture test_driver_launch test_driver_memory test_driver_streams \
        test_driver_values test_driver_virtual test_handles test_streams; do
        KFUSE_EMULATOR=quiet,seed=$seed "$top_builddir/tests/emulator/$test" >/dev/null 2>"${TMPDIR:-/tmp}/driver.$$" || {
            echo "FAILED: $test with KFUSE_EMULATOR=seed=$seed" >&2
            cat "${TMPDIR:-/tmp}/driver.$$" >&2
            rm -f "${TMPDIR:-/tmp}/driver.$$"
            exit 1
        }
    done
done
rm -f "${TMPDIR:-/tmp}/driver.$$"
