/* SPDX-License-Identifier: Apache-2.0
 * y = alpha x + y. */
#ifndef BENCH_ROUTINES_AXPY_CUH
#define BENCH_ROUTINES_AXPY_CUH
#include "sums.cuh"

__global__ void axpy_kernel(int n, float alpha, const float *x, float *y)
{
    float added[VECTOR_EACH], values[VECTOR_EACH];
    vector_load(added, x, n);
    vector_load(values, y, n);
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = alpha * added[j] + values[j];
    vector_store(values, y, n);
}

static void axpy(int n, float alpha, const float *x, float *y)
{
    axpy_kernel<<<blocks_for(n, VECTOR_TILE), VECTOR_BLOCK>>>(n, alpha, x, y);
}

#endif
