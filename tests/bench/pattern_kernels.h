/* SPDX-License-Identifier: Apache-2.0
 * Kernels of patterns.cu: small ones, each with one trait. */
#ifndef TESTS_BENCH_PATTERN_KERNELS_H
#define TESTS_BENCH_PATTERN_KERNELS_H

#include <cuda_fp16.h>

enum { N = 1000, ROUNDS = 6, THREADS = 128, BLOCKS = (N + THREADS - 1) / THREADS };

struct pair { /* a struct argument */
    float *out;
    const float *in;
    int n;
    float factor;
};

__constant__ int offset_of_all;
__constant__ float factor_of_all;
__device__ float table[2][1024];

#define ELEMENT (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void fill(float *a, int n, float from)
{
    int i = ELEMENT;
    if (i < n) a[i] = from + 0.25f * (i % 17);
}

__global__ void scale(float *a, float factor, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] * factor;
}

__global__ void shift(float *a, float by, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + by;
}

__global__ void add(float *out, const float *a, const float *b, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = a[i] + b[i];
}

/* Has an atomic exchange: it may be passed over but is no member. */
__global__ void reduce(float *sum, const float *a, int n)
{
    __shared__ float part[THREADS];
    float own = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) own += a[i];
    part[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicExch(sum, part[0] * 1e-3f);
}

__global__ void add_one_of(float *a, const float *one, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + *one;
}

__global__ void gather(float *out, const float *a, int offset, int n)
{
    int i = ELEMENT;
    if (i < n - offset) out[i] = a[i + offset];
}

__global__ void scale_strided(float *a, float factor, int n)
{
    for (int i = ELEMENT; i < n; i += gridDim.x * blockDim.x) a[i] = a[i] * factor;
}

__global__ void shift_strided(float *a, float by, int n)
{
    for (int i = ELEMENT; i < n; i += gridDim.x * blockDim.x) a[i] = a[i] + by;
}

__global__ void scale_pair(struct pair pair)
{
    int i = ELEMENT;
    if (i < pair.n) pair.out[i] = pair.in[i] * pair.factor;
}

__global__ void shift_pair(struct pair pair)
{
    int i = ELEMENT;
    if (i < pair.n) pair.out[i] = pair.in[i] + pair.factor;
}

__global__ void mix_integers(int *a, unsigned char *b, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    a[i] = a[i] * 1103515245 + (i ^ 12345);
    b[i] = (unsigned char)(a[i] >> 13);
}

__global__ void spread_integers(int *a, const unsigned char *b, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = (a[i] >> 3) - (int)b[i] * 77 + (a[i] % 1000);
}

__global__ void step_double(double *a, const double *b, double dt, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = a[i] + dt * b[i] * (1.0 - a[i]);
}

__global__ void turn_double(double *b, const double *a, int n)
{
    int i = ELEMENT;
    if (i < n) b[i] = sqrt(1.0 + a[i] * a[i]) / 3.0;
}

__global__ void point_at(int *index, int value, int n)
{
    int i = ELEMENT;
    if (i < n) index[i] = value;
}

__global__ void point_at_seven(int *index, int n)
{
    int i = ELEMENT;
    if (i < n) index[i] = 7;
}

__global__ void gather_by(float *out, const float *a, const int *index, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = a[index[i]] + 0.5f;
}

__global__ void mirror(float *out, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) out[n - 1 - i] = a[i] * 0.75f;
}

__global__ void blur(float *out, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) out[i] = 0.5f * a[i] + 0.25f * (a[(i + 1) % n] + a[(i + n - 1) % n]);
}

__global__ void clamp(float *a, float limit, int n)
{
    int i = ELEMENT;
    if (i < n && a[i] > limit) a[i] = limit;
}

__global__ void scale_by_four(float4 *a, float factor, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    float4 v = a[i];
    a[i] = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
}

__global__ void count(int *counts, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n) atomicAdd(&counts[a[i] > 1.0f], 1);
}

__global__ void scale_plane(float *a, float factor, int width, int height)
{
    int i = ELEMENT, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width && j < height) a[j * width + i] *= factor;
}

__global__ void shift_plane(float *a, float by, int width, int height)
{
    int i = ELEMENT, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width && j < height) a[j * width + i] += by;
}

__global__ void scale_constant(float *out, const float *a, int n)
{
    int i = ELEMENT;
    if (i < n - offset_of_all) out[i] = a[i + offset_of_all] * factor_of_all;
}

__global__ void to_table(const float *a, int row, int n)
{
    int i = ELEMENT;
    if (i < n) table[row][i] = a[i];
}

__global__ void from_table(float *a, int row, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = table[row][i] + 1.0f;
}

__global__ void leave_early(float *a, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    if (a[i] < 2.0f) return;
    a[i] = a[i] - 1.5f;
}

__global__ void scale_rows(float *a, float factor, int rows, int width)
{
    int i = ELEMENT;
    if (i >= rows) return;
    for (int j = 0; j < width; j++) a[i * width + j] *= factor;
}

__global__ void sum_rows(float *out, const float *a, int rows, int width)
{
    int i = ELEMENT;
    if (i >= rows) return;
    float sum = 0;
    for (int j = 0; j < width; j++) sum += a[i * width + j];
    out[i] = sum;
}

__global__ void halve_until(float *a, float limit, int n)
{
    int i = ELEMENT;
    if (i >= n) return;
    float v = a[i];
    while (v > limit) v *= 0.5f;
    a[i] = v;
}

/* Thread 0 wraps round: its number less one is no element. */
__global__ void all_but_first(float *out, const float *a, unsigned n)
{
    unsigned i = ELEMENT - 1u;
    if (i < n) out[i] = a[i] + 1.0f;
}

__global__ void shift_long(float *a, float by, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += by;
}

__global__ void halves(__half *a, float factor, int n)
{
    int i = ELEMENT;
    if (i < n) a[i] = __hadd(__hmul(a[i], __float2half(factor)), __float2half(0.125f));
}

/* Elements are numbered from 1: a points one before the first. */
__global__ void scale_from_one(float *a, float factor, int n)
{
    int i = ELEMENT + 1;
    if (i <= n) a[i] = a[i] * factor;
}

__global__ void last_of(float *out, const float *a, int n)
{
    if (ELEMENT == 0) *out = a[n - 1];
}

#endif
