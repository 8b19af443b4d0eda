/* SPDX-License-Identifier: Apache-2.0
 * Kernels that read a parameter at indices that vary. parameters.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o parameters.ptx parameters.cu                                                               */
#define KERNEL   extern "C" __global__ void
#define IN_PLACE const __grid_constant__
#define I        (int)(blockIdx.x * blockDim.x + threadIdx.x)

struct weights {
    float of[5];
};
struct odd { /* not a multiple of anything */
    unsigned char of[3];
};
struct __align__(16) wide
{
    float4 of[2];
    short shift[4];
};
struct large {
    float of[3000];
};

KERNEL weighted(float *y, const float *x, IN_PLACE weights w, int n)
{
    if (I < n) y[I] = x[I] * w.of[I % 5];
}

KERNEL weighted_in_place(IN_PLACE weights w, float *y, int n)
{
    if (I < n) y[I] = y[I] + w.of[(I + 1) % 5];
}

KERNEL odd_ones(float *y, IN_PLACE odd a, const float *x, IN_PLACE odd b, int n)
{
    if (I < n) y[I] = x[I] + (float)(a.of[I % 3] * 256 + b.of[(I + 1) % 3]);
}

KERNEL wide_ones(float *y, IN_PLACE odd a, IN_PLACE wide b, int n)
{
    if (I >= n) return;
    float4 four = b.of[I & 1];
    y[I] += four.x - four.y * four.z + four.w * (float)(b.shift[I & 3] + a.of[1]);
}

KERNEL neighbours(float *y, const float *x, IN_PLACE weights w, int n)
{
    float sum = 0;
    if (I < 1 || I >= n - 1) return;
#pragma unroll 1
    for (int k = -1; k < 2; k++) sum += w.of[k + 1] * x[I + k];
    y[I] = sum + w.of[I & 3];
}

KERNEL middle(float *y, const float *x, IN_PLACE weights w, int n)
{
    if (I < 1 || I >= n - 1) return;
    y[I] = w.of[I & 3] * x[I - 1] + x[I + 1] * w.of[4];
}

KERNEL polynomial(float *y, const float *x, IN_PLACE weights w, int n)
{
    float sum = 0;
    if (I >= n) return;
#pragma unroll 1
    for (int k = 0; k < 5; k++) sum = sum * x[I + n * k] + w.of[k];
    y[I] = sum;
}

KERNEL picked(float *y, const float *x, IN_PLACE large w, int n)
{
    if (I < n) y[I] = x[I] + w.of[I % 3000];
}
