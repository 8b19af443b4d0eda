/* SPDX-License-Identifier: Apache-2.0
 * The product of two vectors: a partial sum a block, which further launches add up until one is left. */
#ifndef BENCH_ROUTINES_DOT_CUH
#define BENCH_ROUTINES_DOT_CUH
#include "sums.cuh"

enum { SUM_BLOCK = 1024 };

__global__ void dot_kernel(int n, const float *x, const float *y, float *partial)
{
    float factors[VECTOR_EACH], values[VECTOR_EACH], sum = 0;
    vector_load(factors, x, n);
    vector_load(values, y, n);
    for (int j = 0; j < VECTOR_EACH; j++) sum += factors[j] * values[j];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void sum_kernel(int n, const float *x, float *partial)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? x[i] : 0);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static int dot_partials(int n)
{
    int count = blocks_for(n, VECTOR_TILE);
    return count + 2 * blocks_for(count, SUM_BLOCK);
}

/* Adds up what the blocks over n elements left at the beginning of partial. */
static void dot_finish(int n, float *partial, float *result)
{
    int count = blocks_for(n, VECTOR_TILE);
    while (count > 1) {
        int blocks = blocks_for(count, SUM_BLOCK);
        float *next = blocks == 1 ? result : partial + count;
        sum_kernel<<<blocks, SUM_BLOCK>>>(count, partial, next);
        partial = next;
        count = blocks;
    }
}

/* partial has room for dot_partials(n). */
static void dot(int n, const float *x, const float *y, float *partial, float *result)
{
    int blocks = blocks_for(n, VECTOR_TILE);
    dot_kernel<<<blocks, VECTOR_BLOCK>>>(n, x, y, blocks == 1 ? result : partial);
    dot_finish(n, partial, result);
}

#endif
