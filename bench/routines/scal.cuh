/* SPDX-License-Identifier: Apache-2.0
 * x = alpha x. */
#ifndef BENCH_ROUTINES_SCAL_CUH
#define BENCH_ROUTINES_SCAL_CUH
#include "sums.cuh"

__global__ void scal_kernel(int n, float alpha, float *x)
{
    float values[VECTOR_EACH];
    vector_load(values, x, n);
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = alpha * values[j];
    vector_store(values, x, n);
}

static void scal(int n, float alpha, float *x)
{
    scal_kernel<<<blocks_for(n, VECTOR_TILE), VECTOR_BLOCK>>>(n, alpha, x);
}

#endif
