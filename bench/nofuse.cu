/* SPDX-License-Identifier: Apache-2.0
 * Many small kernels of which no two can be fused: each reads, at the other end of a ring, what far away blocks of the one
 * before have written, and more than one thread of them. It measures what a tool costs that looks at launches and can do nothing for them. */
#include "bench.h"

/* Each element from its mirror image and that one's neighbours. */
__global__ void relax(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, m = n - 1 - i;
    if (i < n)
        to[i] = 0.25f * from[m == 0 ? n - 1 : m - 1] + 0.5f * from[m] + 0.25f * from[m == n - 1 ? 0 : m + 1];
}

/* Each element from itself and its mirror image. */
__global__ void shift(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 0.5f * (from[i] + from[n - 1 - i]);
}

struct ring {
    float *a, *b;
    int n, blocks;
};

static void step(void *context, long)
{
    struct ring *r = (struct ring *)context;
    relax<<<r->blocks, 128>>>(r->a, r->b, r->n);
    shift<<<r->blocks, 128>>>(r->b, r->a, r->n);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 1000, 1, NULL, 0, 0};
    long size = 4096;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats on the ring, even"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Small dependent kernels that exchange values between threads.", own);
    struct ring r = {NULL, NULL, (int)(size / 2 * 2), (int)((size + 127) / 128)};
    size_t bytes = r.n * sizeof(float);
    float *host = (float *)malloc(bytes);
    for (int i = 0; i < r.n; i++) host[i] = (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
    CHECK(cudaMalloc((void **)&r.a, bytes));
    CHECK(cudaMalloc((void **)&r.b, bytes));
    CHECK(cudaMemcpy(r.a, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(r.b, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    bench_loop(&bench, step, &r);

    const struct result results[] = {{"a", r.a, bytes}, {"b", r.b, bytes}};
    bench_results(&bench, results, 2);
    return 0;
}
