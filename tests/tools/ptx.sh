#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kfuse ptx on executables, PTX text and a fatbin: the list, one kernel's relations, and what it refuses.
. "$top_srcdir/tests/tools/functions.sh"
nvcc=$CUDA_HOME/bin/nvcc
source=$top_srcdir/bench/vadd.cu
row='_Z6add_toPfPKfi: u64[0,8) u64[8,16) u32[16,20)'

"$nvcc" -arch=sm_90 -ptx -o "$work/vadd.ptx" "$source" || fail nvcc
"$nvcc" -arch=sm_90 -fatbin -o "$work/vadd.fatbin" "$source" || fail nvcc
"$nvcc" -arch=sm_90 -cubin -o "$work/vadd.cubin" "$source" || fail nvcc
for file in "$bench/vadd" "$bench/vadd-shared" "$work/vadd.ptx" "$work/vadd.fatbin"; do
    expect 0 "$kfuse" ptx --list "$file"
    says "$row" "$work/out"
done

# 3 blocks of 32 threads on 70 elements: the last 26 threads do nothing
expect 0 "$kfuse" ptx -k _Z6add_toPfPKfi -g 3 -b 32 -p 0 -p 8 \
    -a 0000000000000000000000000000000046000000 "$work/vadd.ptx"
says 'grid 3 1 1, block 32 1 1' "$work/out"
says 'depends on argument bytes [16, 20)' "$work/out"
says 'base argument+8: read, bytes [0, 280)' "$work/out"
says 'base argument+0: read and written, bytes [0, 280)' "$work/out"

expect 1 "$kfuse" ptx -k none "$work/vadd.ptx"
says "no such kernel; 'kfuse ptx --list $work/vadd.ptx' names them"
expect 1 "$kfuse" ptx -k _Z6add_toPfPKfi -a 00 "$work/vadd.ptx"
says 'takes 20 bytes of parameters: give 40 hexadecimal digits to --args'
for file in "$work/vadd.cubin" "$kfuse"; do
    expect 1 "$kfuse" ptx "$file"
    says "$file: no PTX inside"
    says 'nvcc -arch=sm_'
done
expect 1 "$kfuse" ptx "$work/none"
says "$work/none: No such file or directory"
expect 1 "$kfuse" ptx "$source"
says "$source:"
expect 2 "$kfuse" ptx -g 0 "$work/vadd.ptx"
says '0: not a grid'
expect 2 "$kfuse" ptx
