/* SPDX-License-Identifier: Apache-2.0
 * What the routines of this folder share: sums over a warp and over a block, and the tiles into which those
 * that add up parts of a matrix divide it. Matrices are stored row by row. */
#ifndef BENCH_ROUTINES_SUMS_CUH
#define BENCH_ROUTINES_SUMS_CUH

enum {
    VECTOR_BLOCK = 256, /* threads of a block that works on VECTOR_TILE elements of vectors */
    VECTOR_EACH = 4,
    VECTOR_TILE = VECTOR_BLOCK * VECTOR_EACH,
    TILE = 128,         /* rows and columns of a tile */
    TILE_X = 32,        /* the block that works on a tile: a warp takes a row of it, */
    TILE_Y = 8,         /* and so many rows at once */
    TILE_COLUMNS = TILE / TILE_X,
};

static int blocks_for(int n, int block)
{
    return (n - 1) / block + 1;
}

/* In the first lane: the sum over the warp. */
__device__ static float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

/* In the first thread: the sum over a block of one dimension, whose threads all call it. */
__device__ static float block_sum(float value)
{
    __shared__ float sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_sum(value);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0);
    return value;
}

/* A thread's part of its block's elements of a vector, VECTOR_BLOCK apart. What lies beyond the end is 0, and
 * not stored. */
__device__ static int vector_element(int j)
{
    return blockIdx.x * VECTOR_TILE + threadIdx.x + j * VECTOR_BLOCK;
}

__device__ static void vector_load(float *values, const float *x, int n)
{
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = vector_element(j) < n ? x[vector_element(j)] : 0;
}

__device__ static void vector_store(const float *values, float *x, int n)
{
    for (int j = 0; j < VECTOR_EACH; j++)
        if (vector_element(j) < n) x[vector_element(j)] = values[j];
}

/* A thread's part of a row of its block's tile: columns TILE_X apart. What lies outside of the matrix is 0,
 * and not stored. */
__device__ static int tile_column(int j)
{
    return blockIdx.x * TILE + threadIdx.x + j * TILE_X;
}

__device__ static void tile_load(float *values, const float *a, int row, int rows, int columns)
{
    for (int j = 0; j < TILE_COLUMNS; j++)
        values[j] = row < rows && tile_column(j) < columns ? a[row * columns + tile_column(j)] : 0;
}

__device__ static void tile_store(const float *values, float *a, int row, int rows, int columns)
{
    for (int j = 0; j < TILE_COLUMNS; j++)
        if (row < rows && tile_column(j) < columns) a[row * columns + tile_column(j)] = values[j];
}

#endif
