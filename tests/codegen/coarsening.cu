/* SPDX-License-Identifier: Apache-2.0
 * Kernels one block of which writes or reads what several blocks, or more threads than it has, touch in another launch.
 * coarsening.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o coarsening.ptx coarsening.cu                                                                       */
#define INDEX  (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void
enum { SIDE = 16, FEW = 4 };

/* a thread for four elements, one after the other */
KERNEL four(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) {
        float4 v = ((const float4 *)x)[i];
        ((float4 *)y)[i] = make_float4(v.x + v.y, v.y * v.y, v.z - v.w, v.w + 1.0f);
    }
}

/* a thread for four elements, a block apart */
KERNEL four_apart(float *y, const float *x, int n)
{
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        int i = blockIdx.x * blockDim.x * 4 + k * blockDim.x + threadIdx.x;
        if (i < n) y[i] = x[i] - 3.0f;
    }
}

KERNEL one(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * x[i];
}

KERNEL each(float *y, const float *x)
{
    y[INDEX] = x[INDEX] + 5.0f;
}

KERNEL one_in_place(float *x, int n)
{
    int i = INDEX;
    if (i < n) x[i] = x[i] * 0.5f;
}

KERNEL next(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i + 1 < n) y[i] = x[i] + x[i + 1];
}

KERNEL backwards(float *y, const float *x, int n)
{
    int i = n - 1 - (int)INDEX;
    if (i >= 0) y[i] = x[i] + x[i];
}

KERNEL plane(float *y, const float *x, int w, int h)
{
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < w && j < h) y[j * w + i] = x[j * w + i] + 2.0f;
}

/* a block of 16 x 4 threads turns a tile of 16 x 16 */
KERNEL turned(float *y, const float *x, int w, int h)
{
    __shared__ float tile[SIDE][SIDE + 1];
    int i = blockIdx.x * SIDE + threadIdx.x;
    for (int k = threadIdx.y; k < SIDE; k += FEW) {
        int j = blockIdx.y * SIDE + k;
        if (i < w && j < h) tile[k][threadIdx.x] = x[j * w + i];
    }
    __syncthreads();
    int to = blockIdx.y * SIDE + threadIdx.x;
    for (int k = threadIdx.y; k < SIDE; k += FEW) {
        int row = blockIdx.x * SIDE + k;
        if (to < h && row < w) y[row * h + to] = tile[threadIdx.x][k];
    }
}

/* a thread for a column through all layers, which it sums up */
KERNEL column(float *y, const float *x, int w, int h, int layers)
{
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= w || j >= h) return;
    float sum = 0;
    for (int k = 0; k < layers; k++) y[(k * h + j) * w + i] = sum += x[(k * h + j) * w + i];
}

/* blocks that stay whole: several in one of the next kernel */
KERNEL mirrored(float *y, const float *x, int n)
{
    __shared__ float shared[64];
    int i = INDEX;
    shared[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = shared[63 - threadIdx.x];
}

/* threads leave before the barrier */
KERNEL mirrored_early(float *y, const float *x, int n)
{
    __shared__ float shared[64];
    int i = INDEX;
    shared[threadIdx.x] = 1.0f;
    if (i >= n) return;
    shared[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = shared[63 - threadIdx.x];
}

KERNEL summed(float *y, const float *x, int n)
{
    __shared__ float shared[64];
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        int i = blockIdx.x * 256 + k * 64 + threadIdx.x;
        if (i < n) sum += x[i];
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = shared[0];
}

KERNEL every_other(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n && i % 2 == 0) y[i] = x[i] - 1.0f;
}

/* a block has the first elements of a row, of which there may be fewer than blocks */
KERNEL row_starts(float *x, int pitch, int rows)
{
    int row = blockIdx.x;
    if (row >= rows) return;
    for (int k = 0; k < 4; k++) x[row * pitch + k * 32 + threadIdx.x] += 1.0f;
}

KERNEL starts(float *x, int pitch, int n)
{
    unsigned i = INDEX;
    if (i % pitch < 128 && i < n) x[i] = x[i] * 5.0f;
}
