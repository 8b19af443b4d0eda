/* SPDX-License-Identifier: Apache-2.0
 * y = alpha A' x + beta y, a block a tile: each leaves a partial sum a column of its tile, and a second
 * launch adds them. */
#ifndef BENCH_ROUTINES_GEMVT_TILES_CUH
#define BENCH_ROUTINES_GEMVT_TILES_CUH
#include "sums.cuh"
#include "add_tiles.cuh"

/* Partial sums of the tile's columns, from those that each thread has of its own. */
__device__ static void add_columns(const float *sum, int columns, float *partial)
{
    __shared__ float sums[TILE_Y][TILE];
    for (int j = 0; j < TILE_COLUMNS; j++) sums[threadIdx.y][threadIdx.x + j * TILE_X] = sum[j];
    __syncthreads();
    int i = threadIdx.y * TILE_X + threadIdx.x, column = blockIdx.x * TILE + i;
    if (i >= TILE || column >= columns) return;
    float total = 0;
    for (int y = 0; y < TILE_Y; y++) total += sums[y][i];
    partial[blockIdx.y * columns + column] = total;
}

__global__ void gemvt_tiles_kernel(int rows, int columns, const float *__restrict__ a,
                                   const float *__restrict__ x, float *__restrict__ partial)
{
    float sum[TILE_COLUMNS] = {};
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        float values[TILE_COLUMNS], factor = row < rows ? x[row] : 0;
        tile_load(values, a, row, rows, columns);
        for (int j = 0; j < TILE_COLUMNS; j++) sum[j] += values[j] * factor;
    }
    add_columns(sum, columns, partial);
}

/* partial has room for columns times tiles in a column. */
static void gemvt_tiles(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                        float *y, float *partial)
{
    dim3 grid(blocks_for(columns, TILE), blocks_for(rows, TILE)), block(TILE_X, TILE_Y);
    gemvt_tiles_kernel<<<grid, block>>>(rows, columns, a, x, partial);
    add_tiles(columns, grid.y, alpha, partial, beta, y);
}

#endif
