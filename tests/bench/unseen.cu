/* SPDX-License-Identifier: Apache-2.0
 * Launches that no analysis sees through, around two kernels with a temporary: step after step x is
 * rewritten, t = f(x), y = g(t), and somewhere in the step an unseen kernel reads t as it was left. --order
 * has a letter for each launch of a step. */
#include "bench/bench.h"
#include "tests/bench/driver_call.h"

static int n;
static size_t bytes;
static float *x, *t, *y, *seen, *other, **table;
static cudaEvent_t event;
static CUfunction loaded;

__device__ float *pointed;

__global__ void rewrite(int n, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0.5f * x[i] + (float)(i % 13);
}

__global__ void first(int n, const float *x, float *t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = x[i] * 3.0f + 1.0f;
}

__global__ void second(int n, const float *t, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = t[i] - 2.0f;
}

/* The unseen ones: seen[i] += 0.25 t[i]. */
__global__ void by_table(int n, float *const *table, float *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) seen[i] += 0.25f * table[i & 1][i];
}

__global__ void by_variable(int n, float *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) seen[i] += 0.25f * pointed[i];
}

__global__ void by_volatile(int n, const volatile float *t, float *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) seen[i] += 0.25f * t[i];
}

__device__ __noinline__ void add_quarter(float *seen, const float *t, int i)
{
    seen[i] += 0.25f * t[i];
}
__device__ __noinline__ void add_half(float *seen, const float *t, int i)
{
    seen[i] += 0.5f * t[i];
}
__global__ void by_call(int n, const float *t, float *seen, int which)
{
    void (*called)(float *, const float *, int) = which ? add_half : add_quarter;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) called(seen, t, i);
}

/* The same from an image of its own, which may be one without PTX. */
static const char image[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry by_module(.param .u32 n, .param .u64 t, .param .u64 seen)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [t];\nld.param.u64 %rd2, [seen];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
    "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra end;\n"
    "mul.wide.s32 %rd3, %r5, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
    "ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd5];\n"
    "fma.rn.f32 %f3, %f1, 0f3e800000, %f2;\nst.global.f32 [%rd5], %f3;\n"
    "end:\nret;\n}\n";

static void load_module(void)
{
    CUmodule module;
    if (DRIVER_CALL(cuModuleLoadData)(&module, image) == CUDA_SUCCESS &&
        DRIVER_CALL(cuModuleGetFunction)(&loaded, module, "by_module") == CUDA_SUCCESS)
        return;
    fprintf(stderr, "unseen: the module cannot be loaded\n");
    exit(1);
}

static void launch_loaded(unsigned blocks)
{
    static const auto make = DRIVER_CALL(cuLaunchKernel);
    void *arguments[] = {&n, &t, &seen};
    if (make(loaded, blocks, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) != CUDA_SUCCESS) exit(1);
}

static void launch(char letter, int step)
{
    unsigned blocks = (n + 127) / 128;
    switch (letter) {
    case 'e':
        CHECK(cudaEventRecord(event));
        break;
    case 's':
        CHECK(cudaDeviceSynchronize());
        break;
    case 'S':
        rewrite<<<blocks, 128>>>(n, x);
        break;
    case '1':
        first<<<blocks, 128>>>(n, x, t);
        break;
    case '2':
        second<<<blocks, 128>>>(n, t, y);
        break;
    case 'T':
        by_table<<<blocks, 128>>>(n, table, seen);
        break;
    case 'V':
        by_variable<<<blocks, 128>>>(n, seen);
        break;
    case 'W':
        by_volatile<<<blocks, 128>>>(n, t, seen);
        break;
    case 'C':
        by_call<<<blocks, 128>>>(n, t, seen, step % 2);
        break;
    case 'M':
        launch_loaded(blocks);
        break;
    default:
        fprintf(stderr, "unseen: no such letter: %c\n", letter);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 8, 1, NULL, 0, 0};
    const char *order = "eST12";
    long size = 4096, turned = 1;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in each array"},
        {"order", NULL, &order, NULL, "of a step, a letter each: see launch"},
        {"turned", &turned, NULL, NULL,
         "the step from which on the table and the variable name another array"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    turned = 1000000;
    bench_options(&bench, argc, argv, "Kernels that no analysis sees through, beside a temporary.", own);
    n = (int)size;
    bytes = n * sizeof *x;
    for (float **array : {&x, &t, &y, &seen, &other}) {
        CHECK(cudaMalloc((void **)array, bytes));
        CHECK(cudaMemset(*array, 0, bytes));
    }
    CHECK(cudaMalloc((void **)&table, 2 * sizeof *table));
    CHECK(cudaEventCreate(&event));
    if (strchr(order, 'M')) load_module();
    for (int step = 0; step < bench.steps; step++) {
        if (step == 0 || step == turned) {
            float *const to = step == turned ? other : t, *const both[] = {to, t};
            CHECK(cudaMemcpy(table, both, sizeof both, cudaMemcpyHostToDevice));
            CHECK(cudaMemcpyToSymbol(pointed, &to, sizeof to));
        }
        for (const char *letter = order; *letter; letter++) launch(*letter, step);
    }
    const struct result results[] = {
        {"x", x, bytes}, {"t", t, bytes}, {"y", y, bytes}, {"seen", seen, bytes}};
    bench_results(&bench, results, 4);
    return 0;
}
