/* SPDX-License-Identifier: Apache-2.0
 * Programs that make verification hard: other threads work on bytes between those that a group writes,
 * threads wait in the driver for what the launching thread does later, a stream waits for it. Each looks at
 * its own results, and these do not depend on who comes first. */
#include "bench/bench.h"
#include "tests/bench/modes.h"
#include <atomic>
#include <pthread.h>
#include <unistd.h>

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[2 * i] = x[2 * i] * 0.5f;
}

__global__ void shift(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[2 * i] = x[2 * i] + 1.0f;
}

__global__ void put(float *x, const float *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[2 * i + 1] = value[0];
}

enum { N = 2000, THREADS = 256, BLOCKS = (N + THREADS - 1) / THREADS, WORKERS = 3 };
static float *x, *value; /* the group has the even elements, each other worker a third of the odd ones */
static long rounds = 60;
static std::atomic<int> failures, is_over, goes_on;

static void launch_rounds(cudaStream_t stream, long count)
{
    for (long r = 0; r < count; r++) {
        scale<<<BLOCKS, THREADS, 0, stream>>>(x, N);
        shift<<<BLOCKS, THREADS, 0, stream>>>(x, N);
        CHECK(cudaStreamSynchronize(stream));
    }
}

struct neighbour {
    pthread_t thread;
    int index;
    cudaStream_t stream;
    float *value;
    cudaGraphExec_t graph;
};

/* The odd elements get what the round says, by a copy, a kernel and a graph. */
static void change(struct neighbour *self, int r)
{
    const int third = N / WORKERS;
    float *from = x + 2 * third * self->index, host[N / WORKERS];
    float now = (float)r;
    switch (r % 3) {
    case 0:
        for (int i = 0; i < third; i++) host[i] = now;
        CHECK(cudaMemcpy2DAsync(from + 1, 2 * sizeof(float), host, sizeof(float), sizeof(float), third,
                                cudaMemcpyHostToDevice, self->stream));
        break;
    case 1:
        CHECK(cudaMemcpyAsync(self->value, &now, sizeof now, cudaMemcpyHostToDevice, self->stream));
        put<<<BLOCKS, THREADS, 0, self->stream>>>(from, self->value, third);
        break;
    case 2:
        CHECK(cudaMemcpyAsync(self->value, &now, sizeof now, cudaMemcpyHostToDevice, self->stream));
        CHECK(cudaGraphLaunch(self->graph, self->stream));
        break;
    }
    CHECK(cudaMemcpy2DAsync(host, sizeof(float), from + 1, 2 * sizeof(float), sizeof(float), third,
                            cudaMemcpyDeviceToHost, self->stream));
    CHECK(cudaStreamSynchronize(self->stream));
    for (int i = 0; i < third; i++) failures += host[i] != now;
}

static void *change_rounds(void *argument)
{
    struct neighbour *self = (struct neighbour *)argument;
    for (int r = 0; !is_over; r++) change(self, r);
    for (int r = 0; r < 4; r++) change(self, r);
    return NULL;
}

static int mode_neighbours(void)
{
    struct neighbour neighbours[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        struct neighbour *self = &neighbours[i];
        cudaGraph_t graph;
        self->index = i;
        CHECK(cudaStreamCreateWithFlags(&self->stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc((void **)&self->value, sizeof(float)));
        CHECK(cudaStreamBeginCapture(self->stream, cudaStreamCaptureModeRelaxed));
        put<<<BLOCKS, THREADS, 0, self->stream>>>(x + 2 * (N / WORKERS) * i, self->value, N / WORKERS);
        CHECK(cudaStreamEndCapture(self->stream, &graph));
        CHECK(cudaGraphInstantiate(&self->graph, graph, 0));
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&neighbours[i].thread, NULL, change_rounds, &neighbours[i]);
    launch_rounds(0, rounds);
    is_over = 1;
    for (int i = 0; i < WORKERS; i++) pthread_join(neighbours[i].thread, NULL);
    return failures != 0;
}

static void CUDART_CB wait_for_host(void *unused)
{
    (void)unused;
    while (!goes_on) usleep(100);
}

/* A kernel's code is loaded at its first launch, and that waits for everything that runs. */
static void load_kernels(void)
{
    scale<<<1, 1>>>(x, 0);
    shift<<<1, 1>>>(x, 0);
    CHECK(cudaDeviceSynchronize());
}

/* A stream waits for what the host does after its launches. */
static int mode_stream_waits(void)
{
    cudaStream_t stream;
    load_kernels();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaLaunchHostFunc(stream, wait_for_host, NULL));
    launch_rounds(0, rounds);
    goes_on = 1;
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}

struct waiter {
    pthread_t thread;
    cudaStream_t stream;
    float *host;
};

static void *copy_behind(void *argument)
{
    struct waiter *self = (struct waiter *)argument;
    CHECK(cudaMemcpyAsync(self->host, value, sizeof *value, cudaMemcpyDeviceToHost, self->stream));
    CHECK(cudaStreamSynchronize(self->stream));
    return NULL;
}

/* And a thread copies on that stream, and waits. */
static int wait_in_thread(float *host)
{
    struct waiter waiter = {0, 0, host};
    load_kernels();
    CHECK(cudaStreamCreateWithFlags(&waiter.stream, cudaStreamNonBlocking));
    copy_behind(&waiter);
    CHECK(cudaLaunchHostFunc(waiter.stream, wait_for_host, NULL));
    pthread_create(&waiter.thread, NULL, copy_behind, &waiter);
    usleep(50000);
    launch_rounds(0, rounds);
    goes_on = 1;
    pthread_join(waiter.thread, NULL);
    return 0;
}

/* It waits in the synchronisation, as the copy is to pinned memory. */
static int mode_thread_waits(void)
{
    float *host;
    CHECK(cudaMallocHost((void **)&host, sizeof *host));
    return wait_in_thread(host);
}

/* It waits in the copy. For the emulator alone: NVIDIA's driver lets no other thread launch while one is in a
 * copy to pageable memory, so there the program never ends, kfuse or not. */
static int mode_copy_waits(void)
{
    float host;
    return wait_in_thread(&host);
}

static int mode_plain(void)
{
    launch_rounds(0, rounds);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"plain", mode_plain},
                 {"neighbours", mode_neighbours},
                 {"stream-waits", mode_stream_waits},
                 {"thread-waits", mode_thread_waits},
                 {"copy-waits", mode_copy_waits}};
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "plain";
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "see tests/interpose/verify.sh"},
        {"rounds", &rounds, NULL, NULL, "uses of the group"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "What else goes on while a group is verified.", own);
    CHECK(cudaMalloc((void **)&x, 2 * N * sizeof(float)));
    CHECK(cudaMalloc((void **)&value, sizeof(float)));
    CHECK(cudaMemset(x, 0, 2 * N * sizeof(float)));
    const auto *mode = find_mode("verified", modes, name);
    int status = mode->run();
    CHECK(cudaDeviceSynchronize());
    if (failures) printf("%d values lost\n", failures.load());
    const struct result results[] = {{"x", x, 2 * N * sizeof(float)}};
    bench_results(&bench, results, 1);
    return status;
}
