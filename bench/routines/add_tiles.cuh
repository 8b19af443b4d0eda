/* SPDX-License-Identifier: Apache-2.0
 * y = alpha s + beta y, where s is the sum of the partial vectors that tiles left one after the other. */
#ifndef BENCH_ROUTINES_ADD_TILES_CUH
#define BENCH_ROUTINES_ADD_TILES_CUH
#include "sums.cuh"

enum { ADD_X = 32, ADD_Y = 8 };

__global__ void add_tiles_kernel(int n, int tiles, float alpha, const float *partial, float beta, float *y)
{
    __shared__ float sums[ADD_Y][ADD_X];
    int i = blockIdx.x * ADD_X + threadIdx.x;
    float sum = 0;
    if (i < n)
        for (int tile = threadIdx.y; tile < tiles; tile += ADD_Y) sum += partial[tile * n + i];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (i >= n || threadIdx.y != 0) return;
    for (int k = 1; k < ADD_Y; k++) sum += sums[k][threadIdx.x];
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
}

static void add_tiles(int n, int tiles, float alpha, const float *partial, float beta, float *y)
{
    add_tiles_kernel<<<blocks_for(n, ADD_X), dim3(ADD_X, ADD_Y)>>>(n, tiles, alpha, partial, beta, y);
}

#endif
