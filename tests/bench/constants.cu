/* SPDX-License-Identifier: Apache-2.0
 * Kernels that find their sizes and a table of planes in __constant__ variables, as many do. --change N says how some of these are
 * written in the middle of the run, of which a plan that was made without knows nothing. */
#include "bench/bench.h"
#include "tests/bench/modes.h"

#include <unistd.h>

enum { PLANES = 4, STEPS = 12 };
__constant__ int d_nx, d_ny;
__constant__ int d_from[PLANES] = {1, 0, 3, 2};
__constant__ long long d_plane;
__constant__ float d_weight[PLANES];
__constant__ int d_skip; /* elements */
__constant__ int d_back = -1;

#define CELL                                                                                                 \
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;                \
    if (x >= d_nx || y >= d_ny) return;                                                                      \
    long long i = (long long)y * d_nx + x

__global__ void turn(float *to, const float *from)
{
    CELL;
#pragma unroll
    for (int k = 0; k < PLANES; k++)
        to[k * d_plane + d_skip + i] = from[d_from[k] * d_plane + i] + d_weight[k];
}

__global__ void relax(float *to, const float *from, float factor)
{
    CELL;
#pragma unroll
    for (int k = 0; k < PLANES; k++) to[k * d_plane + i] += factor * from[k * d_plane + i];
}

__global__ void back(float *a, const float *b)
{
    CELL;
#pragma unroll
    for (int k = 0; k < PLANES; k++) a[d_from[k] * d_plane + i + 1 + d_back] = 0.5f * b[k * d_plane + i];
}

static int nx = 64, ny = 24;
static long long plane;
static float *a, *b, *spare;
static cudaStream_t stream;

static void write_sizes(int width)
{
    CHECK(cudaMemcpyToSymbol(d_nx, &width, sizeof width));
}

static void change_nothing(void)
{
}
static void write_the_same(void)
{
    write_sizes(nx);
}
static void write_less(void)
{
    write_sizes(nx / 2);
}
/* 256 times as long in memory as in truth, for one byte of it */
static void write_a_byte(void)
{
    unsigned char byte = 7;
    CHECK(cudaMemcpyToSymbol(d_ny, &byte, 1));
}
static void write_the_table(void)
{
    const int from[2] = {0, 1};
    CHECK(cudaMemcpyToSymbol(d_from, from, sizeof from, sizeof(int)));
}
static void write_behind_the_host(void)
{
    static int width;
    width = nx - 3;
    CHECK(cudaMemcpyToSymbolAsync(d_nx, &width, sizeof width, 0, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
}
static void write_from_the_device(void)
{
    int width = nx - 5;
    CHECK(cudaMemcpy(spare, &width, sizeof width, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(d_nx, spare, sizeof width, 0, cudaMemcpyDeviceToDevice));
}
static void set_it(void)
{
    void *address;
    CHECK(cudaGetSymbolAddress(&address, d_ny));
    CHECK(cudaMemset(address, 0, 1));
    CHECK(cudaMemset(address, 9, 1));
}
/* Which no size depends on. */
static void write_a_weight(void)
{
    const float weight = 0.75f;
    CHECK(cudaMemcpy(spare, &weight, sizeof weight, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbolAsync(d_weight, spare, sizeof weight, 0, cudaMemcpyDeviceToDevice, stream));
}
static void write_twice(void)
{
    write_less();
    write_sizes(nx);
}

static void launch_all(void);
static volatile int is_open;
static void await_open(void *context)
{
    (void)context;
    while (!is_open) usleep(100);
}
/* Launches find what the host writes while they wait for it. */
static void write_before_the_queued(void)
{
    const int skip = 1;
    CHECK(cudaLaunchHostFunc(stream, await_open, NULL));
    launch_all();
    CHECK(cudaMemcpyToSymbol(d_skip, &skip, sizeof skip));
    is_open = 1;
    CHECK(cudaStreamSynchronize(stream));
}
/* A copy that waits for the host comes after one that was made later. */
static void write_overtaking(void)
{
    const int none = 0;
    int *skip;
    cudaStream_t other;
    CHECK(cudaMallocHost((void **)&skip, sizeof *skip));
    *skip = 1;
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaLaunchHostFunc(other, await_open, NULL));
    CHECK(cudaMemcpyToSymbolAsync(d_skip, skip, sizeof *skip, 0, cudaMemcpyHostToDevice, other));
    CHECK(cudaMemcpyToSymbol(d_skip, &none, sizeof none));
    is_open = 1;
    CHECK(cudaDeviceSynchronize());
}
static __global__ void wait_for(volatile int *flag)
{
    while (!*flag) continue;
}
/* The same, of one that a kernel holds up. */
static void write_late(void)
{
    const int none = 0, some = 1;
    volatile int *flag;
    int *skip;
    cudaStream_t other;
    CHECK(cudaMallocHost((void **)&flag, sizeof *flag));
    CHECK(cudaMalloc((void **)&skip, sizeof *skip));
    CHECK(cudaMemcpy(skip, &some, sizeof some, cudaMemcpyHostToDevice));
    *flag = 0;
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    wait_for<<<1, 1, 0, other>>>(flag);
    CHECK(cudaMemcpyToSymbolAsync(d_skip, skip, sizeof *skip, 0, cudaMemcpyDeviceToDevice, other));
    CHECK(cudaMemcpyToSymbol(d_skip, &none, sizeof none));
    *flag = 1;
    CHECK(cudaStreamSynchronize(other));
}
/* What was held up is over once the device has been waited for. */
static void write_after_a_wait(void)
{
    const int none = 0;
    is_open = 1;
    CHECK(cudaLaunchHostFunc(stream, await_open, NULL));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyToSymbol(d_skip, &none, sizeof none));
}

/* Against the documents, though it is what devices do. */
static __global__ void poke(int *at, int value)
{
    *at = value;
}
static void write_by_a_kernel(void)
{
    void *address;
    CHECK(cudaGetSymbolAddress(&address, d_nx));
    poke<<<1, 1, 0, stream>>>((int *)address, nx / 2);
}

static const struct change {
    const char *name;
    void (*make)(void);
} changes[] = {{"nothing", change_nothing},
               {"same", write_the_same},
               {"less", write_less},
               {"byte", write_a_byte},
               {"table", write_the_table},
               {"async", write_behind_the_host},
               {"set", set_it},
               {"device", write_from_the_device},
               {"weight", write_a_weight},
               {"twice", write_twice},
               {"kernel", write_by_a_kernel},
               {"queued", write_before_the_queued},
               {"overtaking", write_overtaking},
               {"late", write_late},
               {"wait", write_after_a_wait}};

static const struct change *change = changes;
static float factor = 0.25f;

static void launch_all(void)
{
    dim3 block(32, 4), grid((nx + 31) / 32, (ny + 3) / 4);
    turn<<<grid, block, 0, stream>>>(b, a);
    relax<<<grid, block, 0, stream>>>(b, a, factor);
    back<<<grid, block, 0, stream>>>(a, b);
    CHECK(cudaGetLastError());
}

static void step(void *context, long number)
{
    (void)context;
    if (number == STEPS / 2) change->make();
    launch_all();
    CHECK(cudaStreamSynchronize(stream)); /* so that a step is a group */
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, STEPS, 1, NULL, 0, 0};
    const char *name = "nothing";
    long width = nx;
    int own_stream = 0;
    const struct option own[] = {
        {"change", NULL, &name, NULL, "what is written in the middle, and how"},
        {"width", &width, NULL, NULL, "elements in a row"},
        {"stream", NULL, NULL, &own_stream, "in a stream of its own"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Sizes and tables in constant memory.", own);
    change = find_mode("constants", changes, name);
    const float weight[PLANES] = {0.5f, 0.25f, 0.125f, 1.0f};
    nx = (int)width;
    plane = (long long)nx * ny;
    size_t bytes = ((size_t)plane * PLANES + 1) * sizeof *a;
    float *start = (float *)malloc(bytes);
    for (long long i = 0; i <= plane * PLANES; i++) start[i] = (float)(i % 23) / 23;
    float **arrays[] = {&a, &b, &spare};
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMalloc((void **)arrays[k], bytes));
        CHECK(cudaMemcpy(*arrays[k], start, bytes, cudaMemcpyHostToDevice));
    }
    CHECK(cudaMemcpyToSymbol(d_nx, &nx, sizeof nx));
    CHECK(cudaMemcpyToSymbol(d_ny, &ny, sizeof ny));
    CHECK(cudaMemcpyToSymbol(d_plane, &plane, sizeof plane));
    CHECK(cudaMemcpyToSymbol(d_weight, weight, sizeof weight));
    if (own_stream) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    bench_loop(&bench, step, NULL);
    const struct result results[] = {{"a", a, bytes}, {"b", b, bytes}};
    bench_results(&bench, results, 2);
    return 0;
}
