#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels of thousands of instructions in a straight line, in which any number of them could become one that the compiler needs
# minutes for: the bound on planning holds all the same, and the plan says what was cut.
. "$top_srcdir/tests/tools/functions.sh"
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || exit 77
awk -v kernels=6 -v lines=700 'BEGIN {
    srand(1)
    print "#include <cuda_runtime.h>"
    for (k = 0; k < kernels; k++) {
        printf "__global__ void rate%d(int n, const double *y, double *w)\n{\n", k
        print "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;"
        for (v = 0; v < 6; v++) printf "double v%d = y[%d * n + i];\n", v, v
        for (; v < lines; v++) {
            a = v - 1; b = v - 1 - int(rand() * 5); c = v - 1 - int(rand() * 5)
            printf "double v%d = v%d * v%d + v%d / (v%d + %f);\n", v, a, b, c, b, 1 + rand()
        }
        printf "w[%d * n + i] = v%d;\n}\n", k, v - 1
    }
    print "int main(void)\n{\ndouble *y, *w;\nint n = 1024;"
    print "cudaMalloc(&y, 6 * n * sizeof *y);\ncudaMalloc(&w, 6 * n * sizeof *w);\ncudaMemset(y, 0, 6 * n * sizeof *y);"
    for (k = 0; k < kernels; k++) printf "rate%d<<<n / 128, 128>>>(n, y, w);\n", k
    print "return cudaDeviceSynchronize();\n}"
}' >"$work/straight.cu"
"$nvcc" -cudart shared -arch=sm_90 -o "$work/straight" "$work/straight.cu" 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 within "$kfuse" record $emulate -o "$work/app.kftrace" -- "$work/straight"
before=$(date +%s)
expect 0 within "$kfuse" plan --keep-losing --seconds 8 -o "$work/app.kfplan" "$work/app.kftrace"
took=$(($(date +%s) - before))
[ $took -le 11 ] || fail "$took seconds, not 8"
says '8 seconds were too few: cut short while' "$work/out"
grep -q '"out_of_time": \[$' "$work/app.kfplan/plan.json" || fail "plan.json does not say that time was over"
