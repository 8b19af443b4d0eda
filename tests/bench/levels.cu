/* SPDX-License-Identifier: Apache-2.0
 * Launches that differ by a number which only shifts addresses: the time level of a field that has three, the number of the step
 * in a table, the place in a log. --from: the first step's number; --skew: where the second kernel reads, seen from what the
 * first one wrote; --bound: the step's number bounds what a kernel does, too. */
#include "../../bench/bench.h"

__global__ void advance(float *u, const float *forcing, int n, int t, int from, int to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) u[to * n + i] = u[from * n + i] * 0.75f + forcing[t] + u[n * to + i] * 0.125f;
}

__global__ void add(float *out, const float *u, int n, long at)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = out[i] * 0.5f + u[at + i];
}

__global__ void note(float *log, const float *out, int n, unsigned t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) log[t * n + i] = out[i] + t;
}

__global__ void note_some(float *log, const float *out, int n, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i >= t) log[t * n + i] = out[i];
}

__global__ void note_until(float *log, const float *out, int n, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && t < 30) log[t * n + i] = out[i];
}

/* A flux and what it changes, as codes write them for all directions: the neighbour lies so many elements before. */
__global__ void flux(float *f, const float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 2 && i < n) f[i] = out[i] * 0.5f;
}

__global__ void update(float *out, const float *f, int n, int back)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 4 && i < n) out[i] -= 0.25f * (f[i] - f[i - back]);
}

__global__ void fill(float *x, unsigned seed, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0f / 1048576.0f);
}

struct model {
    float *u, *out, *forcing, *log;
    long n, from, skew, bound, back;
};

static void step(void *context, long number)
{
    struct model *model = (struct model *)context;
    int n = (int)model->n, t = (int)(model->from + number), from = t % 3, to = (t + 1) % 3;
    dim3 block(128), grid((n + 127) / 128);
    if (model->back) {
        flux<<<grid, block>>>(model->log, model->out, n);
        update<<<grid, block>>>(model->out, model->log, n, 1 + t % 2);
        return;
    }
    advance<<<grid, block>>>(model->u, model->forcing, n, t, from, to);
    add<<<grid, block>>>(model->out, model->u, n, (long)to * n + model->skew);
    if (!model->bound) {
        note<<<grid, block>>>(model->log, model->out, n, (unsigned)t);
    } else if (model->bound == 2) {
        note_until<<<grid, block>>>(model->log, model->out, n, t);
    } else {
        note_some<<<grid, block>>>(model->log, model->out, n, t);
        add<<<grid, block>>>(model->u, model->log, n, (long)t * n);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 20, 1, NULL, 0, 0};
    struct model model = {};
    model.n = 1000;
    const struct option own[] = {
        {"size", &model.n, NULL, NULL, "elements of a level"},
        {"from", &model.from, NULL, NULL, "number of the first step"},
        {"skew", &model.skew, NULL, NULL, "elements that the second kernel reads further on"},
        {"bound", &model.bound, NULL, NULL,
         "1: the step's number bounds the cells of a kernel, too; 2: ends it at 30"},
        {"back", &model.back, NULL, NULL, "1: fluxes, and neighbours one or two elements before, in turns"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Launches that differ by numbers that shift addresses.", own);
    long steps = model.from + bench.steps + 1, sizes[4] = {4 * model.n, model.n, steps, steps * model.n};
    float **arrays[4] = {&model.u, &model.out, &model.forcing, &model.log};
    struct result results[4];
    const char *names[4] = {"u", "out", "forcing", "log"};
    for (int k = 0; k < 4; k++) {
        CHECK(cudaMalloc((void **)arrays[k], sizes[k] * sizeof(float)));
        fill<<<(int)((sizes[k] + 255) / 256), 256>>>(*arrays[k], 1000 * k, sizes[k]);
        results[k] = (struct result){names[k], *arrays[k], (size_t)sizes[k] * sizeof(float)};
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &model);
    bench_results(&bench, results, 4);
    return 0;
}
