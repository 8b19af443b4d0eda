/* SPDX-License-Identifier: Apache-2.0
 * The kernels of client.c. The first two fuse with each other; gather reads what two other threads wrote. */
extern "C" __global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0.75f * x[i] + 0.25f;
}

extern "C" __global__ void damp(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] / (1.0f + x[i] * x[i]);
}

extern "C" __global__ void gather(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i == 0 ? n - 1 : i - 1] - 0.5f * x[i == n - 1 ? 0 : i + 1];
}

extern "C" __global__ void outside(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f - y[i];
}
