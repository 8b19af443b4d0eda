/* SPDX-License-Identifier: Apache-2.0
 * y = alpha A x + beta y, a warp a row, which it sums in order. */
#ifndef BENCH_ROUTINES_GEMV_CUH
#define BENCH_ROUTINES_GEMV_CUH
#include "sums.cuh"

enum { GEMV_ROWS = 8 }; /* rows of a block */

__global__ void gemv_kernel(int rows, int columns, float alpha, const float *a, const float *x, float beta,
                            float *y)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int column = threadIdx.x; column < columns; column += 32)
        sum += a[row * columns + column] * x[column];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
}

static void gemv(int rows, int columns, float alpha, const float *a, const float *x, float beta, float *y)
{
    gemv_kernel<<<blocks_for(rows, GEMV_ROWS), dim3(32, GEMV_ROWS)>>>(rows, columns, alpha, a, x, beta, y);
}

#endif
