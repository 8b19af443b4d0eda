/* SPDX-License-Identifier: Apache-2.0
 * Sequences of routines fused by hand, each operation in the order in which the routines have it. */
#ifndef BENCH_ROUTINES_BY_HAND_CUH
#define BENCH_ROUTINES_BY_HAND_CUH
#include "sums.cuh"

__global__ void hand_axpydot(int n, float alpha, const float *w, const float *v, const float *u, float *z,
                             float *partial)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float product = 0;
    if (i < n) {
        float value = alpha * v[i] + w[i];
        z[i] = value;
        product = value * u[i];
    }
    float sum = block_sum(product);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void hand_add(int n, const float *a, const float *b, float *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

__global__ void hand_add_three(int n, const float *w, const float *y, const float *z, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (w[i] + y[i]) + z[i];
}

__global__ void hand_waxpby(int n, float alpha, const float *x, float beta, const float *y, float *w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = fmaf(beta, y[i], alpha * x[i]);
}

/* Partial sums of q = A p a row of tiles, and of s = A' r a column of tiles. */
__global__ void hand_bicgk(int rows, int columns, const float *a, const float *p, const float *r,
                           float *partial_q, float *partial_s)
{
    __shared__ float sums[TILE_Y][TILE];
    int first_row = blockIdx.y * TILE + threadIdx.y, first_column = blockIdx.x * TILE + threadIdx.x;
    float sum[TILE_COLUMNS] = {};
    for (int k = 0; k < TILE; k += TILE_Y) {
        int row = first_row + k;
        float row_sum = 0;
        for (int j = 0; j < TILE_COLUMNS; j++) {
            int column = first_column + j * TILE_X;
            if (row < rows && column < columns) {
                float value = a[row * columns + column];
                row_sum += value * p[column];
                sum[j] += value * r[row];
            }
        }
        row_sum = warp_sum(row_sum);
        if (threadIdx.x == 0 && row < rows) partial_q[blockIdx.x * rows + row] = row_sum;
    }
    for (int j = 0; j < TILE_COLUMNS; j++) sums[threadIdx.y][threadIdx.x + j * TILE_X] = sum[j];
    __syncthreads();
    int i = threadIdx.y * TILE_X + threadIdx.x, column = blockIdx.x * TILE + i;
    if (i >= TILE || column >= columns) return;
    float total = 0;
    for (int y = 0; y < TILE_Y; y++) total += sums[y][i];
    partial_s[blockIdx.y * columns + column] = total;
}

/* B = A + u1 v1' + u2 v2', and partial sums of B' y a column of tiles. */
__global__ void hand_gemver(int rows, int columns, const float *a, const float *u1, const float *v1,
                            const float *u2, const float *v2, const float *y, float *b, float *partial)
{
    __shared__ float sums[TILE_Y][TILE];
    int first_row = blockIdx.y * TILE + threadIdx.y, first_column = blockIdx.x * TILE + threadIdx.x;
    float sum[TILE_COLUMNS] = {};
    for (int k = 0; k < TILE; k += TILE_Y)
        for (int j = 0; j < TILE_COLUMNS; j++) {
            int row = first_row + k, column = first_column + j * TILE_X;
            if (row < rows && column < columns) {
                float value = u1[row] * v1[column] + a[row * columns + column];
                value = u2[row] * v2[column] + value;
                b[row * columns + column] = value;
                sum[j] += value * y[row];
            }
        }
    for (int j = 0; j < TILE_COLUMNS; j++) sums[threadIdx.y][threadIdx.x + j * TILE_X] = sum[j];
    __syncthreads();
    int i = threadIdx.y * TILE_X + threadIdx.x, column = blockIdx.x * TILE + i;
    if (i >= TILE || column >= columns) return;
    float total = 0;
    for (int k = 0; k < TILE_Y; k++) total += sums[k][i];
    partial[blockIdx.y * columns + column] = total;
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
