/* SPDX-License-Identifier: Apache-2.0
 * C = A B', where A is m times k and B is n times k: a block computes a tile of C, a thread 8 times 8
 * elements of it. The next 8 columns of A and B are fetched while those in shared memory are multiplied. */
#ifndef BENCH_ROUTINES_GEMM_CUH
#define BENCH_ROUTINES_GEMM_CUH
#include "sums.cuh"

enum {
    GEMM_BLOCK = 16,               /* threads along a side of a block */
    GEMM_SIDE = TILE / GEMM_BLOCK, /* elements of a thread along a side */
    GEMM_DEPTH = 8,                /* columns of A and B at once */
    GEMM_THREADS = GEMM_BLOCK * GEMM_BLOCK,
    GEMM_ROWS = GEMM_THREADS / GEMM_DEPTH, /* rows that a block fetches at once */
    GEMM_FETCHES = TILE / GEMM_ROWS,
    GEMM_PITCH = TILE + 4, /* of shared memory, so that a warp's stores meet no bank twice */
};
struct gemm_tile {
    float a[GEMM_DEPTH][GEMM_PITCH], b[GEMM_DEPTH][GEMM_PITCH];
};

/* This thread's elements of the tile's rows and the columns from first on; outside of the matrix they are 0.
 */
__device__ static void gemm_fetch(float *fetched, const float *a, int first_row, int rows, int first,
                                  int depth)
{
    int thread = threadIdx.y * GEMM_BLOCK + threadIdx.x, column = first + thread % GEMM_DEPTH;
    for (int i = 0; i < GEMM_FETCHES; i++) {
        int row = first_row + thread / GEMM_DEPTH + i * GEMM_ROWS;
        fetched[i] = row < rows && column < depth ? a[row * depth + column] : 0;
    }
}

__device__ static void gemm_put(float (*tile)[GEMM_PITCH], const float *fetched)
{
    int thread = threadIdx.y * GEMM_BLOCK + threadIdx.x;
    for (int i = 0; i < GEMM_FETCHES; i++)
        tile[thread % GEMM_DEPTH][thread / GEMM_DEPTH + i * GEMM_ROWS] = fetched[i];
}

/* A thread's rows are next to each other, its columns are GEMM_BLOCK apart. */
__device__ static void gemm_multiply(float (*c)[GEMM_SIDE], const struct gemm_tile *tile)
{
#pragma unroll
    for (int k = 0; k < GEMM_DEPTH; k++) {
        float a[GEMM_SIDE], b[GEMM_SIDE];
        for (int i = 0; i < GEMM_SIDE; i++) a[i] = tile->a[k][threadIdx.y * GEMM_SIDE + i];
        for (int j = 0; j < GEMM_SIDE; j++) b[j] = tile->b[k][threadIdx.x + j * GEMM_BLOCK];
        for (int i = 0; i < GEMM_SIDE; i++)
            for (int j = 0; j < GEMM_SIDE; j++) c[i][j] += a[i] * b[j];
    }
}

/* Adds up the elements of this thread; all of a block call it. */
__device__ static void gemm_elements(int m, int n, int k, const float *a, const float *b,
                                     float (*c)[GEMM_SIDE])
{
    __shared__ struct gemm_tile tiles[2];
    float next_a[GEMM_FETCHES], next_b[GEMM_FETCHES];
    int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE, at = 0;
    gemm_fetch(next_a, a, first_row, m, 0, k);
    gemm_fetch(next_b, b, first_column, n, 0, k);
    for (int next = GEMM_DEPTH;; next += GEMM_DEPTH, at = !at) {
        gemm_put(tiles[at].a, next_a);
        gemm_put(tiles[at].b, next_b);
        __syncthreads();
        if (next < k) {
            gemm_fetch(next_a, a, first_row, m, next, k);
            gemm_fetch(next_b, b, first_column, n, next, k);
        }
        gemm_multiply(c, &tiles[at]);
        if (next >= k) break;
    }
}

/* Of a thread's elements. */
__device__ static int gemm_row(int i)
{
    return blockIdx.y * TILE + threadIdx.y * GEMM_SIDE + i;
}

__device__ static int gemm_column(int j)
{
    return blockIdx.x * TILE + threadIdx.x + j * GEMM_BLOCK;
}

/* Row i of a thread's elements. */
__device__ static void gemm_load_row(int m, int n, const float *c, int i, float *elements)
{
    for (int j = 0; j < GEMM_SIDE; j++)
        elements[j] = gemm_row(i) < m && gemm_column(j) < n ? c[gemm_row(i) * n + gemm_column(j)] : 0;
}

__device__ static void gemm_store_row(int m, int n, const float *elements, int i, float *c)
{
    for (int j = 0; j < GEMM_SIDE; j++)
        if (gemm_row(i) < m && gemm_column(j) < n) c[gemm_row(i) * n + gemm_column(j)] = elements[j];
}

__global__ void __launch_bounds__(GEMM_THREADS, 2)
    gemm_kernel(int m, int n, int k, const float *__restrict__ a, const float *__restrict__ b,
                float *__restrict__ c)
{
    float elements[GEMM_SIDE][GEMM_SIDE] = {};
    gemm_elements(m, n, k, a, b, elements);
#pragma unroll
    for (int i = 0; i < GEMM_SIDE; i++) gemm_store_row(m, n, elements[i], i, c);
}

static void gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    dim3 grid(blocks_for(n, TILE), blocks_for(m, TILE)), block(GEMM_BLOCK, GEMM_BLOCK);
    gemm_kernel<<<grid, block>>>(m, n, k, a, b, c);
}

#endif
