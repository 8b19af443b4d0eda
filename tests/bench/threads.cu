/* SPDX-License-Identifier: Apache-2.0
 * Programs with several threads, and others that leave, fork or take down what a tool that delays launches
 * still needs: each mode does one such thing, and its results do not depend on who comes first. */
#include "bench/bench.h"
#include "tests/bench/modes.h"
#include "tests/bench/scale_shift.h"
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 500, BLOCKS = 2, THREADS = 256, WORKERS = 4, ROUNDS = 40 };
static float *x[WORKERS];

static void rounds(int worker, cudaStream_t stream, int count)
{
    for (int r = 0; r < count; r++) {
        scale<<<BLOCKS, THREADS, 0, stream>>>(x[worker], N);
        shift<<<BLOCKS, THREADS, 0, stream>>>(x[worker], N);
    }
}

struct worker {
    pthread_t thread;
    int index;
    cudaStream_t stream;
};
static std::atomic<int> is_over;

static void start(struct worker *workers, void *(*run)(void *), int has_streams)
{
    for (int i = 0; i < WORKERS; i++) {
        workers[i].index = i;
        workers[i].stream = 0;
        if (has_streams) CHECK(cudaStreamCreate(&workers[i].stream));
        pthread_create(&workers[i].thread, NULL, run, &workers[i]);
    }
}

static void join(struct worker *workers)
{
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i].thread, NULL);
    CHECK(cudaDeviceSynchronize());
}

/* Ends now with a launch that nothing follows, now with a wall. */
static void *launch_rounds(void *argument)
{
    struct worker *worker = (struct worker *)argument;
    for (int r = 0; r < ROUNDS; r++) {
        rounds(worker->index, worker->stream, 2);
        if (r % 8 == 3) scale<<<BLOCKS, THREADS, 0, worker->stream>>>(x[worker->index], N);
        if (r % 8 == worker->index) CHECK(cudaStreamSynchronize(worker->stream));
    }
    return NULL;
}

static int mode_streams(void)
{
    struct worker workers[WORKERS];
    start(workers, launch_rounds, 1);
    join(workers);
    return 0;
}

static int mode_one_stream(void)
{
    struct worker workers[WORKERS];
    start(workers, launch_rounds, 0);
    join(workers);
    return 0;
}

/* Each worker goes on where the one before has left off, told by events only. */
static int mode_events(void)
{
    cudaStream_t streams[2];
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < 2; i++) CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (int r = 0; r < ROUNDS; r++) {
        rounds(0, streams[r % 2], 1);
        scale<<<BLOCKS, THREADS, 0, streams[r % 2]>>>(x[0], N);
        CHECK(cudaEventRecord(event, streams[r % 2]));
        CHECK(cudaStreamWaitEvent(streams[(r + 1) % 2], event, 0));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

static void *capture_rounds(void *argument)
{
    struct worker *worker = (struct worker *)argument;
    cudaGraph_t graph;
    if (worker->index) return launch_rounds(argument);
    for (int r = 0; r < ROUNDS; r++) {
        CHECK(cudaStreamBeginCapture(worker->stream, cudaStreamCaptureModeRelaxed));
        rounds(0, worker->stream, 2);
        CHECK(cudaStreamEndCapture(worker->stream, &graph));
        CHECK(cudaGraphDestroy(graph));
        rounds(0, worker->stream, 1);
    }
    return NULL;
}

/* One thread captures while others launch. */
static int mode_captures(void)
{
    struct worker workers[WORKERS];
    start(workers, capture_rounds, 1);
    join(workers);
    return 0;
}

/* Streams come and go, with a launch in flight on each. */
static int mode_short_streams(void)
{
    cudaStream_t stream;
    for (int r = 0; r < ROUNDS; r++) {
        CHECK(cudaStreamCreate(&stream));
        rounds(0, stream, 1);
        scale<<<BLOCKS, THREADS, 0, stream>>>(x[0], N);
        CHECK(cudaStreamDestroy(stream));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

static std::atomic<int> signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

static int mode_signals(void)
{
    struct sigaction action = {};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {};
    action.sa_handler = on_signal;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int status = mode_streams();
    setitimer(ITIMER_REAL, &never, NULL);
    return status;
}

/* The child does not use the device; it ends by exit, the parent goes on. */
static int mode_fork(void)
{
    for (int r = 0; r < 4; r++) {
        int status = 1;
        rounds(0, 0, 1);
        scale<<<BLOCKS, THREADS>>>(x[0], N);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) exit(7);
        waitpid(child, &status, 0);
        printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

static void *launch_for_ever(void *argument)
{
    struct worker *worker = (struct worker *)argument;
    while (!is_over) rounds(worker->index, worker->stream, 1);
    return NULL;
}

/* One thread ends the program while the others launch. */
static int mode_exit(void)
{
    struct worker workers[WORKERS];
    start(workers, launch_for_ever, 1);
    usleep(20000);
    printf("gone\n");
    fflush(stdout);
    exit(5);
}

static void CUDART_CB leave(void *status)
{
    printf("gone\n");
    fflush(stdout);
    exit(*(int *)status);
}

/* The driver's thread ends the program. */
static int mode_exit_callback(void)
{
    static int status = 6;
    rounds(0, 0, 2);
    CHECK(cudaLaunchHostFunc(0, leave, &status));
    for (int r = 0; r < 100; r++) {
        rounds(0, 0, 1);
        usleep(1000);
    }
    cudaDeviceSynchronize();
    pause();
    return 1;
}

static void on_alarm(int number)
{
    (void)number;
    exit(8);
}

/* A signal ends the program in the middle of whatever it does. */
static int mode_exit_signal(void)
{
    struct itimerval soon = {{0, 0}, {0, 20000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;) rounds(0, 0, 1);
}

/* The device is reset with launches in flight, and used again. */
static int mode_reset(void)
{
    for (int r = 0; r < 3; r++) {
        rounds(0, 0, 3);
        scale<<<BLOCKS, THREADS>>>(x[0], N);
        CHECK(cudaDeviceReset());
        for (int i = 0; i < WORKERS; i++) {
            CHECK(cudaMalloc((void **)&x[i], N * sizeof(float)));
            CHECK(cudaMemset(x[i], 0, N * sizeof(float)));
        }
    }
    rounds(0, 0, 3);
    CHECK(cudaDeviceSynchronize());
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
        int has_results;
    } modes[] = {{"streams", mode_streams, 1},
                 {"one-stream", mode_one_stream, 1},
                 {"events", mode_events, 1},
                 {"captures", mode_captures, 1},
                 {"short-streams", mode_short_streams, 1},
                 {"signals", mode_signals, 1},
                 {"fork", mode_fork, 1},
                 {"exit", mode_exit, 0},
                 {"exit-callback", mode_exit_callback, 0},
                 {"exit-signal", mode_exit_signal, 0},
                 {"reset", mode_reset, 1}};
    struct bench bench = {NULL, 1, 1, NULL, 0, 0};
    const char *name = "streams";
    const struct option own[] = {
        {"mode", NULL, &name, NULL, "see tests/bench/threads.sh"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "Threads, and ends that come from elsewhere.", own);
    for (int i = 0; i < WORKERS; i++) {
        CHECK(cudaMalloc((void **)&x[i], N * sizeof(float)));
        CHECK(cudaMemset(x[i], 0, N * sizeof(float)));
    }
    const auto *mode = find_mode("threads", modes, name);
    int status = mode->run();
    const struct result results[] = {{"a", x[0], N * sizeof(float)},
                                     {"b", x[1], N * sizeof(float)},
                                     {"c", x[2], N * sizeof(float)},
                                     {"d", x[3], N * sizeof(float)}};
    if (mode->has_results) bench_results(&bench, results, WORKERS);
    return status;
}
