/* SPDX-License-Identifier: Apache-2.0
 * Programs whose launches have an order that their data do not show. Each step fills d, runs a middle kernel
 * and uses d; what the middle kernel does is the mode. With a flag the host polls it through another stream
 * and then copies d there: what it sees is what was filled before the flag was set. */
#include "bench/bench.h"

static int n;
static float *d, *e, *host;
static unsigned *flag;
static unsigned long long *times;
static cudaStream_t other;

__global__ void fill(int n, float *d, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) d[i] = (float)(i % 17 + step);
}

__global__ void use(int n, const float *d, float *e)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) e[i] = 0.5f * e[i] + d[i];
}

__global__ void set_fenced(unsigned *flag, unsigned value)
{
    __threadfence_system();
    *flag = value;
}

__global__ void set_volatile(volatile unsigned *flag, unsigned value)
{
    *flag = value;
}

__global__ void set_released(unsigned *flag, unsigned value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__global__ void set_for_all(unsigned *flag, unsigned value)
{
    asm volatile("red.relaxed.sys.global.max.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/* Nobody may rely on its place: a relaxed atomic of the device, and a store. */
__global__ void count(unsigned *flag, unsigned value)
{
    atomicMax(flag, value);
    flag[1] = value;
}

__global__ void exchange(unsigned *flag, unsigned value)
{
    atomicExch(flag, value);
}

__global__ void stamp_ns(unsigned long long *time)
{
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*time));
}

__global__ void stamp_cycles(unsigned long long *time)
{
    *time = clock64();
}

static void middle(const char *mode, unsigned value)
{
    if (!strcmp(mode, "fence")) set_fenced<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "volatile")) set_volatile<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "release")) set_released<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "system")) set_for_all<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "relaxed")) count<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "exchange")) exchange<<<1, 1>>>(flag, value);
    if (!strcmp(mode, "timer")) stamp_ns<<<1, 1>>>(times + value);
    if (!strcmp(mode, "cycles")) stamp_cycles<<<1, 1>>>(times + value);
}

static double poll(unsigned value)
{
    unsigned seen = 0;
    double sum = 0;
    for (int turn = 0; turn < 100000 && seen != value; turn++) {
        CHECK(cudaMemcpyAsync(&seen, flag, sizeof seen, cudaMemcpyDeviceToHost, other));
        CHECK(cudaStreamSynchronize(other));
    }
    CHECK(cudaMemcpyAsync(host, d, n * sizeof *d, cudaMemcpyDeviceToHost, other));
    CHECK(cudaStreamSynchronize(other));
    for (int i = 0; i < n; i++) sum += host[i] * (i % 5 + 1);
    return sum;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 8, 1, NULL, 0, 0};
    const char *mode = "fence";
    long size = 4096;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in each array"},
        {"mode", NULL, &mode, NULL, "fence, volatile, release, system, relaxed, exchange, timer or cycles"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Launches whose order matters beyond their data.", own);
    n = (int)size;
    CHECK(cudaMalloc((void **)&d, n * sizeof *d));
    CHECK(cudaMalloc((void **)&e, n * sizeof *e));
    CHECK(cudaMalloc((void **)&flag, 2 * sizeof *flag));
    CHECK(cudaMalloc((void **)&times, (bench.steps + 1) * sizeof *times));
    bench_clear(e, n * sizeof *e);
    bench_clear(flag, 2 * sizeof *flag);
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaHostAlloc((void **)&host, n * sizeof *host, cudaHostAllocDefault));
    bool is_timed = !strcmp(mode, "timer") || !strcmp(mode, "cycles"),
         polls = strcmp(mode, "relaxed") && strcmp(mode, "exchange") && !is_timed;
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < bench.steps; step++) {
        fill<<<(n + 127) / 128, 128>>>(n, d, step);
        middle(mode, is_timed ? step : step + 1);
        use<<<(n + 127) / 128, 128>>>(n, d, e);
        if (polls) printf("%a\n", poll(step + 1));
        CHECK(cudaDeviceSynchronize());
    }
    const struct result results[] = {{"d", d, n * sizeof *d}, {"e", e, n * sizeof *e}};
    bench_results(&bench, results, 2);
    return 0;
}
