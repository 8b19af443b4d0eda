#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the printer writes is the same program: nvcc's PTX and our print of it assemble to the same machine code.
nvcc=$CUDA_HOME/bin/nvcc ptxas=$CUDA_HOME/bin/ptxas
{ [ -x "$nvcc" ] && [ -x "$ptxas" ] && command -v objcopy >/dev/null; } || exit 77
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
failures=0

# machine_code CUBIN FILE: the bytes of its code, initialised variables and constants, with their names
machine_code() {
    readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] \(\.\(text\|nv\.constant\|nv\.global\|nv\.shared\)[^ ]*\) .*/\1/p' |
        sort >"$2"
    while read -r section; do
        objcopy -O binary --only-section="$section" --set-section-flags "$section=alloc" "$1" "$folder/section"
        echo "$section" >>"$2.bytes"
        cat "$folder/section" >>"$2.bytes"
    done <"$2"
}

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
    machine_code "$folder/$name.cubin" "$folder/$name.sections"
    machine_code "$folder/$name.printed.cubin" "$folder/$name.printed.sections"
    grep -q '^\.text' "$folder/$name.sections" || { echo "$name: no machine code to compare"; failures=1; }
    cmp "$folder/$name.sections.bytes" "$folder/$name.printed.sections.bytes" || failures=1
done
exit $failures
