/* SPDX-License-Identifier: Apache-2.0
 * y = x, for vectors; and b = a, for matrices, a tile a block. */
#ifndef BENCH_ROUTINES_COPY_CUH
#define BENCH_ROUTINES_COPY_CUH
#include "sums.cuh"

__global__ void copy_kernel(int n, const float *x, float *y)
{
    float values[VECTOR_EACH];
    vector_load(values, x, n);
    vector_store(values, y, n);
}

static void copy(int n, const float *x, float *y)
{
    copy_kernel<<<blocks_for(n, VECTOR_TILE), VECTOR_BLOCK>>>(n, x, y);
}

__global__ void copy_matrix_kernel(int rows, int columns, const float *__restrict__ a, float *__restrict__ b)
{
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        float values[TILE_COLUMNS];
        tile_load(values, a, row, rows, columns);
        tile_store(values, b, row, rows, columns);
    }
}

static void copy_matrix(int rows, int columns, const float *a, float *b)
{
    dim3 grid(blocks_for(columns, TILE), blocks_for(rows, TILE)), block(TILE_X, TILE_Y);
    copy_matrix_kernel<<<grid, block>>>(rows, columns, a, b);
}

#endif
