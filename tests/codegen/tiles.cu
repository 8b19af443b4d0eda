/* SPDX-License-Identifier: Apache-2.0
 * Kernels that read a matrix, a[k * n + i], a tile a block, and meet in their blocks or warps: partial sums of rows and of
 * columns. n is a multiple of 32. tiles.ptx is made from this file by
 *   nvcc -arch=sm_90 -ptx -o tiles.ptx tiles.cu                                                                       */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define LEVELS _Pragma("unroll 1") for (int k = 0; k < levels; k++)
#define AT(x) (x)[k * n + i]

enum { BLOCK = 64 };

__device__ static float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

/* a warp meets in each iteration */
extern "C" __global__ void row_sums(float *sums, const float *a, const float *x, int n, int levels)
{
    int i = INDEX;
    float factor = x[i];
    LEVELS
    {
        float sum = warp_sum(__fmul_rn(AT(a), factor));
        if (threadIdx.x % 32 == 0) sums[k * (n / 32) + i / 32] = sum;
    }
}

/* the same, and there are more levels for the second warp */
extern "C" __global__ void steep_row_sums(float *sums, const float *a, const float *x, int n, int levels)
{
    int i = INDEX;
    if (threadIdx.x >= 32) levels++;
    LEVELS
    {
        float sum = warp_sum(__fmul_rn(AT(a), x[i]));
        if (threadIdx.x % 32 == 0) sums[k * (n / 32) + i / 32] = sum;
    }
}

/* a warp meets behind the loop */
extern "C" __global__ void warp_sums(float *sums, const float *a, int n, int levels)
{
    int i = INDEX;
    float sum = 0.0f;
    LEVELS sum += AT(a);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

/* the block meets behind the loop */
extern "C" __global__ void column_sums(float *sums, const float *a, const float *x, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    float sum = 0.0f;
    LEVELS sum += AT(a) * x[k];
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < 32) sums[blockIdx.x * 32 + threadIdx.x] = shared[threadIdx.x] + shared[threadIdx.x + 32];
}

/* before the loop and behind it, and what it shared before is still there */
extern "C" __global__ void scaled_columns(float *y, const float *a, const float *x, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    shared[threadIdx.x] = x[i];
    __syncthreads();
    float scale = shared[BLOCK - 1 - threadIdx.x], sum = 0.0f;
    LEVELS
    {
        sum += AT(a);
        AT(y) = sum * scale;
    }
    __syncthreads();
    y[i] = sum + shared[(threadIdx.x + 1) % BLOCK];
}

/* a tree in a loop of its own */
extern "C" __global__ void block_sums(float *sums, const float *a, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    float sum = 0.0f;
    LEVELS sum += AT(a);
    shared[threadIdx.x] = sum;
    __syncthreads();
    _Pragma("unroll 1") for (int half = blockDim.x / 2; half > 0; half /= 2)
    {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/* only one warp reaches the second barrier */
extern "C" __global__ void parted_sums(float *sums, const float *a, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    float sum = 0.0f;
    LEVELS sum += AT(a);
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < 32)
    {
        shared[threadIdx.x] += shared[threadIdx.x + 32];
        __syncthreads();
        sums[blockIdx.x * 32 + threadIdx.x] = shared[threadIdx.x ^ 1];
    }
}

/* the block meets in each iteration */
extern "C" __global__ void turned_rows(float *y, const float *a, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    LEVELS
    {
        shared[threadIdx.x] = AT(a);
        __syncthreads();
        AT(y) = shared[BLOCK - 1 - threadIdx.x];
        __syncthreads();
    }
}

/* not all threads of a warp go round the loop, all meet behind it */
extern "C" __global__ void some_columns(float *y, const float *a, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    float sum = 1.0f;
    if (i % 3) LEVELS sum += AT(a);
    else sum = -a[i];
    shared[threadIdx.x] = sum;
    __syncthreads();
    y[i] = sum + shared[BLOCK - 1 - threadIdx.x];
}

/* the same with a warp */
extern "C" __global__ void some_warp_sums(float *y, const float *a, int n, int levels)
{
    int i = INDEX;
    float sum = 1.0f;
    if (i % 3) LEVELS sum += AT(a);
    else sum = -a[i];
    sum = warp_sum(sum);
    y[i] = __shfl_sync(0xffffffff, sum, 0);
}

/* needs the first level before its own loop, and meets there */
extern "C" __global__ void first_row(float *y, const float *a, int n, int levels)
{
    __shared__ float shared[BLOCK];
    int i = INDEX;
    shared[threadIdx.x] = a[i];
    __syncthreads();
    float first = shared[threadIdx.x ^ 1];
    LEVELS AT(y) = AT(a) + first;
}

/* nobody meets */
extern "C" __global__ void double_rows(float *y, const float *a, int n, int levels)
{
    int i = INDEX;
    LEVELS AT(y) = AT(a) + AT(a);
}

/* what is loaded changes in its register */
extern "C" __global__ void changed_rows(float *y, const float *a, int n, int levels)
{
    int i = INDEX;
    LEVELS
    {
        float value;
        asm("{ ld.global.f32 %0, [%1]; add.f32 %0, %0, %0; }" : "=f"(value) : "l"(&AT(a)));
        AT(y) = value;
    }
}

/* no loop */
extern "C" __global__ void half_row(float *y, const float *x, int n)
{
    int i = INDEX;
    if (i < n) y[i] = x[i] * 0.5f;
}

/* half of what a block may have */
extern "C" __global__ void wide_sums(float *sums, const float *a, int n, int levels)
{
    __shared__ float shared[6400];
    int i = INDEX;
    float sum = 0.0f;
    LEVELS sum += AT(a);
    for (int k = 0; k < 100; k++) shared[k * BLOCK + threadIdx.x] = sum * k;
    __syncthreads();
    sums[i] = shared[(threadIdx.x * 97 + 1) % 6400];
}
