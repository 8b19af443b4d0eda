/* SPDX-License-Identifier: Apache-2.0
 * y = alpha x + y. */
#ifndef BENCH_ROUTINES_AXPY_CUH
#define BENCH_ROUTINES_AXPY_CUH
#include "sums.cuh"

__global__ void axpy_kernel(int n, float alpha, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = alpha * x[i] + y[i];
}

static void axpy(int n, float alpha, const float *x, float *y)
{
    axpy_kernel<<<blocks_for(n, VECTOR_BLOCK), VECTOR_BLOCK>>>(n, alpha, x, y);
}

#endif
