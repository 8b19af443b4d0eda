// SPDX-License-Identifier: Apache-2.0
// Chains of small kernels for exactness.sh: what the compiler may contract, what it may not, what it expands, and what
// is another program on each architecture. Run on the emulator.
#include <cstdio>
#include <vector>

enum { N = 4096, STEPS = 400 };

__global__ void scale(float *a, const float *b, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] * factor;
}

__global__ void shift(float *a, const float *b, float step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] + step;
}

// Two products and a sum that nothing rounds: the assembler contracts one of them.
__global__ void blend(float *a, const float *b, float x, float y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value;
    asm("{ .reg .f32 p, q; mul.f32 p, %1, %2; mul.f32 q, %1, %3; add.f32 %0, p, q; }"
        : "=f"(value)
        : "f"(b[i]), "f"(x), "f"(y));
    a[i] = value;
}

__global__ void divide(float *a, const float *b, float x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = __fdividef(b[i], x);
}

__global__ void another(float *a, const float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(DIFFERENT) && __CUDA_ARCH__ >= 900
    a[i] = b[i] - 3;
#else
    a[i] = b[i] + 2;
#endif
}

// What is left to the assembler.
static __device__ float product_and_sum(float a, float b, float c)
{
    float value;
    asm("{ .reg .f32 p; mul.f32 p, %1, %2; add.f32 %0, p, %3; }" : "=f"(value) : "f"(a), "f"(b), "f"(c));
    return value;
}

// The kernel's product and sum are contracted; the function has none that could be.
__device__ __noinline__ float halved(float value, int steps)
{
    for (int k = 0; k < steps; k++) value = value < 1.0f ? value + 1.0f : __fmul_rn(value, 0.5f);
    return value;
}

__global__ void call(float *a, const float *b, float x, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float from = b[i];
    a[i] = product_and_sum(halved(fabsf(from), steps), x, from);
}

// The function has a product and a sum of its own.
__device__ __noinline__ float turned(float value, int steps)
{
    for (int k = 0; k < steps; k++) value = product_and_sum(value, 0.75f, 0.5f);
    return value;
}

__global__ void call_free(float *a, const float *b, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = turned(b[i], steps);
}

__device__ __noinline__ float bent(float value)
{
    return product_and_sum(value, 0.75f, 0.5f);
}

// The same function in two places, and one of the toolkit's; with a loop, the factor at the sum is not told to be the one before.
#ifdef LOOPED
#define TURNED(value, steps) turned(value, steps)
#else
#define TURNED(value, steps) bent(value)
#endif
__global__ void call_more(float *a, const float *b, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float inner = TURNED(b[i], steps);
    a[i] = (float)pow(1.5 + fabs((double)TURNED(inner + a[i], steps + 1)), 1.4);
}

// The loop is unrolled; each copy's product has two uses.
__global__ void rolled(float *a, const float *b, float x, float y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    for (; i < n; i += stride) {
        float product = b[i] * x;
        a[i] = (product + y) * product;
    }
}

int main()
{
    float *a, *b, *c;
    std::vector<float> host(N);
    for (int i = 0; i < N; i++) host[i] = 1.0f + i * 0.37f;
    cudaMalloc(&a, N * sizeof(float));
    cudaMalloc(&b, N * sizeof(float));
    cudaMalloc(&c, N * sizeof(float));
    cudaMemcpy(a, host.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    for (int step = 0; step < STEPS; step++) {
        scale<<<N / 128, 128>>>(b, a, 0.75f);
        shift<<<N / 128, 128>>>(c, b, 0.5f);
        blend<<<N / 128, 128>>>(a, c, 0.99f, 0.1f);
        divide<<<N / 128, 128>>>(b, a, 1.7f);
        another<<<N / 128, 128>>>(a, b);
#ifdef LOOPS
        rolled<<<5, 128>>>(c, a, 0.99f, 0.1f, N);
        rolled<<<5, 128>>>(a, c, 0.98f, 0.1f, N);
#endif
#ifdef CALLS
        call<<<N / 128, 128>>>(b, a, 0.5f, 3);
        call_free<<<N / 128, 128>>>(a, b, 2);
        call_more<<<N / 128, 128>>>(b, a, 1);
#endif
        cudaDeviceSynchronize();
    }
    cudaMemcpy(host.data(), a, N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%a\n", host[N - 1]);
    return cudaGetLastError() != cudaSuccess;
}
