#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# printf, assert and trap of kernels: the text that C's printf makes, when it comes out, and the errors that stay.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc=$(PATH=$CUDA_HOME/bin:$PATH command -v nvcc) || exit 77
libraries=$top_builddir/emulator/.libs
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
"$nvcc" -arch=sm_90 -cudart shared -o "$work/print" "$top_srcdir/tests/emulator/print.cu" || exit 99
run() { # ARGUMENT [SETTINGS]
    LD_LIBRARY_PATH=$libraries KFUSE_EMULATOR=${2-quiet} timeout 60 "$work/print" "$1"
}

run host >"$work/host" && run device >"$work/device" || fail "a run failed"
cmp "$work/host" "$work/device" || fail "a kernel prints: $(diff "$work/host" "$work/device")"
cat >"$work/expected" <<END
before the stream is waited for
thread 0 of 1
after
before the event is waited for
thread 0 of 2
after
before a copy
two 1 2
none
after: 2 0
END
for settings in quiet seed=1; do
    run later $settings >"$work/later"
    cmp "$work/expected" "$work/later" || fail "at these times, with $settings: $(cat "$work/later")"
done
i=0
while [ $i -lt 200 ]; do
    echo "thread $i of 200"
    i=$((i + 3))
done >"$work/expected"
run order >"$work/order"
cmp "$work/expected" "$work/order" || fail "threads print: $(cat "$work/order")"
run order seed=3 | sort -V | cmp "$work/expected" - || fail "threads print other lines with a seed"

[ "$(run assert 2>"$work/errors")" = "cudaErrorAssert cudaErrorAssert cudaErrorAssert" ] || fail "an assertion gives another error"
grep -q "print.cu:[0-9]*: void check(int): block: \[0,0,0\], thread: \[3,0,0\] Assertion \`threadIdx.x < n\` failed.\$" \
    "$work/errors" || fail "an assertion says: $(cat "$work/errors")"
[ "$(run trap 2>/dev/null)" = "cudaErrorLaunchFailure cudaErrorLaunchFailure cudaErrorLaunchFailure" ] || fail "a trap gives another error"
