/* SPDX-License-Identifier: Apache-2.0
 * The links of a chain: what each of its four kernels does to one element. Values stay between -2 and 2. */
#ifndef BENCH_CHAIN_H
#define BENCH_CHAIN_H

static __device__ __forceinline__ float link_scale(float x)
{
    return 0.75f * x + 0.25f;
}
static __device__ __forceinline__ float link_damp(float x)
{
    return x / (1.0f + x * x);
}
static __device__ __forceinline__ float link_root(float x)
{
    return sqrtf(x * x + 0.125f);
}
static __device__ __forceinline__ float link_reflect(float x)
{
    return x > 0.5f ? 1.0f - x : x + 0.0625f;
}

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = link_scale(x[i]);
}
__global__ void damp(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = link_damp(x[i]);
}
__global__ void root(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = link_root(x[i]);
}
__global__ void reflect(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = link_reflect(x[i]);
}

/* The whole chain in one kernel, by hand. Length 0: given at run time. */
template <int LENGTH> __global__ void whole_chain(float *x, int n, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
#pragma unroll
    for (int k = 0; k < (LENGTH ? LENGTH : length); k++) switch (k % 4) {
        case 0:
            value = link_scale(value);
            break;
        case 1:
            value = link_damp(value);
            break;
        case 2:
            value = link_root(value);
            break;
        case 3:
            value = link_reflect(value);
            break;
        }
    x[i] = value;
}

typedef void (*chain_kernel)(float *x, int n);
static const chain_kernel chain_links[4] = {scale, damp, root, reflect};

/* A vector of n floats between -1 and 1 on the device. */
static float *chain_vector(long n)
{
    float *host = (float *)malloc(n * sizeof *host), *device;
    for (long i = 0; i < n; i++) host[i] = (float)((uint32_t)i * 2654435761u >> 8) / 8388608.0f - 1.0f;
    CHECK(cudaMalloc((void **)&device, n * sizeof *device));
    CHECK(cudaMemcpy(device, host, n * sizeof *device, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

#endif
