/* SPDX-License-Identifier: Apache-2.0
 * A time step of small kernels, written as calls of a parallel_for with closures that capture pointers, sizes and small arrays by
 * value. --form says how the kernel takes them: 1 as plain arguments; 2 as a closure; 3 as a closure that stays in the parameter
 * space; 4 as a closure of which it makes a copy in local memory, and passes that on; 5 as 3, through a generic address. All do the
 * same. Some of the small arrays are read at indices that vary. */
#include "../../bench/bench.h"

enum { WEIGHTS = 5 };
struct weights {
    float of[WEIGHTS];
    int shift[4];
};

struct smooth {
    int n;
    float *out;
    const float *in;
    struct weights w;
    __device__ void operator()(int i) const
    {
        float sum = 0;
        if (i >= n) return;
#pragma unroll
        for (int k = 0; k < WEIGHTS; k++) sum += w.of[k] * in[i];
        out[i] = sum;
    }
};
struct turn { /* reads a weight that varies from thread to thread, and one that a size says */
    struct weights w;
    const float *in;
    float *out;
    int n, last;
    __device__ void operator()(int i) const
    {
        if (i < n) out[i] = in[i] * w.of[i % WEIGHTS] + w.of[last] + (float)w.shift[i & 3];
    }
};
struct series { /* reads weights in a loop */
    struct weights w;
    short terms, by;
    float *out;
    const float *in;
    int n;
    __device__ void operator()(int i) const
    {
        float sum = 1;
        if (i >= n) return;
        for (int k = 0; k < terms; k++) sum = sum * in[i] + w.of[k];
        out[i] += sum * by;
    }
};
struct add {
    float *out;
    const float *in;
    float factor;
    int n;
    __device__ void operator()(int i) const
    {
        if (i < n) out[i] += factor * in[i];
    }
};

template <class F> __device__ __noinline__ void call(const F *closure, int i)
{
    (*closure)(i);
}

template <class F> __global__ void run(F closure)
{
    closure((int)(blockIdx.x * blockDim.x + threadIdx.x));
}
template <class F> __global__ void run_in_place(const __grid_constant__ F closure)
{
    closure((int)(blockIdx.x * blockDim.x + threadIdx.x));
}
template <class F> __global__ void run_copy(F closure)
{
    call(&closure, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}
template <class F> __global__ void run_generic(const __grid_constant__ F closure)
{
    call(&closure, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}

__global__ void plain_smooth(int n, float *out, const float *in, float w0, float w1, float w2, float w3, float w4)
{
    smooth{n, out, in, {{w0, w1, w2, w3, w4}, {}}}((int)(blockIdx.x * blockDim.x + threadIdx.x));
}
__global__ void plain_turn(const float *in, float *out, float w0, float w1, float w2, float w3, float w4, int s0, int s1, int s2,
                           int s3, int n, int last)
{
    turn{{{w0, w1, w2, w3, w4}, {s0, s1, s2, s3}}, in, out, n, last}((int)(blockIdx.x * blockDim.x + threadIdx.x));
}
__global__ void plain_series(float w0, float w1, float w2, float w3, float w4, short terms, short by, float *out,
                             const float *in, int n)
{
    series{{{w0, w1, w2, w3, w4}, {}}, terms, by, out, in, n}((int)(blockIdx.x * blockDim.x + threadIdx.x));
}
__global__ void plain_add(float *out, const float *in, float factor, int n)
{
    add{out, in, factor, n}((int)(blockIdx.x * blockDim.x + threadIdx.x));
}

struct program {
    long form, n;
    float *x, *y, *z;
};

template <class F> static void parallel_for(const struct program *program, const F &closure)
{
    int blocks = (int)((program->n + 127) / 128);
    if (program->form == 2) run<<<blocks, 128>>>(closure);
    if (program->form == 3) run_in_place<<<blocks, 128>>>(closure);
    if (program->form == 4) run_copy<<<blocks, 128>>>(closure);
    if (program->form == 5) run_generic<<<blocks, 128>>>(closure);
}

static void step(void *context, long number)
{
    const struct program *p = (const struct program *)context;
    int n = (int)p->n, blocks = (n + 127) / 128;
    float scale = 1.0f / (float)(number % 7 + 2);
    struct weights w = {{0.1f, 0.2f * scale, 0.3f, -0.1f, 0.15f}, {1, -1, 2, (int)(number % 3)}};
    if (p->form > 1) {
        parallel_for(p, smooth{n, p->y, p->x, w});
        parallel_for(p, turn{w, p->y, p->z, n, 2});
        parallel_for(p, series{w, 4, 2, p->y, p->z, n});
        parallel_for(p, add{p->x, p->y, 0.25f * scale, n});
        return;
    }
    const float *f = w.of;
    const int *s = w.shift;
    plain_smooth<<<blocks, 128>>>(n, p->y, p->x, f[0], f[1], f[2], f[3], f[4]);
    plain_turn<<<blocks, 128>>>(p->y, p->z, f[0], f[1], f[2], f[3], f[4], s[0], s[1], s[2], s[3], n, 2);
    plain_series<<<blocks, 128>>>(f[0], f[1], f[2], f[3], f[4], 4, 2, p->y, p->z, n);
    plain_add<<<blocks, 128>>>(p->x, p->y, 0.25f * scale, n);
}

__global__ void fill(float *x, unsigned seed, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = ((i + seed) * 2654435761u >> 12 & 0xfffff) * (1.0f / 1048576.0f);
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 20, 1, NULL, 0, 0};
    struct program program = {1, 3000, NULL, NULL, NULL};
    const struct option own[] = {
        {"form", &program.form, NULL, NULL, "how kernels take their arguments: 1 to 5"},
        {"n", &program.n, NULL, NULL, "elements"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Small kernels by parallel_for, with closures by value.", own);
    float **arrays[] = {&program.x, &program.y, &program.z};
    const char *const names[] = {"x", "y", "z"};
    struct result results[3];
    size_t bytes = (size_t)program.n * sizeof(float);
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMalloc((void **)arrays[k], bytes));
        fill<<<(int)((program.n + 255) / 256), 256>>>(*arrays[k], 1000 * k, program.n);
        results[k] = (struct result){names[k], *arrays[k], bytes};
    }
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, &program);
    bench_results(&bench, results, 3);
    return 0;
}
