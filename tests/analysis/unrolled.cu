// SPDX-License-Identifier: Apache-2.0
// Loops that nvcc unrolls by four, with what is left of them before: test_reroll.c says which are seen as they were.
// launch plain grid 3 1 1 block 32 1 1 args p:2000 p:2000 i32:450
#define ALL                                                                                                  \
    int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;                          \
    i < n;                                                                                                   \
    i += stride
extern "C" {
__global__ void plain(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i] + 1;
}

__global__ void read_only(float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ c, int n)
{
    for (ALL) a[i] = b[i] * c[0] + b[i + 1];
}

__global__ void ways(float *a, const float *b, int width, int height)
{
    int n = width * height;
    for (ALL) {
        int x = i % width, y = i / width;
        if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
            a[i] = b[i - 1] + b[i + 1] + b[i - width] + b[i + width];
        else
            a[i] = 0;
    }
}

__global__ void middle(double *a, const double *b, int n)
{
    n -= 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x + 1, stride = gridDim.x * blockDim.x; i < n; i += stride)
        a[i] = b[i - 1] - 2 * b[i] + b[i + 1];
}

__global__ void pairs(float2 *a, const float2 *b, int n)
{
    for (ALL) {
        float2 v = b[i];
        a[i] = make_float2(v.y, v.x);
    }
}

/* Its iterations depend on each other, which is another question. */
__global__ void in_place(float *a, int n, int before)
{
    for (ALL) a[i] += a[i - before];
}

__global__ void sum(float *a, const float *b, int n)
{
    float all = 0;
    for (ALL) all += b[i];
    a[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

__global__ void shared_memory(float *a, const float *b, int n)
{
    __shared__ float own[128];
    for (ALL) {
        own[threadIdx.x] = b[i];
        a[i] = own[threadIdx.x] + own[(threadIdx.x + 1) & 127];
    }
}

__global__ void first_only(float *a, const float *b, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (ALL) a[i] = i == first ? b[i] : 0;
}

/* Each product has two uses. */
__global__ void products(float *a, const float *b, int n)
{
    for (ALL) {
        float product = b[i] * 3;
        a[i] = (product + 2) * product;
    }
}
}
