/* SPDX-License-Identifier: Apache-2.0
 * A step of an atmosphere in columns, a loop over the levels in each thread: what its kernels pass on lies on
 * the same level, on the one below, or above; one sums up. */
#include "../../bench/bench.h"

struct box {
    int nx, ny, nz;
};
#define COLUMN                                                                                               \
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;                \
    if (i >= box.nx || j >= box.ny) return;
#define AT(f, k) f[((k)*box.ny + j) * box.nx + i]

__global__ void density(float *rho, const float *p, const float *t, struct box box)
{
    COLUMN for (int k = 0; k < box.nz; k++) AT(rho, k) = AT(p, k) / (287.0f * AT(t, k));
}

__global__ void buoyancy(float *b, const float *rho, struct box box)
{
    COLUMN for (int k = 1; k < box.nz; k++) AT(b, k) = -9.81f * (AT(rho, k) - AT(rho, k - 1));
}

__global__ void clouds(float *q, const float *rho, const float *t, struct box box)
{
    COLUMN for (int k = 0; k < box.nz; k++)
    {
        float vapour = AT(q, k);
        AT(q, k) = AT(t, k) > 1.5f ? vapour * AT(rho, k) : vapour + 0.25f;
    }
}

__global__ void rain(float *sum, float *q, struct box box)
{
    COLUMN float total = AT(sum, 0);
    for (int k = 0; k < box.nz; k++) {
        float vapour = AT(q, k), falls = vapour > 1.0f ? (vapour - 1.0f) * 0.5f : 0.0f;
        total += falls;
        AT(q, k) = vapour - falls;
    }
    AT(sum, 0) = total;
}

__global__ void mix(float *mixed, const float *q, struct box box)
{
    COLUMN for (int k = 1; k < box.nz - 1; k++) AT(mixed, k) =
        0.25f * (AT(q, k - 1) + 2.0f * AT(q, k) + AT(q, k + 1));
}

__global__ void fill(float *x, unsigned seed, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1 + ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0f / 1048576.0f);
}

enum { RHO, P, T, B, Q, SUM, MIXED, ARRAYS };
static const char *const names[ARRAYS] = {"rho", "p", "t", "b", "q", "sum", "mixed"};
struct arrays {
    struct box box;
    float *of[ARRAYS];
};

static void step(void *context, long)
{
    const struct arrays *s = (const struct arrays *)context;
    const struct box box = s->box;
    float *const *f = s->of;
    dim3 block(32, 4), grid((box.nx + 31) / 32, (box.ny + 3) / 4);
    density<<<grid, block>>>(f[RHO], f[P], f[T], box);
    buoyancy<<<grid, block>>>(f[B], f[RHO], box);
    clouds<<<grid, block>>>(f[Q], f[RHO], f[T], box);
    rain<<<grid, block>>>(f[SUM], f[Q], box);
    mix<<<grid, block>>>(f[MIXED], f[Q], box);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 4, 1, NULL, 0, 0};
    long nx = 60, ny = 14, nz = 20;
    struct arrays s = {};
    const struct option own[] = {
        {"nx", &nx, NULL, NULL, "cells along x"},
        {"ny", &ny, NULL, NULL, "cells along y"},
        {"nz", &nz, NULL, NULL, "levels"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Columns of an atmosphere.", own);
    s.box = (struct box){(int)nx, (int)ny, (int)nz};
    long cells = nx * ny * nz;
    struct result results[ARRAYS];
    for (int k = 0; k < ARRAYS; k++) {
        CHECK(cudaMalloc((void **)&s.of[k], cells * sizeof(float)));
        fill<<<(int)((cells + 255) / 256), 256>>>(s.of[k], 1000 * k, cells);
        results[k] = (struct result){names[k], s.of[k], cells * sizeof(float)};
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &s);
    bench_results(&bench, results, ARRAYS);
    return 0;
}
