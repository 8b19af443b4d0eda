/* SPDX-License-Identifier: Apache-2.0
 * A program whose large kernels have small ones behind them: sums of partial sums, scalars, a source, receivers. A step is what
 * --step says, a letter each. With --streams, each step is made in as many streams, on arrays of their own, and they run at a time;
 * with --renew these are made anew in each step. */
#include "tests/bench/arrays.h"

#include <string.h>

enum { MOST_STREAMS = 4, BLOCK = 256, POINTS = 40, SCALARS = 8 };
static int nx = 150, ny = 110, steps = 6, streams = 1, elements;
static const char *step_letters = "Adfcxrdfcp";
static bool renews, tells_time;

struct fields {
    float *x, *r, *p, *q, *u, *v, *partial, *scalars, *record;
    int *places;
    cudaStream_t stream;
};
static struct fields every[MOST_STREAMS];

__global__ void multiply(float *q, const float *__restrict__ p, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, at = j * nx + i;
    if (i >= nx || j >= ny) return;
    float sum = 4.0f * p[at];
    if (i > 0) sum -= p[at - 1];
    if (i < nx - 1) sum -= p[at + 1];
    if (j > 0) sum -= p[at - nx];
    if (j < ny - 1) sum -= p[at + nx];
    q[at] = sum;
}

__device__ float block_sum(float value)
{
    __shared__ float sums[2 * BLOCK];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

__global__ void products(float *partial, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? a[i] * b[i] : 0.0f);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void sum_up(float *sum, const float *__restrict__ partial, int blocks)
{
    float value = 0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) value += partial[i];
    value = block_sum(value);
    if (threadIdx.x == 0) *sum = value;
}

/* Of a block in which threads leave before others meet. */
__global__ void sum_warp(float *sum, const float *partial, int blocks)
{
    float value = 0;
    if (threadIdx.x >= 32) return;
    for (int i = threadIdx.x; i < blocks; i += 32) value += partial[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x == 0) *sum = value;
}

/* Of warps that are left; the others have gone before the block meets again. */
__global__ void products_early(float *partial, const float *a, const float *b, int n)
{
    __shared__ float sums[BLOCK / 32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < BLOCK / 32) sums[threadIdx.x] = 0;
    __syncthreads();
    if (i >= n) return;
    float value = a[i] * b[i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int warp = 1; warp < BLOCK / 32; warp++) sums[0] += sums[warp];
    partial[blockIdx.x] = sums[0];
}

__global__ void scalar(float *scalars)
{
    scalars[1] = scalars[0] / (scalars[2] + 1.5f);
    scalars[2] = scalars[0];
}

__global__ void add(float *x, const float *p, const float *scalars, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 0.01f * scalars[1] * p[i];
}

__global__ void renew(float *p, const float *r, const float *scalars, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = r[i] + 0.01f * scalars[1] * p[i];
}

/* A wave: neighbours of all threads, its source and its receivers. */
__global__ void wave(float *v, const float *u, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1, at = j * nx + i;
    if (i >= nx - 1 || j >= ny - 1) return;
    v[at] = 1.9f * u[at] - v[at] + 0.05f * (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] - 4.0f * u[at]);
}

__global__ void inject(float *v, int at, float amplitude)
{
    v[at] += amplitude;
}

__global__ void receive(float *record, const float *v, const int *places, int points, int step)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < points) record[step * points + k] = v[places[k]];
}

/* A border of three sides, from the other one. */
__global__ void border(float *v, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx) v[i] = v[(ny - 2) * nx + i];
    if (i < nx) v[(ny - 1) * nx + i] = v[nx + i];
}

static void launch(struct fields *f, char letter, int step)
{
    dim3 plane((nx + 31) / 32, (ny + 7) / 8), tile(32, 8);
    int blocks = (elements + BLOCK - 1) / BLOCK;
    float *swapped = f->u;
    switch (letter) {
    case 'A': multiply<<<plane, tile, 0, f->stream>>>(f->q, f->p, nx, ny); break;
    case 'C': multiply<<<plane, tile, 0, f->stream>>>(f->u, f->q, nx, ny); break;
    case 'd': products<<<blocks, BLOCK, 0, f->stream>>>(f->partial, f->p, f->q, elements); break;
    case 'e': products_early<<<blocks + 1, BLOCK, 0, f->stream>>>(f->partial, f->p, f->q, elements); break;
    case 'f': sum_up<<<1, BLOCK, 0, f->stream>>>(f->scalars, f->partial, blocks); break;
    case 'F': sum_up<<<1, 64, 0, f->stream>>>(f->scalars, f->partial, blocks); break;
    case 'B': sum_up<<<1, 512, 0, f->stream>>>(f->scalars, f->partial, blocks); break;
    case 'W': sum_warp<<<1, 96, 0, f->stream>>>(f->scalars, f->partial, blocks); break;
    case 'c': scalar<<<1, 1, 0, f->stream>>>(f->scalars); break;
    case 'x': add<<<blocks, BLOCK, 0, f->stream>>>(f->x, f->p, f->scalars, elements); break;
    case 'r': add<<<blocks, BLOCK, 0, f->stream>>>(f->r, f->q, f->scalars, elements); break;
    case 'p': renew<<<blocks, BLOCK, 0, f->stream>>>(f->p, f->r, f->scalars, elements); break;
    case 'w':
        wave<<<plane, tile, 0, f->stream>>>(f->v, f->u, nx, ny);
        f->u = f->v;
        f->v = swapped;
        break;
    case 'i': inject<<<1, 1, 0, f->stream>>>(f->u, ny / 2 * nx + nx / 3, 1.0f / (step + 1)); break;
    case 'g': receive<<<(POINTS + 31) / 32, 32, 0, f->stream>>>(f->record, f->u, f->places, POINTS, step); break;
    case 'b': border<<<(nx + 63) / 64, 64, 0, f->stream>>>(f->u, nx, ny); break;
    case 's': CHECK(cudaStreamSynchronize(f->stream)); break;
    }
    CHECK(cudaGetLastError());
}

static float value_at(size_t i)
{
    return (float)((i * 7919 + 13) % 1000) * 1e-3f - 0.3f;
}

static float zero_at(size_t)
{
    return 0;
}

static void make(struct fields *f)
{
    f->x = array_of(value_at), f->r = array_of(value_at), f->p = array_of(value_at), f->q = array_of(zero_at);
    f->u = array_of(value_at), f->v = array_of(value_at), f->partial = array_of(zero_at), f->record = array_of(zero_at);
    f->scalars = array_of(zero_at);
    int places[POINTS];
    for (int k = 0; k < POINTS; k++) places[k] = (k * 2741 + 77) % elements;
    CHECK(cudaMalloc(&f->places, sizeof places));
    CHECK(cudaMemcpy(f->places, places, sizeof places, cudaMemcpyHostToDevice));
    if (streams > 1 || renews) CHECK(cudaStreamCreate(&f->stream));
}

static void renew_stream(struct fields *f)
{
    CHECK(cudaStreamDestroy(f->stream));
    CHECK(cudaStreamCreate(&f->stream));
}

static void make_step(int step)
{
    for (int s = 0; s < streams; s++)
        for (const char *letter = step_letters; *letter; letter++) launch(&every[s], *letter, step);
    for (int s = 0; s < streams && renews; s++) renew_stream(&every[s]);
}

static void dump(const char *path)
{
    FILE *out = path ? fopen(path, "wb") : NULL;
    for (int s = 0; s < streams; s++) {
        float *arrays[] = {every[s].x, every[s].r, every[s].p, every[s].q, every[s].u, every[s].v, every[s].scalars, every[s].record};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            tell("array", arrays[i], count);
            if (out) fwrite(host, sizeof *host, count, out);
        }
    }
    if (out) fclose(out);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--step") && i + 1 < argc) step_letters = argv[++i];
        else if (!strcmp(argv[i], "--size") && i + 2 < argc) nx = atoi(argv[i + 1]), ny = atoi(argv[i + 2]), i += 2;
        else if (!strcmp(argv[i], "--steps") && i + 1 < argc) steps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--streams") && i + 1 < argc) streams = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--renew")) renews = true;
        else if (!strcmp(argv[i], "--time")) tells_time = true;
        else if (!strcmp(argv[i], "--dump") && i + 1 < argc) path = argv[++i];
        else return fprintf(stderr, "usage: behind [--step LETTERS] [--size X Y] [--steps N] [--streams N] [--renew] [--time] [--dump FILE]\n"), 2;
    }
    elements = nx * ny;
    count = (size_t)elements > (size_t)steps * POINTS ? elements : (size_t)steps * POINTS;
    host = (float *)malloc(count * sizeof *host);
    for (int s = 0; s < streams; s++) make(&every[s]);
    CHECK(cudaDeviceSynchronize());
    double begun = bench_now_us();
    for (int step = 0; step < steps; step++) make_step(step);
    CHECK(cudaDeviceSynchronize());
    if (tells_time) fprintf(stderr, "%.3f us a step\n", (bench_now_us() - begun) / steps);
    dump(path);
    return 0;
}
