#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Load images of every kind on the emulated device, and what a user is told when a kernel goes wrong.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc=$CUDA_HOME/bin/nvcc
run=$top_builddir/tests/emulator/run_image
source=$top_srcdir/tests/emulator/images.cu
unset KFUSE_EMULATOR KFUSE_LOG

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
}
# prints TEXT COMMAND...: standard output is TEXT
prints() {
    expected=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    case $(cat "$work/out") in *"$expected") ;; *) fail "no \"$expected\" from $*" ;; esac
}
says() {
    grep -q -e "$1" "$work/err" || fail "standard error does not say \"$1\""
}

"$nvcc" -arch=compute_90 -ptx -o "$work/a.ptx" "$source" || exit 77
"$nvcc" -arch=sm_90 -fatbin -o "$work/both.fatbin" "$source"
"$nvcc" -arch=sm_90 -fatbin --no-compress -o "$work/plain.fatbin" "$source"
"$nvcc" -gencode arch=compute_90,code=sm_90 -fatbin -o "$work/code.fatbin" "$source"
"$nvcc" -gencode arch=compute_100,code=compute_100 -fatbin -o "$work/newer.fatbin" "$source"
"$nvcc" -gencode arch=compute_80,code=compute_80 -gencode arch=compute_100,code=compute_100 -fatbin \
    -o "$work/mixed.fatbin" "$source"
"$nvcc" -arch=sm_90 -cubin -o "$work/a.cubin" "$source"
printf 'no image at all' >"$work/text"

for image in a.ptx both.fatbin plain.fatbin mixed.fatbin; do prints 189 "$run" "$work/$image"; done
for image in code.fatbin newer.fatbin a.cubin; do
    prints "CUDA_ERROR_NO_BINARY_FOR_GPU" "$run" "$work/$image"
    says 'module not loaded:.*PTX'
done
prints "CUDA_ERROR_INVALID_IMAGE" "$run" "$work/text"
prints "CUDA_ERROR_FILE_NOT_FOUND" "$run" "$work/missing"

prints "CUDA_ERROR_ILLEGAL_ADDRESS" "$run" "$work/a.ptx" beyond
says 'kernel beyond, block (0,0,0), thread (0,0,0).*out of bounds'
prints "CUDA_ERROR_MISALIGNED_ADDRESS" "$run" "$work/a.ptx" askew
says 'kernel askew'
prints "CUDA_ERROR_LAUNCH_FAILED" "$run" "$work/a.ptx" trapped
prints "CUDA_ERROR_LAUNCH_TIMEOUT" env KFUSE_EMULATOR=steps=100000 "$run" "$work/a.ptx" hung
says 'kernel hung'
prints 0 "$run" "$work/a.ptx" racing
test ! -s "$work/err" || fail "a race is reported unasked"
prints "CUDA_ERROR_LAUNCH_FAILED" env KFUSE_EMULATOR=races=error "$run" "$work/a.ptx" racing
says 'race: .*racing'
env KFUSE_EMULATOR=races=1 "$run" "$work/a.ptx" racing >"$work/out" 2>"$work/err" || fail "races=1 is not an error"
says 'race: .*racing'

prints "CUDA_ERROR_ILLEGAL_ADDRESS" env KFUSE_EMULATOR=quiet KFUSE_LOG="$work/log" "$run" "$work/a.ptx" beyond
test ! -s "$work/err" || fail "quiet is not quiet"
grep -q 'kfuse: emulator: kernel beyond' "$work/log" || fail "the fault is not in the log"
env KFUSE_EMULATOR=speed=3 "$run" "$work/a.ptx" >"$work/out" 2>"$work/err" || fail "an unknown option stops the program"
says '"speed=3" is not an option'
