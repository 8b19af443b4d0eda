#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program built with nvcc -cudart shared runs on the emulator's two libraries and prints what it must, with either
# meaning of the default stream; without a driver it gets an error, not an end.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CUDA_HOME:=/usr/local/cuda}"
libraries=$top_builddir/emulator/.libs
source=$top_srcdir/tests/emulator/cudart_calls
nvcc=$(PATH=$CUDA_HOME/bin:$PATH command -v nvcc) || { echo "no nvcc" >&2; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "cudart_programs.sh: $*" >&2; failures=$((failures + 1)); }

for mode in legacy per-thread; do
    "$nvcc" -arch=sm_90 -cudart shared --default-stream $mode -o "$work/$mode" "$source.cu" || exit 99
    LD_LIBRARY_PATH=$libraries KFUSE_LOG=$work/log timeout 120 "$work/$mode" >"$work/$mode.out" 2>"$work/$mode.err"
    status=$?
    [ $status = 0 ] || fail "$mode: exit status $status: $(cat "$work/$mode.err")"
    diff "$source.txt" "$work/$mode.out" >&2 || fail "$mode: prints something else"
    said=$(grep -c "cudaMallocArray is not supported" "$work/log")
    [ "$said" = 1 ] || fail "$mode: an unsupported call is named $said times in the log, not once"
    rm -f "$work/log"
done

# With the runtime alone, where no driver is installed either.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 '; then
    mkdir "$work/alone"
    cp "$libraries/libcudart.so.13" "$work/alone/"
    LD_LIBRARY_PATH=$work/alone timeout 60 "$work/legacy" >"$work/alone.out"
    [ $? = 1 ] || fail "without a driver the program does not get to its own error path"
    [ "$(grep -c ": 35 cudaErrorInsufficientDriver$" "$work/alone.out")" = 2 ] || fail "without a driver: $(cat "$work/alone.out")"
fi
[ $failures = 0 ]
