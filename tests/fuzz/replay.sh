#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every seed, and every input that once broke a reader, is read without a crash, a hang or much memory; the replay itself
# notices what aborts.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
failures=0
for reader in ptx fatbin cubin trace plan measured analysis; do
    inputs=()
    for folder in seeds crashes; do
        [ -d "$top_srcdir/tests/fuzz/$folder/$reader" ] && inputs+=("$top_srcdir/tests/fuzz/$folder/$reader")
    done
    [ ${#inputs[@]} -gt 0 ] || { echo "$reader: no inputs"; failures=1; }
    printf '%s: ' "$reader"
    "$top_builddir/tests/fuzz/replay_$reader" "${inputs[@]}" || { echo "$reader: FAILED"; failures=1; }
done
exit $failures
