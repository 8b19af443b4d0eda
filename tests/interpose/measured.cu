/* SPDX-License-Identifier: Apache-2.0
 * A pair of kernels that gains fused, since they only pass a value on, and one that loses, since the second reads far
 * neighbours of what the first takes long to compute. The latter is launched in the first steps only. */
#include "bench/bench.h"

enum { CELLS = 256, BLOCK = 64, REACH = 24 };

__global__ void lift(float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 0.5f * x[i] + 1.0f;
}

__global__ void fold(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * x[i] - 1.0f;
}

__global__ void brood(const float *x, float *y, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int turn = 0; turn < turns; turn++) v = 0.9999f * v + 0.0625f;
    y[i] = v;
}

__global__ void meet(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= REACH && i < n - REACH) y[i] = 0.5f * (x[i - REACH] + x[i + REACH]);
}

struct arrays {
    float *x, *y, *u, *v;
    long losers;
};

static void step(void *context, long number)
{
    struct arrays *a = (struct arrays *)context;
    lift<<<CELLS / BLOCK, BLOCK>>>(a->x);
    fold<<<CELLS / BLOCK, BLOCK>>>(a->x, a->y);
    CHECK(cudaStreamSynchronize(0)); /* no group has kernels of both pairs */
    if (number >= a->losers) return;
    brood<<<CELLS / BLOCK, BLOCK>>>(a->u, a->v, 1000);
    meet<<<CELLS / BLOCK, BLOCK>>>(a->v, a->u, CELLS);
    CHECK(cudaStreamSynchronize(0));
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 20, 1, NULL, 0, 0};
    struct arrays a = {NULL, NULL, NULL, NULL, 20};
    const struct option own[] = {
        {"losers", &a.losers, NULL, NULL, "steps that have the pair that loses"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Pairs of kernels, of which one loses fused.", own);
    float **arrays[] = {&a.x, &a.y, &a.u, &a.v}, cells[CELLS];
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < CELLS; i++) cells[i] = (float)(i % 17 + k);
        CHECK(cudaMalloc((void **)arrays[k], sizeof cells));
        CHECK(cudaMemcpy(*arrays[k], cells, sizeof cells, cudaMemcpyHostToDevice));
    }
    bench_loop(&bench, step, &a);
    const struct result results[] = {
        {"x", a.x, sizeof cells}, {"y", a.y, sizeof cells}, {"u", a.u, sizeof cells}, {"v", a.v, sizeof cells}};
    bench_results(&bench, results, 4);
    return 0;
}
