/* SPDX-License-Identifier: Apache-2.0
 * One stencil, launched again and again with its two arrays swapped: the program repeats itself after two launches, though each
 * is like the one before but for its pointers. */
#include "../../bench/bench.h"

__global__ void relax(float *out, const float *in, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    const float *at = in + j * nx + i;
    out[j * nx + i] = 0.25f * (at[-1] + at[1] + at[-nx] + at[nx]);
}

/* What one launch reads, other blocks of the one before have written, near and far: nothing fuses these. */
__global__ void mirror(float *out, const float *in, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) out[j * nx + i] = 0.5f * (in[j * nx + i] + in[(ny - 1 - j) * nx + nx - 1 - i]);
}

__global__ void fill(float *x, unsigned seed, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0f / 1048576.0f);
}

struct sweep {
    float *of[2];
    int nx, ny;
    bool mirrors;
};

static void step(void *context, long)
{
    struct sweep *sweep = (struct sweep *)context;
    dim3 block(32, 4), grid((sweep->nx + 31) / 32, (sweep->ny + 3) / 4);
    if (sweep->mirrors)
        mirror<<<grid, block>>>(sweep->of[1], sweep->of[0], sweep->nx, sweep->ny);
    else
        relax<<<grid, block>>>(sweep->of[1], sweep->of[0], sweep->nx, sweep->ny);
    float *next = sweep->of[1];
    sweep->of[1] = sweep->of[0];
    sweep->of[0] = next;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 20, 1, NULL, 0, 0};
    long nx = 96, ny = 64, mirrors = 0;
    struct sweep sweep = {};
    const struct option own[] = {
        {"nx", &nx, NULL, NULL, "cells along x"},
        {"ny", &ny, NULL, NULL, "cells along y"},
        {"mirror", &mirrors, NULL, NULL, "1: each step adds the far end instead"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "One stencil, its two arrays swapped.", own);
    sweep.nx = (int)nx, sweep.ny = (int)ny, sweep.mirrors = mirrors;
    struct result results[2];
    for (int k = 0; k < 2; k++) {
        CHECK(cudaMalloc((void **)&sweep.of[k], nx * ny * sizeof(float)));
        fill<<<(int)((nx * ny + 255) / 256), 256>>>(sweep.of[k], 1000 * k, nx * ny);
        results[k] = (struct result){k ? "b" : "a", sweep.of[k], (size_t)(nx * ny) * sizeof(float)};
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &sweep);
    bench_results(&bench, results, 2);
    return 0;
}
