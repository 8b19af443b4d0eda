/* SPDX-License-Identifier: Apache-2.0
 * a = alpha x y' + a, a tile a block. */
#ifndef BENCH_ROUTINES_GER_CUH
#define BENCH_ROUTINES_GER_CUH
#include "sums.cuh"

__global__ void ger_kernel(int rows, int columns, float alpha, const float *__restrict__ x,
                           const float *__restrict__ y, float *__restrict__ a)
{
    float factors[TILE_COLUMNS];
    tile_load(factors, y, 0, 1, columns);
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        float values[TILE_COLUMNS], factor = alpha * (row < rows ? x[row] : 0);
        tile_load(values, a, row, rows, columns);
        for (int j = 0; j < TILE_COLUMNS; j++) values[j] += factor * factors[j];
        tile_store(values, a, row, rows, columns);
    }
}

static void ger(int rows, int columns, float alpha, const float *x, const float *y, float *a)
{
    dim3 grid(blocks_for(columns, TILE), blocks_for(rows, TILE)), block(TILE_X, TILE_Y);
    ger_kernel<<<grid, block>>>(rows, columns, alpha, x, y, a);
}

#endif
