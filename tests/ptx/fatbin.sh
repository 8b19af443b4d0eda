#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PTX is found in what nvcc really writes: every compression, several architectures, libraries, bare fatbins, PTX.
nvcc=$CUDA_HOME/bin/nvcc
[ -x "$nvcc" ] || exit 77
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
list=$top_builddir/tests/ptx/list_texts
source=$top_srcdir/tests/ptx/empty.cu
failures=0

# expect NAME EXPECTED FLAGS...: compiles with the flags, compares the list
expect() {
    name=$1 expected=$2
    shift 2
    "$nvcc" "$@" -o "$folder/$name" "$source" || { echo "$name: nvcc failed"; exit 99; }
    actual=$("$list" "$folder/$name" 2>"$folder/errors" | tr '\n' ';')
    [ "$actual" = "$expected" ] && return
    echo "$name: expected '$expected', found '$actual'"
    cat "$folder/errors"
    failures=1
}

one='sm_90 1 functions ;'
expect default "$one" -arch=sm_90
expect size "$one" -arch=sm_90 --compress-mode=size
expect speed "$one" -arch=sm_90 --compress-mode=speed
expect balance "$one" -arch=sm_90 --compress-mode=balance
expect none "$one" -arch=sm_90 --compress-mode=none
expect all "$one" -arch=sm_90 -Xfatbin -compress-all
expect two 'sm_80 1 functions ;sm_90 1 functions ;' \
    -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=[sm_90,compute_90]
expect code_only '' -gencode arch=compute_90,code=sm_90
expect library.so "$one" -arch=sm_90 -shared -Xcompiler -fPIC
expect bare.fatbin "$one" -arch=sm_90 -fatbin
expect text.ptx "$one" -arch=sm_90 -ptx
expect code.cubin '' -arch=sm_90 -cubin
"$list" "$folder/code_only" 2>&1 | grep -q 'code_only: no PTX inside' || { echo 'no advice without PTX'; failures=1; }
"$list" "$folder/missing" 2>&1 | grep -q 'missing: No such file' || { echo 'a missing file is not named'; failures=1; }
exit $failures
