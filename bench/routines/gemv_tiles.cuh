/* SPDX-License-Identifier: Apache-2.0
 * y = alpha A x + beta y, a block a tile: each leaves a partial sum a row of its tile, and a second launch
 * adds them. */
#ifndef BENCH_ROUTINES_GEMV_TILES_CUH
#define BENCH_ROUTINES_GEMV_TILES_CUH
#include "sums.cuh"
#include "add_tiles.cuh"

__global__ void gemv_tiles_kernel(int rows, int columns, const float *a, const float *x, float *partial)
{
    int first_row = blockIdx.y * TILE + threadIdx.y, first_column = blockIdx.x * TILE + threadIdx.x;
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = first_row + k;
        float sum = 0;
        for (int j = 0; j < TILE; j += TILE_X) {
            int column = first_column + j;
            if (row < rows && column < columns) sum += a[row * columns + column] * x[column];
        }
        sum = warp_sum(sum);
        if (threadIdx.x == 0 && row < rows) partial[blockIdx.x * rows + row] = sum;
    }
}

/* partial has room for rows times tiles in a row. */
static void gemv_tiles(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                       float *y, float *partial)
{
    dim3 grid(blocks_for(columns, TILE), blocks_for(rows, TILE)), block(TILE_X, TILE_Y);
    gemv_tiles_kernel<<<grid, block>>>(rows, columns, a, x, partial);
    add_tiles(rows, grid.x, alpha, partial, beta, y);
}

#endif
