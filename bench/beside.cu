/* SPDX-License-Identifier: Apache-2.0
 * Launches of a step that have nothing to do with each other.
 * halves: two kernels, each with blocks for half of the multiprocessors, that compute.
 * mixed: a kernel that computes beside one that moves memory, each of which fills the device.
 * borders: the four sides of sixteen planes, a small kernel each, as codes write them that have a function for each side.
 * With --by-hand, halves and borders are one launch each, as one would write it. */
#include "bench.h"

enum { PLANES = 16, SIDES = 4, THREADS = 256 };

__device__ float polynomial(float x, int terms)
{
    float sum = x, more = 0.5f * x;
    for (int k = 0; k < terms; k++) {
        sum = __fmaf_rn(sum, 0.9375f, x);
        more = __fmaf_rn(more, 0.875f, sum);
    }
    return sum + more;
}

__global__ void compute(float *y, const float *x, int terms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = polynomial(x[i], terms);
}

__global__ void compute_by_hand(float *y, const float *x, float *w, const float *v, int terms, int half)
{
    bool is_second = (int)blockIdx.x >= half;
    int i = ((int)blockIdx.x - (is_second ? half : 0)) * blockDim.x + threadIdx.x;
    (is_second ? w : y)[i] = polynomial((is_second ? v : x)[i], terms);
}

__global__ void move(float *y, const float *x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}

/* A side each: what lies there becomes the mean of itself and what lies next to it inside. */
__device__ void mean(float *u, int at, int inside)
{
    u[at] = 0.5f * (u[at] + u[inside]);
}

__global__ void west(float *u, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (j < n - 1) mean(u, j * n, j * n + 1);
}

__global__ void east(float *u, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (j < n - 1) mean(u, j * n + n - 1, j * n + n - 2);
}

__global__ void south(float *u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n - 1) mean(u, i, i + n);
}

__global__ void north(float *u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n - 1) mean(u, (n - 1) * n + i, (n - 2) * n + i);
}

struct planes {
    float *of[PLANES];
};

__global__ void borders_by_hand(struct planes planes, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x + 1;
    float *u = planes.of[blockIdx.z];
    if (at >= n - 1) return;
    if (blockIdx.y == 0) mean(u, at * n, at * n + 1);
    if (blockIdx.y == 1) mean(u, at * n + n - 1, at * n + n - 2);
    if (blockIdx.y == 2) mean(u, at, at + n);
    if (blockIdx.y == 3) mean(u, (n - 1) * n + at, (n - 2) * n + at);
}

struct work {
    struct planes planes;
    float *x, *y, *v, *w;
    int n, terms, blocks, moved, by_hand;
    const char *kind;
};

static void borders(const struct work *work)
{
    int n = work->n, blocks = (n - 2 + THREADS - 1) / THREADS;
    if (work->by_hand) {
        borders_by_hand<<<dim3(blocks, SIDES, PLANES), THREADS>>>(work->planes, n);
        return;
    }
    for (int p = 0; p < PLANES; p++) {
        west<<<blocks, THREADS>>>(work->planes.of[p], n);
        east<<<blocks, THREADS>>>(work->planes.of[p], n);
        south<<<blocks, THREADS>>>(work->planes.of[p], n);
        north<<<blocks, THREADS>>>(work->planes.of[p], n);
    }
}

static void step(void *context, long)
{
    const struct work *work = (const struct work *)context;
    if (!strcmp(work->kind, "borders")) {
        borders(work);
    } else if (!strcmp(work->kind, "mixed")) {
        compute<<<work->blocks, THREADS>>>(work->y, work->x, work->terms);
        move<<<(work->moved + THREADS - 1) / THREADS, THREADS>>>(work->w, work->v, 0.5f, work->moved);
    } else if (work->by_hand) {
        compute_by_hand<<<2 * work->blocks, THREADS>>>(work->y, work->x, work->w, work->v, work->terms, work->blocks);
    } else {
        compute<<<work->blocks, THREADS>>>(work->y, work->x, work->terms);
        compute<<<work->blocks, THREADS>>>(work->w, work->v, work->terms);
    }
}

static float *array_of(size_t count)
{
    float *array, *host = (float *)malloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++) host[i] = (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
    CHECK(cudaMalloc((void **)&array, count * sizeof *host));
    CHECK(cudaMemcpy(array, host, count * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
    return array;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 100, 1, NULL, 0, 0};
    struct work work = {};
    long size = 960, terms = 4096, blocks = 0;
    work.kind = "halves";
    const struct option own[] = {
        {"kind", NULL, &work.kind, NULL, "halves, mixed or borders"},
        {"size", &size, NULL, NULL, "borders: of a plane's side; mixed: thousands of floats moved"},
        {"terms", &terms, NULL, NULL, "turns of a thread that computes"},
        {"blocks", &blocks, NULL, NULL, "of a kernel that computes; 0: for half of the multiprocessors"},
        {"by-hand", NULL, NULL, &work.by_hand, "one launch for those of a step"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Launches that have nothing to do with each other.", own);
    struct cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    bool is_borders = !strcmp(work.kind, "borders"), is_mixed = !strcmp(work.kind, "mixed");
    work.n = (int)size, work.terms = (int)terms;
    work.blocks = blocks ? (int)blocks : device.multiProcessorCount / 2 > 0 ? device.multiProcessorCount / 2 : 1;
    work.moved = is_mixed ? (int)(size * 1000) : 0;
    size_t computed = (size_t)work.blocks * THREADS, beside = is_mixed ? work.moved : computed;
    if (is_borders)
        for (int p = 0; p < PLANES; p++) work.planes.of[p] = array_of((size_t)size * size);
    work.x = array_of(computed), work.y = array_of(computed), work.v = array_of(beside), work.w = array_of(beside);
    bench_loop(&bench, step, &work);

    const struct result results[] = {{"y", work.y, computed * sizeof(float)},
                                     {"w", work.w, beside * sizeof(float)},
                                     {"plane", is_borders ? work.planes.of[PLANES - 1] : work.y,
                                      (is_borders ? (size_t)size * size : computed) * sizeof(float)}};
    bench_results(&bench, results, 3);
    return 0;
}
