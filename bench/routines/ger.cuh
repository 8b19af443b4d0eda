/* SPDX-License-Identifier: Apache-2.0
 * a = alpha x y' + a, a tile a block. */
#ifndef BENCH_ROUTINES_GER_CUH
#define BENCH_ROUTINES_GER_CUH
#include "sums.cuh"

__global__ void ger_kernel(int rows, int columns, float alpha, const float *x, const float *y, float *a)
{
    int first_row = blockIdx.y * TILE + threadIdx.y, first_column = blockIdx.x * TILE + threadIdx.x;
    for (int k = 0; k < TILE; k += TILE_Y)
        for (int j = 0; j < TILE; j += TILE_X) {
            int row = first_row + k, column = first_column + j;
            if (row < rows && column < columns)
                a[row * columns + column] = alpha * x[row] * y[column] + a[row * columns + column];
        }
}

static void ger(int rows, int columns, float alpha, const float *x, const float *y, float *a)
{
    dim3 grid(blocks_for(columns, TILE), blocks_for(rows, TILE)), block(TILE_X, TILE_Y);
    ger_kernel<<<grid, block>>>(rows, columns, alpha, x, y, a);
}

#endif
