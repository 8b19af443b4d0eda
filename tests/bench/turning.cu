/* SPDX-License-Identifier: Apache-2.0
 * A ring buffer: each step updates some arrays alike, and takes the next piece of a ring, which begins somewhere else each
 * time and wraps around. With --turns its numbers come again; with --gaps the beginning also tells which elements are taken. */
#include "bench/bench.h"

enum { ARRAYS = 4, STRIDE = 977 };
static int n = 512, total = 5003;
static long turns, gaps;
static float *ring, *piece, *forcing, *arrays[ARRAYS];

__global__ void mirror(int n, const float *piece, float *forcing)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) forcing[i] = 0.5f * (piece[i] + piece[n - 1 - i]);
}

__global__ void update(int n, float *array, const float *forcing)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) array[i] = 0.9f * array[i] + forcing[n - 1 - i];
}

__global__ void take(int n, const float *ring, int first, int total, float *piece)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) piece[i] = ring[(first + i) % total];
}

__global__ void take_some(int n, const float *ring, int first, int total, float *piece)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (first + i) % 5) piece[i] = ring[(first + i) % total];
}

static void step(void *context, long number)
{
    int first = (int)((turns ? number % turns : number) * STRIDE % total);
    (void)context;
    mirror<<<n / 128, 128>>>(n, piece, forcing);
    for (float *array : arrays) update<<<n / 128, 128>>>(n, array, forcing);
    (gaps ? take_some : take)<<<n / 128, 128>>>(n, ring, first, total, piece);
}

static float *filled(int count, float unit)
{
    float *array, *host = (float *)malloc(sizeof(float) * count);
    for (int i = 0; i < count; i++) host[i] = unit * (float)(i % 101);
    CHECK(cudaMalloc((void **)&array, sizeof(float) * count));
    CHECK(cudaMemcpy(array, host, sizeof(float) * count, cudaMemcpyHostToDevice));
    free(host);
    return array;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 12, 1, NULL, 0, 0};
    const struct option own[] = {
        {"turns", &turns, NULL, NULL, "steps until the numbers come again; 0: never"},
        {"gaps", &gaps, NULL, NULL, "1: every fifth element of the ring is left out"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Updates, and pieces of a ring.", own);
    ring = filled(total, 0.01f);
    piece = filled(n, 0.02f);
    forcing = filled(n, 0.03f);
    for (float *&array : arrays) array = filled(n, 0.04f);
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, NULL);
    CHECK(cudaDeviceSynchronize());
    struct result results[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) results[i] = {"array", arrays[i], sizeof(float) * n};
    bench_results(&bench, results, ARRAYS);
    return 0;
}
