/* SPDX-License-Identifier: Apache-2.0
 * y = alpha A' x + beta y, a block a tile: each leaves a partial sum a column of its tile, and a second
 * launch adds them. */
#ifndef BENCH_ROUTINES_GEMVT_TILES_CUH
#define BENCH_ROUTINES_GEMVT_TILES_CUH
#include "sums.cuh"
#include "add_tiles.cuh"

__global__ void gemvt_tiles_kernel(int rows, int columns, const float *a, const float *x, float *partial)
{
    __shared__ float sums[TILE_Y][TILE];
    int first_row = blockIdx.y * TILE + threadIdx.y, first_column = blockIdx.x * TILE + threadIdx.x;
    float sum[TILE_COLUMNS] = {};
    for (int k = 0; k < TILE; k += TILE_Y)
        for (int j = 0; j < TILE_COLUMNS; j++) {
            int row = first_row + k, column = first_column + j * TILE_X;
            if (row < rows && column < columns) sum[j] += a[row * columns + column] * x[row];
        }
    for (int j = 0; j < TILE_COLUMNS; j++) sums[threadIdx.y][threadIdx.x + j * TILE_X] = sum[j];
    __syncthreads();
    int i = threadIdx.y * TILE_X + threadIdx.x, column = blockIdx.x * TILE + i;
    if (i >= TILE || column >= columns) return;
    float total = 0;
    for (int y = 0; y < TILE_Y; y++) total += sums[y][i];
    partial[blockIdx.y * columns + column] = total;
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
