/* SPDX-License-Identifier: Apache-2.0
 * Chains (interpose/chain.h) against the fake driver: what goes to it as a graph, when, and before what. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <pthread.h>
#include <time.h>

/* --- plans and programs --- */

static void plan_chains(void)
{
    use_plan(&(struct fixture){.groups = 0});
    setenv("KFUSE_CHAINS", "always", 1);
}

static void plan_chains_ab(void)
{
    plan_ab();
    setenv("KFUSE_CHAINS", "always", 1);
}

/* Each kernel has been launched, and the host has waited. */
static void start_known(void)
{
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x7000, 0x2000, NULL));
    OK(launch_c(0x5000, NULL));
    OK(cuCtxSynchronize());
    fake_clear();
}

static void launch_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++) OK(launch_c(0x5000, NULL));
}

/* The first launch goes at once, the second waits for one more. */
static void leave_one(void)
{
    launch_many(2);
}

/* Or fake_count(). */
static size_t first_line(const char *prefix)
{
    size_t i = 0;
    while (i < fake_count() && strncmp(fake_line(i), prefix, strlen(prefix))) i++;
    return i;
}

/* The number of kernels of the k-th graph that was launched; 0: there are not so many. */
static unsigned graph_length(size_t k)
{
    for (size_t i = 0; i < fake_count(); i++)
        if (!strncmp(fake_line(i), "graph ", 6) && !k--) return (unsigned)atoi(fake_line(i) + 6);
    return 0;
}

/* --- the ordinary --- */

static void grows(void)
{
    start_known();
    for (unsigned i = 0; i < 63; i++) OK(launch_c(0x5000 + i, NULL));
    for (unsigned i = 0; i < 6; i++) CHECK(graph_length(i) == 1u << i);
    CHECK(lines(0, "launch ") == 63);
    unsigned next = 0;
    for (size_t i = 0; i < fake_count(); i++) {
        char line[128];
        snprintf(line, sizeof line, C_LINE("%x"), 0x5000 + next);
        if (!strncmp(fake_line(i), "launch ", 7) && ++next) CHECK_LINE(i, line);
    }
}

static void after_growing(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "chains 6"));
    EXPECT(file_has("stats", "chained 63"));
    EXPECT(file_has("stats", "issued 66"));
}

static void unknown_goes_alone(void)
{
    start_known();
    launch_many(1);
    CUdeviceptr pointer = 0x5000;
    void *arguments[] = {&pointer};
    for (int i = 0; i < 2; i++) OK(cuLaunchKernel(c, 5, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    CHECK(lines(0, "graph ") == 2);
    CHECK_LINE(first_line("launch _Z1cPf 5"), "launch _Z1cPf 5,1,1 32,1,1 0 0 5000");
    CHECK(strncmp(fake_line(first_line("launch _Z1cPf 5") - 1), "graph ", 6));
}

static void updates_what_changed(void)
{
    start_known();
    for (unsigned i = 0; i < 3; i++) OK(launch_c(0x5000 + i, NULL));
    OK(cuCtxSynchronize());
    fake_clear();
    OK(launch_c(0x5000, NULL));
    OK(launch_c(0x5001, NULL));
    OK(launch_c(0x6000, NULL));
    CHECK(lines(0, "cuGraphInstantiate") == 0);
    CHECK(lines(0, "cuGraphExecKernelNodeSetParams") == 1);
    CHECK(first_line("cuGraphExecKernelNodeSetParams_v2 1") < fake_count());
    CHECK_LINE(fake_count() - 1, C_LINE("6000"));
}

static void ends_with_the_period(void)
{
    start_known();
    launch_many(63);
    fake_clear();
    for (unsigned i = 0; i < 11; i++) {
        OK(launch_a(0x1000, 7, NULL));
        for (int j = 0; j < 2; j++) OK(launch_b(0x7000, 0x2000, NULL));
        for (int j = 0; j < 2; j++) OK(launch_c(0x5000, NULL));
    }
    CHECK(graph_length(0) == 20);
    CHECK(graph_length(1) == 20);
    CHECK(lines(0, "cuGraphInstantiate") == 1);
}

static void plan_by_measure(void)
{
    plan_chains();
    unsetenv("KFUSE_CHAINS");
}

/* A graph would have paid for itself long ago, but not for a first graph within a small part of so short a run. */
static void makes_none_in_short_runs(void)
{
    fake_own_clock();
    start_known();
    fake_slow_launch(20);
    for (int i = 0; i < 60; i++) {
        OK(launch_c(0x5000, NULL));
        OK(cuCtxSynchronize());
    }
    CHECK(lines(0, "cuGraphInstantiate") == 0);
    fake_stay(100000);
    OK(launch_c(0x5000, NULL));
    CHECK(lines(0, "cuGraphInstantiate") == 1);
}

static void set_memory(void)
{
    OK(cuMemsetD32Async(0x1000, 1, 4, NULL));
}

/* --- the driver refuses --- */

static void goes_by_itself(enum fake_graph_call call)
{
    start_known();
    if (call == FAKE_GRAPH_UPDATE) {
        for (int i = 0; i < 3; i++) OK(launch_c(0x9000, NULL));
        OK(cuCtxSynchronize());
        fake_clear();
    }
    fake_fail_graphs(call, CUDA_ERROR_OUT_OF_MEMORY);
    for (unsigned i = 0; i < 3; i++) OK(launch_c(0x5000 + i, NULL));
    OK(cuCtxSynchronize());
    CHECK(lines(0, "graph ") == 0);
    CHECK(lines(0, "launch ") == 3);
    CHECK(first_line(C_LINE("5000")) < first_line(C_LINE("5001")));
    CHECK(first_line(C_LINE("5001")) < first_line(C_LINE("5002")));
    CHECK_LINE(fake_count() - 1, "cuCtxSynchronize");
    CHECK(fake_graphs() == 0);
}

static void without_graphs(void)
{
    goes_by_itself(FAKE_GRAPH_CREATE);
}

static void without_nodes(void)
{
    goes_by_itself(FAKE_GRAPH_ADD);
}

static void without_executables(void)
{
    goes_by_itself(FAKE_GRAPH_INSTANTIATE);
}

static void without_updates(void)
{
    goes_by_itself(FAKE_GRAPH_UPDATE);
}

static void without_launches(void)
{
    goes_by_itself(FAKE_GRAPH_LAUNCH);
}

/* --- errors --- */

static void tells_the_caller(void)
{
    start_program();
    fake_fail_launch("_Z1cPf", CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) CHECK(launch_c(0x5000, NULL) == CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

static void tells_later(void)
{
    start_known();
    leave_one();
    fake_fail_graphs(FAKE_GRAPH_LAUNCH, CUDA_ERROR_LAUNCH_FAILED);
    fake_fail_launch("_Z1cPf", CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    OK(cuCtxSynchronize());
}

static void takes_no_two_forms_of_arguments(void)
{
    CUdeviceptr pointer = 0x5000;
    size_t size = sizeof pointer;
    void *arguments[] = {&pointer}, *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &pointer,
                                                CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    start_known();
    OK(cuLaunchKernel(c, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    CHECK(lines(0, "graph 1 ") == 1);
    OK(cuLaunchKernel(c, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, extra)); /* the driver refuses it */
    CHECK_LINE(fake_count() - 1, C_LINE("5000"));
    CHECK(lines(0, "graph ") == 1);
}

/* --- before what it goes --- */

static void before(void (*work)(void), const char *line)
{
    start_known();
    leave_one();
    CHECK(lines(0, "launch ") == 1);
    work();
    CHECK(lines(0, "launch _Z1cPf 4") == 2);
    CHECK(first_line(line) == fake_count() - 1);
}

static void record_event(void)
{
    OK(cuEventRecord((CUevent)0x10, NULL));
}

static void read_memory(void)
{
    int value;
    OK(cuMemcpyDtoH_v2(&value, 0x1000, sizeof value));
}

static void free_memory(void)
{
    OK(cuMemFree_v2(0x1000));
}

static void wait_for_stream(void)
{
    OK(cuStreamSynchronize(NULL));
}

static void set_limit(void)
{
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
}

static void begin_capture(void)
{
    OK(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void unload(void)
{
    OK(cuModuleUnload(module));
}

static void destroy_context(void)
{
    OK(cuCtxDestroy_v2(context));
}

static void launch_attributed(void)
{
    CUdeviceptr pointer = 0x5000;
    void *arguments[] = {&pointer};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {5, 1, 1, 32, 1, 1, 0, NULL, &attribute, 1};
    OK(cuLaunchKernelEx(&config, c, arguments, NULL));
}

static void launch_in_other_stream(void)
{
    CUdeviceptr pointer = 0x5000;
    void *arguments[] = {&pointer};
    OK(cuLaunchKernel(c, 5, 1, 1, 32, 1, 1, 0, (CUstream)0x77770, arguments, NULL));
}

static void *read_there(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    read_memory();
    return NULL;
}

static void read_in_other_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, read_there, NULL);
    pthread_join(thread, NULL);
}

/* One thread's launch may wait in the driver for another's. */
static void waits_for_no_thread(void)
{
    start_known();
    read_in_other_thread();
    fake_clear();
    launch_many(7);
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 7);
}

#define BEFORE(name, work, line)                                                                             \
    static void before_##name(void)                                                                          \
    {                                                                                                        \
        before(work, line);                                                                                  \
    }
BEFORE(event, record_event, "cuEventRecord")
BEFORE(copy, read_memory, "cuMemcpyDtoH_v2")
BEFORE(set, set_memory, "cuMemsetD32Async")
BEFORE(free, free_memory, "cuMemFree_v2")
BEFORE(wait, wait_for_stream, "cuStreamSynchronize")
BEFORE(limit, set_limit, "cuCtxSetLimit")
BEFORE(capture, begin_capture, "cuStreamBeginCapture_v2")
BEFORE(unload, unload, "cuModuleUnload")
BEFORE(end_of_context, destroy_context, "cuCtxDestroy_v2")
BEFORE(attributes, launch_attributed, "launch _Z1cPf 5")
BEFORE(other_stream, launch_in_other_stream, "launch _Z1cPf 5")
BEFORE(other_thread, read_in_other_thread, "cuMemcpyDtoH_v2")

static void plan_with_log(void)
{
    plan_chains();
    setenv("FAKE_LOG", in_folder("calls"), 1);
}

static void ends_with_one(void)
{
    start_known();
    launch_many(1);
    OK(launch_c(0xabc0, NULL));
    CHECK(lines(0, C_LINE("abc0")) == 0);
}

static void after_the_end(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("calls", C_LINE("abc0")));
}

/* --- by the timer --- */

static void plan_short_hold(void)
{
    plan_chains();
    setenv("KFUSE_HOLD_US", "1000", 1);
}

/* How often the host has had to wait for the timer. */
static unsigned poll(unsigned times)
{
    unsigned late = 0;
    for (unsigned i = 0; i < times; i++) {
        const struct timespec pause = {.tv_nsec = 100000};
        size_t seen = lines(0, "launch ");
        launch_many(1);
        bool is_late = lines(0, "launch ") == seen;
        for (int j = 0; lines(0, "launch ") == seen; j++) {
            CHECK(j < 100000);
            nanosleep(&pause, NULL);
        }
        late += is_late;
        fake_clear();
    }
    return late;
}

static void comes_without_a_call(void)
{
    start_known();
    leave_one();
    CHECK(lines(0, "launch ") == 1);
    for (int i = 0; lines(0, "launch ") == 1; i++) {
        const struct timespec pause = {.tv_nsec = 1000000};
        CHECK(i < 10000);
        nanosleep(&pause, NULL);
    }
}

/* Who polls what each launch writes waits for the timer ever more seldom. */
static void learns_of_polling(void)
{
    start_known();
    poll(100);
    CHECK(poll(200) <= 6);
}

/* --- what is forgotten --- */

static void forgets_modules(void)
{
    start_known();
    launch_many(3);
    CHECK(fake_graphs() == 4);
    OK(cuModuleUnload(module));
    CHECK(fake_graphs() == 0);
    fake_clear();
    launch_many(1); /* the handle may be another kernel's */
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 1);
}

static void forgets_streams(void)
{
    CUstream stream;
    start_known();
    OK(cuStreamCreate(&stream, 0));
    for (int i = 0; i < 3; i++) OK(launch_c(0x5000, stream));
    CHECK(lines(0, "graph ") == 2);
    OK(cuStreamDestroy_v2(stream));
    CHECK(fake_graphs() == 0);
    fake_set_stream(stream, -1, NULL); /* another one, with a priority */
    fake_clear();
    for (int i = 0; i < 4; i++) OK(launch_c(0x5000, stream));
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 4);
}

/* Others keep what they have. */
static void forgets_no_other_stream(void)
{
    CUstream stream;
    start_known();
    launch_many(3);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy_v2(stream));
    CHECK(fake_graphs() == 4);
}

static void forgets_attributes(void)
{
    start_known();
    launch_many(3);
    OK(cuFuncSetAttribute(c, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0)); /* as it is */
    CHECK(fake_graphs() == 4);
    OK(cuFuncSetAttribute(c, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    CHECK(fake_graphs() == 0);
    fake_clear();
    launch_many(1);
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 1);
}

static void spoils_no_capture(void)
{
    CUstream stream;
    start_known();
    OK(cuStreamCreate(&stream, 0));
    fake_clear();
    for (int i = 0; i < 3; i++) OK(launch_c(0x5000, stream));
    begin_capture();
    OK(cuStreamDestroy_v2(stream));
    CHECK(fake_graphs() == 0);
    CHECK(lines(0, "a capture is spoiled") == 0);
}

static void forgets_limits(void)
{
    start_known();
    launch_many(3);
    set_limit();
    CHECK(fake_graphs() == 0);
}

/* The plan's code is in the first context, chains are in another. */
static void forgets_contexts(void)
{
    start_program();
    for (int i = 0; i < 2; i++) {
        CUcontext other;
        CUmodule module_there;
        OK(cuCtxCreate_v2(&other, 0, 0));
        OK(cuModuleLoadData(&module_there, "another"));
        OK(cuModuleGetFunction(&c, module_there, FIXTURE_C));
        OK(launch_c(0x5000, NULL));
        fake_clear();
        launch_many(3);
        CHECK(lines(0, "graph ") == 2);
        CHECK(lines(0, "cuGraphInstantiate") == 2);
        CHECK(fake_graphs() == 4);
        OK(cuCtxDestroy_v2(other));
        CHECK(fake_graphs() == 0);
    }
}

static void plan_chains_rename(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_RENAME});
    setenv("KFUSE_CHAINS", "always", 1);
}

/* Its memory goes to the program; groups that have no second buffers stay. */
static void gives_back(void)
{
    CUdeviceptr address;
    start_known();
    launch_many(3);
    fake_limit_memory(0);
    CHECK(cuMemAlloc_v2(&address, 4096) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(fake_graphs() == 0);
    fake_limit_memory(1 << 20);
}

static void after_giving_back(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "refused 0"));
}

static void is_left_alone_in_a_child(void)
{
    start_known();
    leave_one();
    pid_t child = fork();
    if (!child) {
        size_t seen = fake_count();
        OK(cuStreamSynchronize(NULL));
        _exit(fake_count() != seen + 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    OK(cuStreamSynchronize(NULL));
    CHECK(lines(0, "launch ") == 2);
}

/* The pending launch was for the context that it was made in. */
static void goes_before_a_latch(void)
{
    CUcontext other;
    start_known();
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuCtxSetCurrent(context));
    leave_one();
    OK(cuCtxSetCurrent(other));
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK(first_line("graph 1 ") < first_line(A_LINE("1000 7")));
    OK(cuCtxSetCurrent(context));
    fake_clear();
    launch_many(3); /* from now on launches pass through */
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 3);
}

/* --- what is no chain --- */

/* The same sum of handle and grid must not take one kernel for another. */
static void tells_kernels_apart(void)
{
    CUdeviceptr pointer = 0x5000;
    void *arguments[] = {&pointer};
    CUfunction other;
    start_known();
    OK(cuModuleGetFunction(&other, module, "other:8"));
    uint64_t apart = (uintptr_t)other ^ (uintptr_t)c ^ 1;
    launch_many(1);
    CHECK(apart >> 32 == 0);
    fake_clear();
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSynchronize());
        OK(cuLaunchKernel(other, 4, (unsigned)apart, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    }
    CHECK(lines(0, "launch other 4,") == 2);
    CHECK(strncmp(fake_line(first_line("launch other") - 1), "graph ", 6));
}

static void knows_its_kind(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr pointer = 0x5000;
    void *arguments[] = {&pointer};
    start_program();
    OK(cuLibraryLoadData(&library, FIXTURE_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "k:8"));
    OK(cuKernelGetFunction(&function, kernel));
    for (int i = 0; i < 4; i++) OK(launch((CUfunction)kernel, NULL, arguments));
    CHECK(lines(0, "graph ") == 2);
    OK(cuCtxSynchronize());
    fake_clear();
    for (int i = 0; i < 4; i++) OK(launch(function, NULL, arguments));
    CHECK(lines(0, "graph ") == 2);
}

static void plan_blocking(void)
{
    plan_chains();
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
}

/* The host may read what they wrote as soon as launches return. */
static void waits_for_launches(void)
{
    start_known();
    launch_many(5);
    CHECK(lines(0, "launch ") == 5);
}

static void leaves_streams_alone(void)
{
    CUstream high, foreign;
    CUcontext other;
    start_known();
    OK(cuStreamCreate(&high, 0));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&foreign, 0));
    OK(cuCtxSetCurrent(context));
    fake_set_stream(high, -1, NULL);
    fake_set_stream(foreign, 0, other);
    fake_clear();
    for (int i = 0; i < 4; i++) OK(launch_c(0x5000, high));
    for (int i = 0; i < 4; i++) OK(launch_c(0x5000, foreign));
    OK(launch_c(0x5000, CU_STREAM_PER_THREAD));
    CHECK(lines(0, "graph ") == 0 && lines(0, "launch ") == 9);
}

static void plan_verified(void)
{
    plan_chains_ab();
    setenv("KFUSE_VERIFY", "1", 1);
}

static void waits_when_verified(void)
{
    waits_for_launches();
}

/* --- with fused kernels --- */

static void chains_fused(void)
{
    start_known();
    for (int i = 0; i < 4; i++) use_ab();
    CHECK(lines(0, "launch ab ") == 4);
    CHECK(graph_length(0) == 1);
    CHECK(graph_length(1) == 2);
    OK(launch_a(0x1000, 7, NULL)); /* held, behind a chain that has nothing */
    OK(cuCtxSynchronize());
    CHECK_LINE(fake_count() - 2, A_LINE("1000 7"));
}

static void after_fusing(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "fused 4"));
}

/* The first time it goes by itself, behind what the chain has. */
static void unknown_fused_goes_alone(void)
{
    start_known();
    leave_one();
    OK(launch_a(0x1000, 7, NULL));
    CHECK(lines(0, "launch ") == 1);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK(lines(0, "launch _Z1cPf ") == 2);
    CHECK(!strncmp(fake_line(fake_count() - 1), "launch ab ", 10));
}

static void plan_measured(void)
{
    plan_chains_ab();
    setenv("KFUSE_MEASURE", "always", 1);
}

/* An event comes behind its use, which may be in a chain. */
static void marks_behind_uses(void)
{
    size_t events = 0, uses = 0;
    start_known();
    for (unsigned i = 1; i <= 200; i++) {
        use_ab();
        if (lines(0, "cuEventRecord") == events) continue;
        events = lines(0, "cuEventRecord");
        CHECK(!strcmp(fake_line(fake_count() - 1), "cuEventRecord"));
        uses = lines(0, "launch ab ") + lines(0, "launch b ");
        CHECK(uses == i);
    }
    CHECK(events >= 12);
    CHECK(lines(0, "graph 3 ") >= 4); /* an event makes chains no shorter than up to the next one */
}

/* What was renamed is copied back behind the last use. */
static void restores_behind_uses(void)
{
    CUdeviceptr array;
    start_known();
    OK(cuMemAlloc_v2(&array, 4096));
    fake_clear();
    for (int i = 0; i < 5; i++) {
        OK(launch_a(array, 7, NULL));
        OK(launch_b(array, array + 1024, NULL));
    }
    size_t used = lines(0, "launch renamed");
    CHECK(used >= 3 && used < 5);
    OK(cuCtxSynchronize());
    CHECK(lines(0, "launch renamed") == 5);
    CHECK(lines(0, "cuMemcpyDtoDAsync_v2") == 1);
    CHECK(!strncmp(fake_line(fake_count() - 2), "cuMemcpyDtoDAsync_v2", 20));
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"chains grow", grows, plan_chains, after_growing},
        {"an unknown shape goes by itself", unknown_goes_alone, plan_chains, NULL},
        {"arguments are updated where they changed", updates_what_changed, plan_chains, NULL},
        {"chains end where the period does", ends_with_the_period, plan_chains, NULL},
        {"a short run", makes_none_in_short_runs, plan_by_measure, NULL},
        {"no graph can be made", without_graphs, plan_chains, NULL},
        {"no node can be added", without_nodes, plan_chains, NULL},
        {"no graph can be instantiated", without_executables, plan_chains, NULL},
        {"no graph can be updated", without_updates, plan_chains, NULL},
        {"no graph can be launched", without_launches, plan_chains, NULL},
        {"the first launch's error is its caller's", tells_the_caller, plan_chains, NULL},
        {"an error comes later", tells_later, plan_chains, NULL},
        {"arguments in two forms", takes_no_two_forms_of_arguments, plan_chains, NULL},
        {"before an event", before_event, plan_chains, NULL},
        {"before a copy", before_copy, plan_chains, NULL},
        {"before a set", before_set, plan_chains, NULL},
        {"before memory is freed", before_free, plan_chains, NULL},
        {"before a wait", before_wait, plan_chains, NULL},
        {"before any other call", before_limit, plan_chains, NULL},
        {"before a capture", before_capture, plan_chains, NULL},
        {"before a module goes", before_unload, plan_chains, NULL},
        {"before the context goes", before_end_of_context, plan_chains, NULL},
        {"before a launch with attributes", before_attributes, plan_chains, NULL},
        {"before a launch in another stream", before_other_stream, plan_chains, NULL},
        {"before another thread's call", before_other_thread, plan_chains, NULL},
        {"several threads", waits_for_no_thread, plan_chains, NULL},
        {"before the end", ends_with_one, plan_with_log, after_the_end},
        {"without a call", comes_without_a_call, plan_short_hold, NULL},
        {"a host that polls", learns_of_polling, plan_short_hold, NULL},
        {"a module is unloaded", forgets_modules, plan_chains, NULL},
        {"a stream is destroyed", forgets_streams, plan_chains, NULL},
        {"a stream without chains is destroyed", forgets_no_other_stream, plan_chains, NULL},
        {"a kernel's attribute is set", forgets_attributes, plan_chains, NULL},
        {"a capture is under way", spoils_no_capture, plan_chains, NULL},
        {"a limit is set", forgets_limits, plan_chains, NULL},
        {"a context is destroyed", forgets_contexts, plan_chains, NULL},
        {"memory is short", gives_back, plan_chains_rename, after_giving_back},
        {"the child of a fork", is_left_alone_in_a_child, plan_chains, NULL},
        {"a latch", goes_before_a_latch, plan_chains_ab, NULL},
        {"kernels with the same hash", tells_kernels_apart, plan_chains, NULL},
        {"handles of either kind", knows_its_kind, plan_chains, NULL},
        {"launches that wait", waits_for_launches, plan_blocking, NULL},
        {"streams that are left alone", leaves_streams_alone, plan_chains, NULL},
        {"verification", waits_when_verified, plan_verified, NULL},
        {"fused kernels", chains_fused, plan_chains_ab, after_fusing},
        {"an unknown fused kernel", unknown_fused_goes_alone, plan_chains_ab, NULL},
        {"events of measuring", marks_behind_uses, plan_measured, NULL},
        {"copies back", restores_behind_uses, plan_chains_rename, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
