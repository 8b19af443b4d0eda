// SPDX-License-Identifier: Apache-2.0
// launch add grid 4 1 1 block 256 1 1 args p:4000 p:4000 p:4000 i32:1000
// launch saxpy grid 4 1 1 block 256 1 1 args i32:1000 f32:2.5 p:4000 p:4000
// launch scale2 grid 8 4 1 block 32 8 1 args p:64000 i32:250 i32:31 f64:3
#include <stddef.h>

extern "C" __global__ void add(float *x, const float *w, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = w[i] + y[i];
}

extern "C" __global__ void saxpy(int n, float a, float *x, const float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = a * x[i] + y[i];
}

extern "C" __global__ void scale2(double *a, int width, int height, double factor)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) a[y * width + x] *= factor;
}
