// SPDX-License-Identifier: Apache-2.0
// Grid-stride loops, and kernels that look like such: test_grid_stride.c says which are.
// launch plain grid 3 1 1 block 32 1 1 args p:1000 p:1000 i32:250
// launch two_axes grid 2 2 1 block 8 4 1 args p:8192 p:8196 i32:21 i32:13
#define ALL                                                                                                  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    i < n;                                                                                                   \
    i += gridDim.x * blockDim.x
extern "C" {
__global__ void plain(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i] + 1;
}

__global__ void wide(float *a, const float *b, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
        a[i] = b[i] + 1;
}

__global__ void known_block(float *a, const float *b, int n)
{
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) a[i] = b[i] + 1;
}

__global__ void unsigned_index(float *a, const float *b, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] = b[i] + 1;
}

__global__ void branches(float *a, const float *b, int n)
{
    for (ALL) {
        if (b[i] > 0)
            a[i] = b[i + 1];
        else if (i > 3)
            a[i] = 2;
    }
}

__global__ void inner_loop(float *a, const float *b, int n, int m)
{
    for (ALL) {
        float s = 0;
        for (int k = 0; k < m; k++) s += b[i + k * n];
        a[i] = s;
    }
}

__global__ void planes(float *a, const float *b, int n)
{
    for (ALL) a[i + blockIdx.y * n] = b[i + threadIdx.y];
}

__global__ void by_data(float *a, const float *b, int n)
{
    for (ALL) {
        if (b[i] < 0) break;
        a[i] = b[i];
    }
}

__global__ void ahead(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i + gridDim.x * blockDim.x];
}

__global__ void sum(float *a, const float *b, int n)
{
    float s = 0;
    for (ALL) {
        s += b[i];
        a[i] = s;
    }
}

__global__ void block(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i] + blockIdx.x;
}

__global__ void warp(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i] + gridDim.x;
}

__global__ void outside(float *a, const float *b, int n)
{
    a[blockIdx.x] = 0;
    for (ALL) a[i] = b[i];
}

__global__ void chosen(float *a, const float *b, int n)
{
    float s;
    if (threadIdx.x == 3)
        s = b[7];
    else {
        s = b[5];
        if (s > 2) s = b[6];
    }
    for (ALL) a[i] = s;
}

__global__ void shifted(float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x + 1; i < n; i += gridDim.x * blockDim.x) a[i] = b[i];
}

__global__ void twice(float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * gridDim.x * blockDim.x) a[i] = b[i];
}

__global__ void backward(float *a, const float *b, int n)
{
    for (int i = n - 1 - (blockIdx.x * blockDim.x + threadIdx.x); i >= 0; i -= gridDim.x * blockDim.x)
        a[i] = b[i];
}

__global__ void left(float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x;; i += gridDim.x * blockDim.x) {
        if (i >= n) break;
        float x = b[i];
        if (i + gridDim.x * blockDim.x >= n) break;
        a[i] = x;
    }
}

__global__ void atomic(float *a, const float *b, int n)
{
    for (ALL) atomicAdd(&a[i & 15], b[i]);
}

__global__ void met(float *a, const float *b, int n)
{
    __shared__ float s[128];
    for (ALL) {
        s[threadIdx.x] = b[i];
        a[i] = s[127 - threadIdx.x];
    }
}

__global__ void clocked(long long *a, const float *b, int n)
{
    for (ALL) a[i] = clock64();
}

__global__ void two_loops(float *a, const float *b, int n)
{
    for (ALL) a[i] = b[i];
    for (ALL) a[i + n] = b[i];
}

__global__ void none(float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] * gridDim.x;
}
__global__ void two_axes(float *a, const float *b, int n, int m)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < m; y += gridDim.y * blockDim.y)
        for (ALL) a[y * n + i] = b[y * n + i + 1];
}
__global__ void rows_of_blocks(float *a, const float *b, int n, int m)
{
    for (int y = blockIdx.y; y < m; y += gridDim.y)
        for (int i = threadIdx.x; i < n; i += blockDim.x) a[y * n + i] = b[y * n + i];
}
__global__ void turned(float *a, const float *b, int n, int m)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < m; y += gridDim.y * blockDim.y)
        for (ALL) a[y * n + i] = b[y * n + i + gridDim.y];
}
__global__ void last_seen(float *a, float *b, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i;
    if (i >= n) return;
    float last;
    do {
        last = x[i];
        a[i] = last * 3;
        i += gridDim.x * blockDim.x;
    } while (i < n);
    do {
        b[j] = last + j;
        j += gridDim.x * blockDim.x;
    } while (j < n);
}
__global__ void last_index(float *a, float *b, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i;
    if (i >= n) return;
    do {
        a[i] = x[i];
        i += gridDim.x * blockDim.x;
    } while (i < n);
    do {
        b[j] = x[i];
        j += gridDim.x * blockDim.x;
    } while (j < n);
}
__global__ void once_before(float *a, const float *b, int n)
{
    float step = b[0];
    for (ALL) a[i] = b[i] * step;
}
__global__ void own_before(float *a, const float *b, int n)
{
    float step = b[blockIdx.x], kept;
    asm volatile("mov.f32 %0, %1;" : "=f"(kept) : "f"(step));
    for (ALL) a[i] = b[i];
}
}
