#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An executable without PTX: the command runs it as it is, and plan tells which flag is missing.
. "$top_srcdir/tests/tools/functions.sh"
nvcc=$CUDA_HOME/bin/nvcc
"$nvcc" -gencode arch=compute_90,code=sm_90 -cudart shared -o "$work/app" "$top_srcdir/bench/vadd.cu" || exit 77
original "$work/app" --size 300 --steps 4
same_as_original "$kfuse" record --emulate -o "$work/app.kftrace" -- "$work/app" --size 300 --steps 4
"$kfuse" plan -o "$work/app.kfplan" "$work/app.kftrace" >"$work/said" 2>&1
says PTX "$work/said"
says '-arch=sm_' "$work/said"
expect 1 "$kfuse" ptx "$work/app"
says "$work/app: no PTX inside"
