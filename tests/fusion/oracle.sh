#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The legality test against enumeration, on KFUSE_TEST_SCENES random schedules, a share for each core (100,000 take half an hour of
# two). make check has test_check_oracle.
set -u
[ "${KFUSE_TEST_LONG:-0}" = 1 ] || exit 77
program=${top_builddir:?}/tests/fusion/test_check_oracle
cores=$(nproc) work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
count=$((${KFUSE_TEST_SCENES:-20000} / cores))
core=0
while [ "$core" -lt "$cores" ]; do
    (
        KFUSE_TEST_SCENES=$count KFUSE_TEST_SEED=$((1000 + core * count)) "$program" >"$work/$core" 2>&1
        echo $? >"$work/$core.status"
    ) &
    core=$((core + 1))
done
wait
for file in "$work"/*; do [ "${file%.status}" != "$file" ] || cat "$file"; done
[ "$(cat "$work"/*.status | sort -u)" = 0 ]
