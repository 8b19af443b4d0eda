/* SPDX-License-Identifier: Apache-2.0
 * x = alpha x. */
#ifndef BENCH_ROUTINES_SCAL_CUH
#define BENCH_ROUTINES_SCAL_CUH
#include "sums.cuh"

__global__ void scal_kernel(int n, float alpha, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = alpha * x[i];
}

static void scal(int n, float alpha, float *x)
{
    scal_kernel<<<blocks_for(n, VECTOR_BLOCK), VECTOR_BLOCK>>>(n, alpha, x);
}

#endif
