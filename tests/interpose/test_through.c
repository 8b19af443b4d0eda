/* SPDX-License-Identifier: Apache-2.0
 * Waits that are passed through, against the fake driver: which return at once, and before what those are made up for. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <dlfcn.h>
#include <pthread.h>

static void plan_through(void)
{
    plan_ab();
    setenv("KFUSE_THROUGH_SYNC", "1", 1);
}

static void use_ab_with_waits(void)
{
    OK(launch_a(0x1000, 7, NULL));
    OK(cuCtxSynchronize());
    OK(launch_b(0x1000, 0x2000, NULL));
    OK(cuStreamSynchronize(NULL));
}

/* The first wait is real: nobody knows what came before. */
static void start_passing(void)
{
    start_program();
    OK(cuCtxSynchronize());
    fake_clear();
}

static void passes(void)
{
    start_passing();
    for (int i = 0; i < 3; i++) use_ab_with_waits();
    CHECK(fake_count() == 3);
    CHECK_LINE(2, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
}

static void after_passing(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "waits_passed 6"));
}

static void stays_real(void)
{
    start_program();
    OK(cuCtxSynchronize());
    fake_clear();
    use_ab_with_waits();
    CHECK(fake_count() == 4);
    CHECK_LINE(1, "cuCtxSynchronize");
}

/* Behind work of which the plan does not know, the next wait is real, and those behind it are not. */
static void behind_unknown(void (*work)(void), size_t lines)
{
    start_passing();
    use_ab_with_waits();
    work();
    fake_clear();
    OK(cuCtxSynchronize());
    CHECK(fake_count() == lines);
    CHECK_LINE(lines - 1, "cuCtxSynchronize");
    fake_clear();
    use_ab_with_waits();
    CHECK(fake_count() == 1);
}

static void launch_stranger(void)
{
    OK(launch_c(0x5000, NULL));
}

static void record_event(void)
{
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, NULL));
}

static void launch_in_pattern_beside(void)
{
    OK(launch_b(0x7000, 0x2000, NULL)); /* no pattern begins so */
}

/* The host has not waited for what the device does behind such a call. */
static void call_unknown(void)
{
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
}

static CUdeviceptr plain(void)
{
    static CUdeviceptr address;
    if (!address) OK(cuMemAlloc_v2(&address, 4096));
    return address;
}

static void copy_to_unknown_memory(void)
{
    OK(cuMemcpyDtoD_v2(0x9000, plain(), 64));
}

/* Within the device no copy waits, nor does one of nothing. */
static void copy_without_waiting(void)
{
    int none;
    OK(launch_c(0x5000, NULL));
    OK(cuMemcpyDtoD_v2(0x9000, plain(), 64));
    OK(cuMemcpyDtoH_v2(&none, plain(), 0));
}

static void *ask_there(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    OK(cuEventQuery(NULL));
    return NULL;
}

static void run_there(void *(*work)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

/* What this thread gives the device meanwhile, the wait before the other one's call may not have waited for. Before a
 * launch of which the plan does not know it would be made up for: only behind a copy it is still owed then. */
static void copy_while_other_asks(void)
{
    copy_to_unknown_memory();
    run_there(ask_there);
}

static void behind_stranger(void)
{
    behind_unknown(launch_stranger, 1);
}

static void behind_event(void)
{
    behind_unknown(record_event, 1);
}

static void behind_lone_launch(void)
{
    behind_unknown(launch_in_pattern_beside, 1);
}

static void behind_call(void)
{
    behind_unknown(call_unknown, 1);
}

static void behind_copy(void)
{
    behind_unknown(copy_to_unknown_memory, 1);
}

static void behind_copy_that_waits_not(void)
{
    behind_unknown(copy_without_waiting, 1);
}

static void behind_asking_thread(void)
{
    behind_unknown(copy_while_other_asks, 1);
}

/* The wait for the default stream may not have waited for the thread's own. */
static void behind_other_stream(void)
{
    start_passing();
    use_ab_with_waits();
    OK(launch_c(0x5000, CU_STREAM_PER_THREAD));
    fake_set_busy(1);
    OK(cuStreamSynchronize(NULL));
    fake_set_busy(0);
    fake_clear();
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 1);
    fake_clear();
    use_ab_with_waits();
    CHECK(fake_count() == 1);
}

static void plan_measured(void)
{
    plan_through();
    setenv("KFUSE_MEASURE", "always", 1);
}

/* In a stretch in which launches are not held, one is met that does not go on with the pattern. */
static void behind_unheld(void)
{
    start_passing();
    for (int i = 0; i < 4; i++) use_ab_with_waits();
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK_LINE(0, A_LINE("1000 7")); /* it is such a stretch */
    OK(launch_b(0x7000, 0x2000, NULL));
    fake_clear();
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 1);
    OK(launch_a(0x1000, 7, NULL));
    fake_clear();
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 0);
}

static void *call_there(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    call_unknown();
    return NULL;
}

static void *wait_there(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    OK(cuCtxSynchronize());
    return NULL;
}

/* It may give the device work at any time. */
static void behind_thread(void *(*work)(void *))
{
    start_passing();
    use_ab_with_waits();
    run_there(work);
    fake_clear();
    OK(cuCtxSynchronize());
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 2);
}

static void behind_calling_thread(void)
{
    behind_thread(call_there);
}

static void behind_waiting_thread(void)
{
    behind_thread(wait_there);
}

static void plan_carrier(void)
{
    char command[4200];
    plan_through();
    snprintf(command, sizeof command, "cc -shared -o '%s' -x c /dev/null", in_folder("libfabric.so.1"));
    CHECK(system(command) == 0);
}

/* It may send what lies on the device by no call of the driver. */
static void behind_carrier(void)
{
    start_passing();
    use_ab_with_waits();
    CHECK(dlopen(in_folder("libfabric.so.1"), RTLD_NOW));
    fake_clear();
    OK(cuCtxSynchronize());
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 2);
}

static void plan_lazy(void)
{
    plan_carrier();
    use_plan(&(struct fixture){.groups = FIXTURE_LAZY});
}

/* It was noticed by a launch, when a wait was owed. */
static void before_stream_behind_carrier(void)
{
    CUdeviceptr array = plain();
    CUstream stream;
    start_passing();
    OK(launch_a(array, 7, NULL));
    OK(launch_b(array, 0x2000, NULL));
    OK(cuCtxSynchronize());
    CHECK(dlopen(in_folder("libfabric.so.1"), RTLD_NOW));
    for (int i = 0; i < 2000; i++) {
        OK(launch_a(array, 7, NULL));
        OK(launch_b(array, 0x2000, NULL));
        if (i % 64 == 0) fake_clear();
    }
    CHECK(!strncmp(fake_line(fake_count() - 1), "launch ab ", 10)); /* nothing is left stale any more */
    fake_clear();
    OK(cuStreamCreate(&stream, 0));
    CHECK_LINE(fake_count() - 2, "cuCtxSynchronize");
}

/* What was deferred before a wait that was passed and made up for is there for another context. */
static void behind_settled(void)
{
    CUcontext other;
    CUdeviceptr array = plain();
    int value;
    start_passing();
    OK(launch_a(array, 7, NULL));
    OK(launch_b(array, 0x2000, NULL));
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 1);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuEventRecord(NULL, NULL));
    fake_clear();
    OK(cuMemcpyDtoH_v2(&value, array, sizeof value));
    CHECK(fake_count() == 3);
    CHECK_LINE(1, "cuCtxSynchronize");
}

/* A wait tells of the error as often as it is asked. */
static void behind_error(void)
{
    start_passing();
    use_ab_with_waits();
    fake_fail_launch("a", CUDA_ERROR_LAUNCH_FAILED);
    OK(launch_a(0x1000, 7, NULL));
    OK(cuCtxSynchronize());
    CHECK(cuEventQuery(NULL) == CUDA_ERROR_LAUNCH_FAILED);
    fake_clear();
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 1);
}

static void behind_managed_variable(void)
{
    CUdeviceptr address;
    size_t size;
    start_passing();
    use_ab_with_waits();
    fake_clear();
    OK(cuLibraryGetManaged(&address, &size, NULL, "v"));
    CHECK_LINE(0, "cuCtxSynchronize");
    OK(cuCtxSynchronize());
    OK(cuCtxSynchronize());
    CHECK(fake_count() == 3);
}

/* A wait is made up for before the call, behind what is held. */
static void before_share(void)
{
    CUipcMemHandle handle;
    start_passing();
    use_ab_with_waits();
    OK(launch_a(0x1000, 7, NULL));
    OK(cuCtxSynchronize());
    fake_clear();
    OK(cuIpcGetMemHandle(&handle, 0x1000));
    CHECK_LINE(0, A_LINE("1000 7"));
    CHECK_LINE(1, "cuCtxSynchronize");
    CHECK_LINE(fake_count() - 1, "cuIpcGetMemHandle 1000");
    fake_clear();
    OK(cuCtxSynchronize()); /* from now on others may look */
    CHECK(fake_count() == 1);
}

static void before_query(void)
{
    start_passing();
    use_ab_with_waits();
    fake_clear();
    OK(cuStreamQuery(NULL));
    CHECK(fake_count() == 1);
    CHECK_LINE(0, "cuCtxSynchronize");
    OK(cuStreamQuery(NULL));
    CHECK(fake_count() == 1);
}

/* It may run until the host has gone on. */
static void before_stranger(void)
{
    start_passing();
    use_ab_with_waits();
    fake_clear();
    OK(launch_c(0x5000, NULL));
    CHECK_LINE(0, "cuCtxSynchronize");
    OK(cuStreamQuery(NULL));
    CHECK(fake_count() == 2);
    OK(cuCtxSynchronize());
    use_ab_with_waits();
    fake_clear();
    OK(launch_b(0x7000, 0x2000, NULL));
    CHECK_LINE(0, "cuCtxSynchronize");
    OK(cuStreamQuery(NULL));
    CHECK(fake_count() == 2);
}

static void before_stream(void)
{
    CUstream stream;
    start_passing();
    use_ab_with_waits();
    fake_clear();
    OK(cuStreamCreate(&stream, 0));
    CHECK_LINE(0, "cuCtxSynchronize");
    CHECK_LINE(1, "cuStreamCreate 0");
}

static void *launch_there(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    fake_clear();
    OK(launch_c(0x5000, NULL));
    return NULL;
}

static void before_thread(void)
{
    start_passing();
    use_ab_with_waits();
    run_there(launch_there);
    CHECK_LINE(0, "cuCtxSynchronize");
    CHECK(fake_count() == 2);
}

static void before_other_context(void)
{
    CUcontext other;
    start_passing();
    use_ab_with_waits();
    OK(cuCtxCreate_v2(&other, 0, 0));
    fake_clear();
    OK(cuMemsetD32Async(0x9000, 1, 4, NULL));
    CHECK_LINE(0, "cuCtxSynchronize");
    CHECK_LINE(1, "cuMemsetD32Async 9000 1 4");
}

static void names_context(void)
{
    CUcontext other;
    start_passing();
    use_ab_with_waits();
    fake_clear();
    OK(cuCtxSynchronize_v2(context));
    CHECK(fake_count() == 0);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuCtxSetCurrent(context));
    fake_clear();
    OK(cuCtxSynchronize_v2(other)); /* it may tell of both */
    CHECK_LINE(0, "cuCtxSynchronize");
    CHECK_LINE(1, "cuCtxSynchronize_v2 0");
}

/* Not for ever: the host would be ahead by all of its work. */
static void is_bounded(void)
{
    size_t real = 0;
    start_passing();
    for (int i = 0; i < 3000; i++) {
        OK(launch_a(0x1000, 7, NULL));
        OK(launch_b(0x1000, 0x2000, NULL));
        OK(cuCtxSynchronize());
        real += !strcmp(fake_line(fake_count() - 1), "cuCtxSynchronize");
        if (i % 16 == 0) fake_clear();
    }
    CHECK(real >= 2 && real <= 8);
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"waits return at once", passes, plan_through, after_passing},
        {"nobody asked for it", stays_real, plan_ab, NULL},
        {"behind a launch that is not in the plan", behind_stranger, plan_through, NULL},
        {"behind a launch that no pattern begins with", behind_lone_launch, plan_through, NULL},
        {"behind an event", behind_event, plan_through, NULL},
        {"behind a call that nobody knows", behind_call, plan_through, NULL},
        {"behind a copy to other memory", behind_copy, plan_through, NULL},
        {"behind copies that do not wait", behind_copy_that_waits_not, plan_through, NULL},
        {"behind another thread's question", behind_asking_thread, plan_through, NULL},
        {"behind a launch in another stream", behind_other_stream, plan_through, NULL},
        {"behind a launch that is not held", behind_unheld, plan_measured, NULL},
        {"behind another thread's call", behind_calling_thread, plan_through, NULL},
        {"behind another thread's wait", behind_waiting_thread, plan_through, NULL},
        {"behind an error", behind_error, plan_through, NULL},
        {"behind a library that sends memory", behind_carrier, plan_carrier, NULL},
        {"before a stream behind such a library", before_stream_behind_carrier, plan_lazy, NULL},
        {"behind a wait that was made up for", behind_settled, plan_lazy, NULL},
        {"behind a managed variable", behind_managed_variable, plan_through, NULL},
        {"before memory is shared", before_share, plan_through, NULL},
        {"before the program asks how far the device is", before_query, plan_through, NULL},
        {"before a launch of which the plan does not know", before_stranger, plan_through, NULL},
        {"before there is another stream", before_stream, plan_through, NULL},
        {"before another thread works with the device", before_thread, plan_through, NULL},
        {"before a call in another context", before_other_context, plan_through, NULL},
        {"a wait that names its context", names_context, plan_through, NULL},
        {"so many waits at most", is_bounded, plan_through, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
