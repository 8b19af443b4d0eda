/* SPDX-License-Identifier: Apache-2.0
 * Kernels of patterns.cu whose threads work together: shared memory, barriers, warp collectives. */
#ifndef TESTS_BENCH_BLOCK_KERNELS_H
#define TESTS_BENCH_BLOCK_KERNELS_H

/* One sum a block, by a tree in shared memory. */
__global__ void sum_blocks(float *sums, const float *a, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* The same, with the barrier that only those that add reach. */
__global__ void sum_blocks_under(float *sums, const float *a, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2)
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* The same; threads beyond the array leave before the first barrier. */
__global__ void sum_blocks_leaving(float *sums, const float *a, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    part[threadIdx.x] = a[i];
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half && i + half < n) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* The same by shuffles, the sums of warps in shared memory. */
__global__ void sum_warps(float *sums, const float *a, int n)
{
    __shared__ float warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own = i < n ? a[i] : 0;
    for (int far = 16; far; far /= 2) own += __shfl_down_sync(~0u, own, far);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 32) {
        own = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        for (int far = 16; far; far /= 2) own += __shfl_down_sync(~0u, own, far);
        if (threadIdx.x == 0) sums[blockIdx.x] = own;
    }
}

/* Some threads of the last warp leave before the others shuffle. */
__global__ void sum_warps_leaving(float *sums, const float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int lane = threadIdx.x % 32, lanes = n - (i - lane) < 32 ? n - (i - lane) : 32;
    unsigned mask = ~0u >> (32 - lanes);
    float own = a[i];
    for (int far = 16; far; far /= 2) {
        float other = __shfl_down_sync(mask, own, far);
        if (lane + far < lanes) own += other;
    }
    if (threadIdx.x % 32 == 0) sums[i / 32] = own;
}

/* The elements of each block the other way round, through dynamic shared memory. */
__global__ void turn_blocks(float *out, const float *a, int n)
{
    extern __shared__ float turned[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    turned[threadIdx.x] = i < n ? a[i] : 1;
    __syncthreads();
    if (i < n) out[i] = turned[blockDim.x - 1 - threadIdx.x];
}

/* Reads what other threads of its block have written. */
__global__ void add_next_in_block(float *out, const float *a, int n)
{
    int from = blockIdx.x * blockDim.x, i = from + threadIdx.x;
    if (i < n) out[i] = a[from + (threadIdx.x + 1) % blockDim.x] + a[i];
}

/* Every second element of the block takes the one before it, in place. */
__global__ void double_in_block(float *a, int n)
{
    int from = blockIdx.x * blockDim.x, i = from + threadIdx.x;
    float own = i < n ? a[from + threadIdx.x / 2] : 0;
    __syncthreads();
    if (i < n) a[i] = own + 1;
}

/* Counts by the block's votes. */
__global__ void count_in_block(int *counts, const float *a, float above, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = __syncthreads_count(i < n && a[i] > above);
    if (threadIdx.x == 0) counts[blockIdx.x] += count;
}

/* The second half of each block writes over what the first half has written, and then waits no more. */
__global__ void write_over_in_block(float *a, int n)
{
    int half = blockDim.x / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x < half) {
        a[i] = i;
        __syncthreads();
    } else {
        __syncthreads();
        a[i - half] = -i;
    }
}

__global__ void add_first_halves(float *out, const float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && threadIdx.x < blockDim.x / 2) out[i] += a[i];
}

/* Counts by the block's votes, before some threads leave and the others wait for each other. */
__global__ void count_before_leaving(float *out, const float *a, int n)
{
    __shared__ float own[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = __syncthreads_count(i < n && a[i] > 2);
    if (i >= n) return;
    own[threadIdx.x] = a[i];
    __syncthreads();
    out[i] = own[threadIdx.x / 2] + count;
}

/* The same as turn_blocks, by addresses that count on where the array lies. */
__global__ void turn_aligned(float *out, const float *a, int n)
{
    extern __shared__ __align__(1024) unsigned char aligned[];
    __shared__ float first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned base = (unsigned)__cvta_generic_to_shared(aligned);
    if (threadIdx.x == 0) first = blockIdx.x;
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(base | threadIdx.x * 4), "f"(i < n ? a[i] : 1) : "memory");
    __syncthreads();
    float turned;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(turned) : "r"(base + (blockDim.x - 1 - threadIdx.x) * 4));
    if (i < n) out[i] = turned + first;
}

#endif
