#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_driver again, with operations, blocks and warps in random order: the results of a correct program stay.
set -u
for seed in 1 2 3 4 5; do
    KFUSE_EMULATOR=quiet,seed=$seed "$top_builddir/tests/emulator/test_driver" >/dev/null 2>"${TMPDIR:-/tmp}/driver.$$" || {
        echo "FAILED with KFUSE_EMULATOR=seed=$seed" >&2
        cat "${TMPDIR:-/tmp}/driver.$$" >&2
        rm -f "${TMPDIR:-/tmp}/driver.$$"
        exit 1
    }
done
rm -f "${TMPDIR:-/tmp}/driver.$$"
