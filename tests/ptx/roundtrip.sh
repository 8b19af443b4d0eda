#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the printer writes is the same program: nvcc's PTX and our print of it assemble to the same
# cubin, byte for byte.
nvcc=$CUDA_HOME/bin/nvcc ptxas=$CUDA_HOME/bin/ptxas
{ [ -x "$nvcc" ] && [ -x "$ptxas" ]; } || exit 77
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
failures=0

for source in "$top_srcdir"/tests/ptx/basic.cu "$top_srcdir"/tests/ptx/inline.cu "$top_srcdir"/tests/ptx/data.cu; do
    name=$(basename "$source" .cu)
    "$nvcc" -arch=sm_90 -ptx -o "$folder/$name.ptx" "$source" || exit 99
    if ! "$top_builddir/tests/ptx/print_module" "$folder/$name.ptx" >"$folder/$name.printed.ptx"; then
        echo "$name: not everything could be read"
        failures=1
    fi
    "$ptxas" -arch sm_90 -o "$folder/$name.cubin" "$folder/$name.ptx" || exit 99
    if ! "$ptxas" -arch sm_90 -o "$folder/$name.printed.cubin" "$folder/$name.printed.ptx"; then
        echo "$name: ptxas refuses what was printed"
        failures=1
        continue
    fi
    cmp "$folder/$name.cubin" "$folder/$name.printed.cubin" || failures=1
done
exit $failures
