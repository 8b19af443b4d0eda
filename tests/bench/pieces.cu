/* SPDX-License-Identifier: Apache-2.0
 * Arrays that are parts of one allocation, as a pool hands them out: a temporary of it, which the next step overwrites, and in
 * two steps of three a launch that reads it before. --apart 1: the temporary is an allocation of its own. */
#include "tests/bench/arrays.h"

enum { BLOCK = 128, WIDE = 256 };

static float value(size_t at)
{
    return 0.125f + 0.01f * (float)(at * 7 % 101);
}

__global__ void advance(float *a, const float *x)
{
    __shared__ float tile[BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    a[i] = 0.9f * a[i] + tile[threadIdx.x ^ 5];
}

__global__ void look(int n, float *seen, const float *temporary)
{
    __shared__ float tile[WIDE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = temporary[i];
    __syncthreads();
    seen[(i * 5) % n] = 0.5f * tile[WIDE - 1 - threadIdx.x] + temporary[n - 1 - i];
}

__global__ void make(float *temporary, const float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    temporary[i] = 0.3f * a[i] + 1.0f;
}

__global__ void add(float *b, const float *t, const float *u, const float *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = 0.7f * b[i] + t[i] + u[i] + seen[i];
}

static int n = 16 * WIDE;
static float *x, *a, *b, *t, *u, *seen;

static void step(void *context, long number)
{
    (void)context;
    advance<<<n / BLOCK, BLOCK>>>(a, x);
    if (number % 3) look<<<n / WIDE, WIDE>>>(n, seen, t);
    make<<<n / BLOCK, BLOCK>>>(t, a);
    make<<<n / BLOCK, BLOCK>>>(u, a);
    add<<<n / BLOCK, BLOCK>>>(b, t, u, seen);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 12, 1, NULL, 0, 0};
    long apart = 0;
    const struct option own[] = {
        {"apart", &apart, NULL, NULL, "1: the temporary is no part of the pool"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Parts of an allocation, of which one is a temporary.", own);
    count = 6 * (size_t)n;
    host = (float *)malloc(count * sizeof *host);
    float **parts[] = {&x, &a, &b, &t, &seen, &u}, *pool = array_of(value);
    count = (size_t)n;
    for (float **part : parts) *part = pool, pool += n;
    if (apart) t = array_of(value);
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, NULL);
    tell("a", a, count);
    tell("b", b, count);
    tell("seen", seen, count);
    return 0;
}
