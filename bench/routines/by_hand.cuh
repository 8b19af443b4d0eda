/* SPDX-License-Identifier: Apache-2.0
 * Sequences of routines fused by hand, each operation in the order in which the routines have it. */
#ifndef BENCH_ROUTINES_BY_HAND_CUH
#define BENCH_ROUTINES_BY_HAND_CUH
#include "gemvt_tiles.cuh"

__global__ void hand_axpydot(int n, float alpha, const float *w, const float *v, const float *u, float *z,
                             float *partial)
{
    float added[VECTOR_EACH], values[VECTOR_EACH], factors[VECTOR_EACH], sum = 0;
    vector_load(added, v, n);
    vector_load(values, w, n);
    vector_load(factors, u, n);
    for (int j = 0; j < VECTOR_EACH; j++) {
        values[j] = alpha * added[j] + values[j];
        sum += values[j] * factors[j];
    }
    vector_store(values, z, n);
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void hand_add(int n, const float *a, const float *b, float *sum)
{
    float values[VECTOR_EACH], added[VECTOR_EACH];
    vector_load(values, a, n);
    vector_load(added, b, n);
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = values[j] + added[j];
    vector_store(values, sum, n);
}

__global__ void hand_add_three(int n, const float *w, const float *y, const float *z, float *x)
{
    float values[VECTOR_EACH], second[VECTOR_EACH], third[VECTOR_EACH];
    vector_load(values, w, n);
    vector_load(second, y, n);
    vector_load(third, z, n);
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = (values[j] + second[j]) + third[j];
    vector_store(values, x, n);
}

__global__ void hand_waxpby(int n, float alpha, const float *x, float beta, const float *y, float *w)
{
    float values[VECTOR_EACH], added[VECTOR_EACH];
    vector_load(values, x, n);
    vector_load(added, y, n);
    for (int j = 0; j < VECTOR_EACH; j++) values[j] = fmaf(beta, added[j], alpha * values[j]);
    vector_store(values, w, n);
}

/* Partial sums of q = A p a row of tiles, and of s = A' r a column of tiles. */
__global__ void hand_bicgk(int rows, int columns, const float *__restrict__ a, const float *__restrict__ p,
                           const float *__restrict__ r, float *__restrict__ partial_q,
                           float *__restrict__ partial_s)
{
    float factors[TILE_COLUMNS], sum[TILE_COLUMNS] = {};
    tile_load(factors, p, 0, 1, columns);
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        float values[TILE_COLUMNS], factor = row < rows ? r[row] : 0, row_sum = 0;
        tile_load(values, a, row, rows, columns);
        for (int j = 0; j < TILE_COLUMNS; j++) {
            row_sum += values[j] * factors[j];
            sum[j] += values[j] * factor;
        }
        row_sum = warp_sum(row_sum);
        if (threadIdx.x == 0 && row < rows) partial_q[blockIdx.x * rows + row] = row_sum;
    }
    add_columns(sum, columns, partial_s);
}

/* B = A + u1 v1' + u2 v2', and partial sums of B' y a column of tiles. */
__global__ void hand_gemver(int rows, int columns, const float *__restrict__ a, const float *__restrict__ u1,
                            const float *__restrict__ v1, const float *__restrict__ u2,
                            const float *__restrict__ v2, const float *__restrict__ y, float *__restrict__ b,
                            float *__restrict__ partial)
{
    float factors1[TILE_COLUMNS], factors2[TILE_COLUMNS], sum[TILE_COLUMNS] = {};
    tile_load(factors1, v1, 0, 1, columns);
    tile_load(factors2, v2, 0, 1, columns);
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = blockIdx.y * TILE + threadIdx.y + k;
        bool inside = row < rows;
        float values[TILE_COLUMNS], factor = inside ? y[row] : 0;
        float factor1 = inside ? u1[row] : 0, factor2 = inside ? u2[row] : 0;
        tile_load(values, a, row, rows, columns);
        for (int j = 0; j < TILE_COLUMNS; j++) {
            values[j] += factor1 * factors1[j];
            values[j] += factor2 * factors2[j];
            sum[j] += values[j] * factor;
        }
        tile_store(values, b, row, rows, columns);
    }
    add_columns(sum, columns, partial);
}

/* y = alpha A x + beta B x, a warp a row */
__global__ void hand_gesummv(int rows, int columns, float alpha, const float *a, float beta, const float *b,
                             const float *x, float *y)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum_a = 0, sum_b = 0;
    for (int column = threadIdx.x; column < columns; column += 32) {
        sum_a += a[row * columns + column] * x[column];
        sum_b += b[row * columns + column] * x[column];
    }
    sum_a = warp_sum(sum_a);
    sum_b = warp_sum(sum_b);
    if (threadIdx.x == 0) y[row] = beta * sum_b + alpha * sum_a;
}

#endif
