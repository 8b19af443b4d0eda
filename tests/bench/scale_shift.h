/* SPDX-License-Identifier: Apache-2.0
 * Two kernels that kfuse fuses: something to delay and to replace. */
#ifndef TESTS_BENCH_SCALE_SHIFT_H
#define TESTS_BENCH_SCALE_SHIFT_H

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f;
}

__global__ void shift(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + 1.0f;
}

#endif
