/* SPDX-License-Identifier: Apache-2.0
 * y = alpha A x + beta y, a block a tile: each leaves a partial sum a row of its tile, and a second launch
 * adds them. */
#ifndef BENCH_ROUTINES_GEMV_TILES_CUH
#define BENCH_ROUTINES_GEMV_TILES_CUH
#include "sums.cuh"
#include "add_tiles.cuh"

__global__ void gemv_tiles_kernel(int rows, int columns, const float *__restrict__ a,
                                  const float *__restrict__ x, float *__restrict__ partial)
{
    float factors[TILE_COLUMNS];
    tile_load(factors, x, 0, 1, columns);
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        float values[TILE_COLUMNS], sum = 0;
        tile_load(values, a, row, rows, columns);
        for (int j = 0; j < TILE_COLUMNS; j++) sum += values[j] * factors[j];
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
