/* SPDX-License-Identifier: Apache-2.0
 * A program that waits for the device after each of its kernels, and then looks, or does not, at what they have done: by the
 * mode. What it sees behind a wait is printed. */
#include "bench/bench.h"

#include <pthread.h>

static int n;
static float *a, *b, *c, *pinned, *mapped, *managed, **table;
static cudaStream_t other;
static cudaEvent_t before, after;
static cudaGraphExec_t graph;
static int called;
__device__ float variable[16];

__global__ void scale(int n, float *b, const float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 0.5f * a[i] + 1;
}

__global__ void add(int n, float *c, const float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = c[i] + b[i];
}

__global__ void fold(int n, float *a, const float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * 0.25f + c[i] * 0.125f;
}

/* Where to, no argument says. */
__global__ void scatter(int n, float *const *table, const float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[i % 2][i] = a[i];
}

/* Until the host goes on. */
__global__ void await(const volatile float *flag, float value)
{
    while (*flag != value) continue;
}

static double sum_of(const float *data)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += data[i] * (i % 5 + 1);
    return sum;
}

static void copy_in(cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(pinned, a, n * sizeof *a, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%a\n", sum_of(pinned));
}

static void call(void *)
{
    called++;
}

static void make_graph(void)
{
    const cudaHostNodeParams counts = {call, NULL};
    cudaGraph_t made;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&made, 0));
    CHECK(cudaGraphAddHostNode(&node, made, NULL, 0, &counts));
    CHECK(cudaGraphInstantiate(&graph, made, 0));
}

static void *copy_beside(void *)
{
    copy_in(other);
    return NULL;
}

static void three(float *last)
{
    int blocks = (n + 127) / 128;
    scale<<<blocks, 128>>>(n, b, a);
    CHECK(cudaDeviceSynchronize());
    add<<<blocks, 128>>>(n, c, b);
    CHECK(cudaStreamSynchronize(0));
    fold<<<blocks, 128>>>(n, last, c);
}

/* What the plan does not know, and which the next wait is for. */
static void work(const char *mode)
{
    void *address;
    if (!strcmp(mode, "copy")) CHECK(cudaMemcpyAsync(pinned, a, n * sizeof *a, cudaMemcpyDeviceToHost, 0));
    if (!strcmp(mode, "device")) CHECK(cudaMemcpy(mapped, a, n * sizeof *a, cudaMemcpyDeviceToDevice));
    if (!strcmp(mode, "table") || !strcmp(mode, "variable")) scatter<<<(n + 127) / 128, 128>>>(n, table, a);
    if (!strcmp(mode, "variable")) {
        CHECK(cudaGetSymbolAddress(&address, variable));
        CHECK(cudaMemcpy(address, a, sizeof variable, cudaMemcpyDeviceToDevice));
    }
    if (!strcmp(mode, "event")) CHECK(cudaEventRecord(after, 0));
    if (!strcmp(mode, "graph")) CHECK(cudaGraphLaunch(graph, 0));
    if (!strcmp(mode, "call")) CHECK(cudaLaunchHostFunc(0, call, NULL));
}

/* Behind the last kernel of a step. */
static void look(const char *mode, int step)
{
    if (!strcmp(mode, "flag")) {
        await<<<1, 1>>>(mapped, step + 1);
        (void)cudaEventQuery(before);
        *mapped = step + 1;
    }
    static const char *const by_mapped[] = {"mapped", "table", "device", "variable"};
    work(mode);
    CHECK(cudaDeviceSynchronize());
    for (const char *way : by_mapped)
        if (!strcmp(mode, way)) printf("%a\n", sum_of(mapped));
    if (!strcmp(mode, "managed")) printf("%a\n", sum_of(managed));
    if (!strcmp(mode, "copy")) printf("%a\n", sum_of(pinned));
    if (!strcmp(mode, "call") || !strcmp(mode, "graph")) printf("%d\n", called);
    if (!strcmp(mode, "query")) printf("%d\n", (int)cudaStreamQuery(0));
    if (!strcmp(mode, "event")) {
        float ms = -1;
        printf("%d ", (int)cudaEventQuery(after));
        printf("%d %d\n", (int)cudaEventElapsedTime(&ms, before, after), ms >= 0);
    }
    if (!strcmp(mode, "stream") && step == 5) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    if (!strcmp(mode, "stream") && step >= 5) copy_in(other);
    if (!strcmp(mode, "thread") && step >= 5) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, copy_beside, NULL) || pthread_join(thread, NULL)) abort();
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 12, 1, NULL, 0, 0};
    const char *mode = "plain";
    long size = 4096;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in each array"},
        {"mode", NULL, &mode, NULL, "plain, copy, device, table, variable, mapped, managed, query, event, flag, graph, call, stream or thread"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "A wait behind every kernel.", own);
    n = (int)size;
    float **arrays[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        CHECK(cudaMalloc((void **)arrays[i], n * sizeof **arrays[i]));
        bench_clear(*arrays[i], n * sizeof **arrays[i]);
    }
    CHECK(cudaHostAlloc((void **)&pinned, n * sizeof *pinned, cudaHostAllocDefault));
    CHECK(cudaHostAlloc((void **)&mapped, n * sizeof *mapped, cudaHostAllocMapped));
    if (!strcmp(mode, "managed")) CHECK(cudaMallocManaged((void **)&managed, n * sizeof *managed));
    CHECK(cudaMalloc((void **)&table, 2 * sizeof *table));
    float *into[] = {mapped, mapped};
    CHECK(cudaMemcpy(table, into, sizeof into, cudaMemcpyHostToDevice));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    if (!strcmp(mode, "graph")) make_graph();
    if (!strcmp(mode, "thread")) CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventRecord(before, 0));
    CHECK(cudaDeviceSynchronize());
    bool is_seen = !strcmp(mode, "mapped") || !strcmp(mode, "managed");
    for (int step = 0; step < bench.steps; step++) {
        three(!is_seen ? a : managed ? managed : mapped);
        look(mode, step);
    }
    const struct result results[] = {{"a", a, n * sizeof *a}, {"c", c, n * sizeof *c}};
    bench_results(&bench, results, 2);
    return 0;
}
