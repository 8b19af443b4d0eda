/* SPDX-License-Identifier: Apache-2.0
 * Launches in a thread's own default stream (interpose/own_stream.h), against the fake driver. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <pthread.h>

#define OWN   "launch a 4,1,1 32,1,1 0 2 "
#define OTHER "launch a 4,1,1 32,1,1 0 1 " /* the legacy stream, for another thread has no way to that one */

static void *wait_in_thread(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return unused;
}

/* A thread's own default stream: what another thread releases goes where both are ordered. */
static void own_stream(void)
{
    pthread_t thread;
    CUstream stream;
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    CHECK(fake_count() == 0);
    OK(launch_b(0x1000, 2, CU_STREAM_PER_THREAD));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 2 1000 1 2");
    OK(launch_a(0x1000, 3, CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK_LINE(1, OWN "1000 3");
    fake_clear();
    OK(launch_a(0x1000, 4, CU_STREAM_PER_THREAD));
    CHECK(!pthread_create(&thread, NULL, wait_in_thread, NULL) && !pthread_join(thread, NULL));
    CHECK_LINE(0, OTHER "1000 4");
    fake_clear();
    OK(launch_a(0x1000, 5, CU_STREAM_PER_THREAD));
    CHECK(fake_count() == 0);
    OK(cuStreamCreate(&stream, 0));
    CHECK_LINE(fake_count() - 2, OWN "1000 5"); /* another stream may wait for it */
    CHECK_LINE(fake_count() - 1, "cuStreamCreate 0");
    fake_clear();
    OK(launch_a(0x1000, 7, CU_STREAM_PER_THREAD));
    CHECK_LINE(fake_count() - 1, OWN "1000 7");
    OK(launch_b(0x1000, 8, CU_STREAM_PER_THREAD));
    CHECK_LINE(fake_count() - 1, "launch b 4,1,1 32,1,1 0 2 1000 8");
}

static size_t line_of(const char *text)
{
    size_t i = 0;
    while (i < fake_count() && strncmp(fake_line(i), text, strlen(text))) i++;
    return i;
}

/* A wait for the own stream comes behind what the legacy one was given for it; once. */
static void own_stream_joined(void)
{
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    for (int wait = 0; wait < 2000 && !fake_count(); wait++) usleep(1000);
    CHECK_LINE(0, OTHER "1000 1");
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(line_of("cuEventRecord") < line_of("cuStreamWaitEvent"));
    CHECK(line_of("cuStreamWaitEvent") < line_of("cuStreamSynchronize") &&
          line_of("cuStreamSynchronize") < fake_count());
    fake_clear();
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(fake_count() == 1);
}

static void *call_in_thread(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, NULL, NULL));
    return unused;
}

/* Nothing is held any more once a second thread may have given the device work. */
static void own_stream_met(void)
{
    pthread_t thread;
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(!pthread_create(&thread, NULL, call_in_thread, NULL) && !pthread_join(thread, NULL));
    fake_clear();
    OK(launch_a(0x1000, 2, CU_STREAM_PER_THREAD));
    CHECK_LINE(0, OWN "1000 2");
}

static void own_stream_unasked(void)
{
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    CHECK_LINE(0, OWN "1000 1");
    OK(launch_b(0x1000, 2, CU_STREAM_PER_THREAD));
    CHECK(fake_count() == 2);
}

static void plan_own(void)
{
    plan_ab();
    setenv("KFUSE_OWN_STREAM", "1", 1);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             CUstream stream, void **parameters, void **extra);

/* By the entry point that means that stream when it is given none. */
static void own_stream_by_name(void)
{
    CUdeviceptr pointer = 0x1000;
    int value = 1;
    void *arguments[] = {&pointer, &value};
    start_program();
    OK(cuLaunchKernel_ptsz(a, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    CHECK(fake_count() == 0);
    OK(cuStreamSynchronize(NULL));
    CHECK_LINE(0, OWN "1000 1");
}

static void own_stream_released(void)
{
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    for (int wait = 0; wait < 2000 && !fake_count(); wait++) usleep(1000);
    CHECK_LINE(0, OTHER "1000 1");
}

static void *launch_in_own_stream(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(launch_a(0x1000, 2, CU_STREAM_PER_THREAD));
    OK(launch_b(0x1000, 3, CU_STREAM_PER_THREAD));
    return unused;
}

static void own_streams(void)
{
    pthread_t thread;
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    CHECK(!pthread_create(&thread, NULL, launch_in_own_stream, NULL) && !pthread_join(thread, NULL));
    CHECK_LINE(0, OTHER "1000 1");
    CHECK_LINE(1, OWN "1000 2");
    CHECK(fake_count() == 3);
    OK(launch_a(0x1000, 4, CU_STREAM_PER_THREAD));
    CHECK_LINE(fake_count() - 1, OWN "1000 4");
}

static unsigned graphs_in(unsigned stream)
{
    unsigned count = 0, length, other;
    for (size_t i = 0; i < fake_count(); i++)
        count += sscanf(fake_line(i), "graph %u %x", &length, &other) == 2 && other == stream;
    return count;
}

static void plan_chains(void)
{
    use_plan(&(struct fixture){.groups = 0});
    setenv("KFUSE_OWN_STREAM", "1", 1);
    setenv("KFUSE_CHAINS", "always", 1);
}

/* What another thread hands to the driver goes to the legacy stream. */
static void graphs(void)
{
    pthread_t thread;
    start_program();
    OK(launch_c(0x5000, NULL));
    OK(cuCtxSynchronize()); /* the kernel is known */
    fake_clear();
    for (int i = 0; i < 3; i++) OK(launch_c(0x5000, CU_STREAM_PER_THREAD));
    CHECK(graphs_in(2) == 2);
    fake_clear();
    for (int i = 0; i < 2; i++) OK(launch_c(0x5000, CU_STREAM_PER_THREAD));
    CHECK(fake_count() == 0);
    CHECK(!pthread_create(&thread, NULL, wait_in_thread, NULL) && !pthread_join(thread, NULL));
    CHECK(graphs_in(1) == 1 && graphs_in(2) == 0);
}

static void plan_short_timer(void)
{
    plan_own();
    setenv("KFUSE_HOLD_US", "2000", 1);
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"one thread", own_stream, plan_own, NULL},
        {"not asked for", own_stream_unasked, plan_ab, NULL},
        {"by its entry point", own_stream_by_name, plan_own, NULL},
        {"two threads", own_streams, plan_own, NULL},
        {"a second thread that launches nothing", own_stream_met, plan_own, NULL},
        {"the timer", own_stream_released, plan_short_timer, NULL},
        {"a wait behind the timer", own_stream_joined, plan_short_timer, NULL},
        {"graphs", graphs, plan_chains, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
