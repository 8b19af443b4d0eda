/* SPDX-License-Identifier: Apache-2.0
 * Programs at the edges: each mode does one thing that a tool which delays or replaces launches could get
 * wrong. Rounds of two fusible launches come first, so that there is something to delay. */
#include "bench/bench.h"
#include "tests/bench/modes.h"
#include "tests/bench/scale_shift.h"

__global__ void publish(const float *x, volatile float *host, int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) *host = x[n - 1];
}

enum { N = 1000, BLOCKS = 4, THREADS = 256, ROUNDS = 5 };
static float *x;

static void rounds(cudaStream_t stream)
{
    for (int r = 0; r < ROUNDS; r++) {
        scale<<<BLOCKS, THREADS, 0, stream>>>(x, N);
        shift<<<BLOCKS, THREADS, 0, stream>>>(x, N);
    }
}

/* Ends with launches in flight. */
static int mode_exit(void)
{
    rounds(0);
    scale<<<BLOCKS, THREADS>>>(x, N);
    printf("gone\n");
    exit(3);
}

/* The host waits for a value in its own memory, with no call that would tell a tool of it. */
static int mode_poll(void)
{
    float *host, *device;
    CHECK(cudaHostAlloc((void **)&host, sizeof *host, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    rounds(0);
    for (int r = 0; r < ROUNDS; r++) {
        *host = -1.0f;
        scale<<<BLOCKS, THREADS>>>(x, N);
        publish<<<1, 32>>>(x, device, N);
        double limit = bench_now_us() + 20e6;
        while (*(volatile float *)host < 0 && bench_now_us() < limit)
            ;
        printf("seen %a\n", *host);
        shift<<<BLOCKS, THREADS>>>(x, N);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

/* An array is freed while launches on it may still be waiting. */
static int mode_free(void)
{
    float *keep = x;
    for (int r = 0; r < ROUNDS; r++) {
        CHECK(cudaMalloc((void **)&x, N * sizeof *x));
        CHECK(cudaMemset(x, 0, N * sizeof *x));
        scale<<<BLOCKS, THREADS>>>(x, N);
        CHECK(cudaFree(x));
        x = keep;
        scale<<<BLOCKS, THREADS>>>(x, N);
        shift<<<BLOCKS, THREADS>>>(x, N);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

/* The same launches, captured into a graph and replayed. */
static int capture(bool is_first)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));
    if (!is_first) {
        rounds(stream);
        scale<<<BLOCKS, THREADS, 0, stream>>>(x, N);
    }
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    rounds(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int r = 0; r < 3; r++) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}

static int mode_capture(void)
{
    return capture(false);
}

/* The program's first launches are captured, which loads its code. */
static int mode_first(void)
{
    return capture(true);
}

/* A launch that is refused, in the middle. */
static int mode_fail(void)
{
    rounds(0);
    scale<<<BLOCKS, THREADS>>>(x, N);
    shift<<<BLOCKS, 4096>>>(x, N);
    printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("again: %s\n", cudaGetErrorName(cudaGetLastError()));
    rounds(0);
    printf("synchronise: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

/* A launch that faults while it runs; what follows cannot work. */
static int mode_fault(void)
{
    rounds(0);
    scale<<<BLOCKS, THREADS>>>((float *)0x10, N);
    shift<<<BLOCKS, THREADS>>>(x, N);
    printf("synchronise: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("later: %s\n", cudaGetErrorName(cudaMalloc((void **)&x, 16)));
    return 4;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
        int has_results;
    } modes[] = {{"exit", mode_exit, 0},       {"poll", mode_poll, 1},   {"free", mode_free, 1},
                 {"capture", mode_capture, 1}, {"first", mode_first, 1}, {"fail", mode_fail, 1},
                 {"fault", mode_fault, 0}};
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "exit";
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "exit, poll, free, capture, first, fail or fault"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Things that a tool which delays launches could get wrong.", own);
    CHECK(cudaMalloc((void **)&x, N * sizeof *x));
    CHECK(cudaMemset(x, 0, N * sizeof *x));
    const auto *mode = find_mode("corners", modes, name);
    int status = mode->run();
    const struct result results[] = {{"x", x, N * sizeof *x}};
    if (mode->has_results) bench_results(&bench, results, 1);
    return status;
}
