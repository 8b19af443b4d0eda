/* SPDX-License-Identifier: Apache-2.0
 * Replay against the fake driver: what is held, what is issued in which order, and what is refused. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/hash.h"
#include "tests/interpose/fake_driver.h"
#include "tests/interpose/plan_fixture.h"
#include "tests/interpose/preload.h"

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* --- the program --- */

static CUcontext context;
static CUmodule module;
static CUfunction a, b, c;

static void start_program(void)
{
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, FIXTURE_IMAGE) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&a, module, FIXTURE_A) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&b, module, FIXTURE_B) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&c, module, FIXTURE_C) == CUDA_SUCCESS);
    fake_clear();
}

static CUresult launch(CUfunction function, CUstream stream, void **arguments)
{
    return cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

static CUresult launch_a(CUdeviceptr pointer, int value, CUstream stream)
{
    void *arguments[] = {&pointer, &value};
    return launch(a, stream, arguments);
}

static CUresult launch_b(CUdeviceptr first, CUdeviceptr second, CUstream stream)
{
    void *arguments[] = {&first, &second};
    return launch(b, stream, arguments);
}

static CUresult launch_c(CUdeviceptr pointer, CUstream stream)
{
    void *arguments[] = {&pointer};
    return launch(c, stream, arguments);
}
#define OK(call) CHECK((call) == CUDA_SUCCESS)

#define A_LINE(arguments) "launch a 4,1,1 32,1,1 0 0 " arguments
#define B_LINE(arguments) "launch b 4,1,1 32,1,1 0 0 " arguments
#define C_LINE(arguments) "launch _Z1cPf 4,1,1 32,1,1 0 0 " arguments

/* --- matching --- */

static void fuses(void)
{
    start_program();
    OK(launch_a(0x1000, 7, NULL));
    CHECK(fake_count() == 0);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
    CHECK(fake_count() == 1);
    OK(launch_a(0x3000, 8, CU_STREAM_LEGACY)); /* the same stream by its other name */
    OK(launch_b(0x3000, 0x4000, NULL));
    CHECK_LINE(1, "launch ab 4,1,1 32,1,1 0 1 3000 8 4000");
    CHECK(fake_count() == 2);
}

static void packed_arguments(void)
{
    struct {
        CUdeviceptr pointer;
        int value;
    } packed = {0x1000, 7};
    size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    start_program();
    OK(cuLaunchKernel(a, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    packed.pointer = 0; /* a held launch owns its arguments */
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
}

static void compared_arguments(void)
{
    struct {
        CUdeviceptr pointer;
        int value;
    } packed = {0x1000, 8};
    size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    start_program();
    for (int i = 0; i < 2; i++) { /* from the second time on the kernel is known */
        OK(launch_a(0x1000, 8, NULL));
        CHECK_LINE(i, A_LINE("1000 8"));
    }
    OK(cuLaunchKernel(a, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    CHECK_LINE(2, A_LINE("1000 8"));
    OK(launch_a(0x1000, 7, NULL));
    CHECK(fake_count() == 3); /* held */
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(3, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_a(0x1000, 8, NULL)); /* what is held goes first */
    CHECK_LINE(4, A_LINE("1000 7"));
    CHECK_LINE(5, A_LINE("1000 8"));
    packed.value = 7;
    OK(cuLaunchKernel(a, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    CHECK(fake_count() == 6);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(6, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
}

static void mismatches(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_a(0x1000, 2, NULL)); /* the first cannot be part of anything any more */
    CHECK_LINE(0, A_LINE("1000 1"));
    CHECK(fake_count() == 1);
    OK(launch_b(0x9000, 3, NULL)); /* another pointer: the guard fails */
    CHECK_LINE(1, A_LINE("1000 2"));
    CHECK_LINE(2, B_LINE("9000 3"));
    OK(launch_a(0x1000, 4, NULL));
    OK(launch_c(0x5, NULL)); /* in no pattern */
    CHECK_LINE(3, A_LINE("1000 4"));
    CHECK_LINE(4, C_LINE("5"));
    OK(launch_a(0x1000, 5, NULL));
    CUdeviceptr pointer = 0x1000;
    int value = 6;
    void *arguments[] = {&pointer, &value};
    OK(cuLaunchKernel(a, 5, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL)); /* another grid */
    CHECK_LINE(5, A_LINE("1000 5"));
    CHECK_LINE(6, "launch a 5,1,1 32,1,1 0 0 1000 6");
    CHECK(fake_count() == 7);
}

static void longest_wins(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, NULL));
    CHECK(fake_count() == 0); /* c may come */
    OK(launch_c(0x3000, NULL));
    CHECK_LINE(0, "launch abc 4,1,1 32,1,1 0 0 1000 3000");
    OK(launch_a(0x1000, 2, NULL));
    OK(launch_b(0x1000, 4, NULL));
    OK(launch_a(0x1000, 3, NULL)); /* c did not come */
    CHECK_LINE(1, "launch ab 4,1,1 32,1,1 0 0 1000 2 4");
    CHECK(fake_count() == 2);
    OK(launch_b(0x1000, 6, NULL));
    OK(cuStreamSynchronize(NULL)); /* nothing can come any more */
    CHECK_LINE(2, "launch ab 4,1,1 32,1,1 0 0 1000 3 6");
    CHECK_LINE(3, "cuStreamSynchronize");
}

static void passed_over(void)
{
    start_program();
    OK(launch_b(0x1000, 1, NULL));
    OK(launch_c(0x2000, NULL));
    CHECK(fake_count() == 0);
    OK(launch_b(0x3000, 2, NULL));
    CHECK_LINE(0, C_LINE("2000"));
    CHECK_LINE(1, "launch bb 4,1,1 32,1,1 0 0 1000 3000");
    OK(launch_b(0x1000, 1, NULL));
    OK(launch_c(0x2000, NULL));
    OK(launch_a(0x3000, 2, NULL));
    CHECK_LINE(2, "launch ba 4,1,1 32,1,1 0 0 1000 3000");
    CHECK_LINE(3, C_LINE("2000"));
    /* a mismatch inside: the head goes, the rest is matched again from the start */
    OK(launch_b(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, NULL));
    OK(launch_c(0x2000, NULL));
    CHECK_LINE(4, B_LINE("1000 1"));
    CHECK(fake_count() == 5);
    OK(launch_a(0x3000, 2, NULL));
    CHECK_LINE(5, "launch ba 4,1,1 32,1,1 0 0 1000 3000");
    CHECK_LINE(6, C_LINE("2000"));
    CHECK(fake_count() == 7);
}

static void allocation_guards(void)
{
    CUdeviceptr large, small;
    start_program();
    OK(cuMemAlloc_v2(&large, 8192));
    OK(cuMemAlloc_v2(&small, 64));
    fake_clear();
    OK(launch_c(large, NULL));
    OK(launch_c(large + 4096, NULL));
    CHECK(fake_count() == 1 && !strncmp(fake_line(0), "launch cc", 9));
    OK(launch_c(large, NULL));
    OK(launch_c(small, NULL));
    CHECK(fake_count() == 3 && strncmp(fake_line(1), "launch cc", 9) &&
          strncmp(fake_line(2), "launch cc", 9));
    OK(launch_c(0x7f0000000000, NULL)); /* memory that nobody allocated */
    OK(launch_c(large + 4097, NULL));   /* runs over the end */
    CHECK(fake_count() == 5);
    OK(cuMemFree_v2(large));
    fake_clear();
    OK(launch_c(large, NULL)); /* gone */
    CHECK(fake_count() == 1);
}

/* --- order --- */

static void walls(void)
{
    CUdeviceptr memory;
    size_t limit;
    char bytes[8];
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    OK(cuMemAlloc_v2(&memory, 64));
    CHECK_LINE(0, "cuCtxGetLimit 0");
    CHECK_LINE(1, "cuMemAlloc_v2 64");
    CHECK(fake_count() == 2); /* neither sees what is held */
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5));
    CHECK_LINE(2, A_LINE("1000 1"));
    CHECK_LINE(3, "cuCtxSetLimit 0 5");
    OK(launch_a(0x1000, 2, NULL));
    OK(cuMemFree_v2(memory));
    CHECK_LINE(4, A_LINE("1000 2"));
    OK(launch_a(0x1000, 3, NULL));
    OK(cuMemcpyDtoH_v2(bytes, 0x1000, 8));
    CHECK_LINE(6, A_LINE("1000 3"));
    CHECK_LINE(7, "cuMemcpyDtoH_v2 1000 8");
    OK(launch_a(0x1000, 4, NULL));
    OK(cuEventRecord(NULL, NULL));
    CHECK_LINE(8, A_LINE("1000 4"));
    OK(launch_a(0x1000, 5, NULL));
    OK(cuModuleUnload(module));
    CHECK_LINE(10, A_LINE("1000 5"));
    CHECK_LINE(11, "cuModuleUnload");
}

static void unknown_entry_flushes(void)
{
    void *function = NULL;
    start_program();
    OK(cuGetProcAddress_v2("cuFuture", &function, 99000, 0, NULL));
    OK(launch_a(0x1000, 1, NULL));
    CHECK(((fake_future_function)function)(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25) == 7);
    CHECK_LINE(0, A_LINE("1000 1"));
    CHECK_LINE(1, "future 1 2 3 4 5 6 7 0.5 0.25");
}

static void other_streams(void)
{
    CUstream stream = (CUstream)0x70;
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, stream)); /* another stream: no pattern, and it must not overtake */
    CHECK_LINE(0, A_LINE("1000 1"));
    CHECK_LINE(1, "launch b 4,1,1 32,1,1 0 70 1000 2");
    OK(launch_a(0x1000, 3, stream));
    OK(launch_b(0x1000, 4, stream));
    CHECK_LINE(2, "launch ab 4,1,1 32,1,1 0 70 1000 3 4");
    OK(launch_a(0x1000, 5, CU_STREAM_PER_THREAD)); /* never held */
    CHECK_LINE(3, "launch a 4,1,1 32,1,1 0 2 1000 5");
    OK(launch_a(0x1000, 6, NULL));
    OK(launch_b(0x1000, 7, CU_STREAM_PER_THREAD));
    CHECK_LINE(4, A_LINE("1000 6"));
    CHECK_LINE(5, "launch b 4,1,1 32,1,1 0 2 1000 7");
}

static void attributes_are_not_held(void)
{
    CUdeviceptr pointer = 0x1000;
    int value = 1;
    void *arguments[] = {&pointer, &value};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {4, 1, 1, 32, 1, 1, 0, NULL, &attribute, 1};
    start_program();
    OK(cuLaunchKernelEx(&config, a, arguments, NULL));
    CHECK_LINE(0, A_LINE("1000 1"));
    config.numAttrs = 0;
    OK(cuLaunchKernelEx(&config, a, arguments, NULL));
    CHECK(fake_count() == 1);
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(1, "launch ab 4,1,1 32,1,1 0 0 1000 1 2");
}

static void captures(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(cuStreamBeginCapture_v2((CUstream)0x70, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_LINE(0, A_LINE("1000 1"));
    OK(launch_a(0x1000, 2, (CUstream)0x70));
    OK(launch_b(0x1000, 3, (CUstream)0x70));
    CHECK(fake_count() == 4);
    OK(cuStreamEndCapture((CUstream)0x70, NULL));
    OK(launch_a(0x1000, 4, NULL));
    OK(launch_b(0x1000, 5, NULL));
    CHECK_LINE(5, "launch ab 4,1,1 32,1,1 0 0 1000 4 5");
    fake_set_capturing(1); /* by a way that nobody saw */
    OK(launch_a(0x1000, 6, NULL));
    CHECK_LINE(6, A_LINE("1000 6"));
}

/* Code is not loaded while a stream is being captured, but at the next call where it may be. */
static void loads_after_capture(void)
{
    CUdeviceptr memory;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuStreamBeginCapture_v2((CUstream)0x70, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuModuleLoadData(&module, FIXTURE_IMAGE));
    OK(cuModuleGetFunction(&a, module, FIXTURE_A));
    OK(cuModuleGetFunction(&b, module, FIXTURE_B));
    OK(cuMemAlloc_v2(&memory, 64));
    CHECK_LINE(fake_count() - 1, "cuMemAlloc_v2 64");
    OK(cuStreamEndCapture((CUstream)0x70, NULL));
    OK(cuMemAlloc_v2(&memory, 64));
    CHECK_LINE(fake_count() - 1, "cuModuleLoadData .version 8.0 // code");
    fake_clear();
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 1 2");
}

static void timer_releases(void)
{
    start_program();
    for (int i = 1; i <= 3; i++) {
        OK(launch_a(0x1000, i, NULL));
        for (int wait = 0; wait < 2000 && fake_count() < (size_t)i; wait++) usleep(1000);
        CHECK(fake_count() == (size_t)i);
        usleep(i == 2 ? 50000 : 0); /* long enough for the timer to go to sleep */
    }
    CHECK_LINE(2, A_LINE("1000 3"));
}

static void *launch_in_thread(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    OK(launch_b(0x1000, 2, NULL));
    return NULL;
}

static void *synchronize_in_thread(void *unused)
{
    (void)unused; /* no context is current here */
    OK(cuStreamSynchronize(NULL));
    return NULL;
}

static void threads_share_the_queue(void)
{
    pthread_t thread;
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    pthread_create(&thread, NULL, launch_in_thread, NULL);
    pthread_join(thread, NULL);
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 1 2");
    OK(launch_a(0x1000, 3, NULL));
    pthread_create(&thread, NULL, synchronize_in_thread, NULL);
    pthread_join(thread, NULL);
    CHECK_LINE(1, A_LINE("1000 3"));
    CHECK_LINE(2, "cuStreamSynchronize");
}

enum { THREADS = 4, ROUNDS = 300 };

static void *launch_many(void *index)
{
    uint64_t id = (uint64_t)(uintptr_t)index;
    CUstream stream = id < 2 ? NULL : (CUstream)(0x70 + id);
    OK(cuCtxSetCurrent(context));
    for (uint64_t i = 0; i < ROUNDS; i++) {
        CUdeviceptr tag = id << 32 | i << 4;
        OK(launch_a(tag, (int)i, stream));
        if (i % 7 == 3) OK(cuStreamSynchronize(stream));
        OK(launch_b(tag, tag | 1, stream));
        if (i % 5 == 1) OK(launch_c(tag | 2, stream));
    }
    return NULL;
}

static uint64_t last[THREADS], seen[THREADS];

static void see(uint64_t tag, unsigned step)
{
    uint64_t id = tag >> 32, at = (tag & 0xfffffff0) | step;
    CHECK(id < THREADS);
    CHECK(seen[id] == 0 || at > last[id]);
    last[id] = at;
    seen[id]++;
}

/* Every launch reaches the driver once, and those of one thread in its order. Two threads share a stream, so
 * that a group may have launches of both. */
static void threads_keep_order(void)
{
    pthread_t threads[THREADS];
    start_program();
    fake_slow_launch(1);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, launch_many, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    OK(cuStreamSynchronize(NULL));
    for (size_t i = 0; i < fake_count(); i++) {
        char name[8];
        unsigned long long tag, rest[2];
        if (sscanf(fake_line(i), "launch %7s %*s %*s %*u %*x %llx %llx %llx", name, &tag, &rest[0],
                   &rest[1]) < 2)
            continue;
        if (name[0] == 'a') see(tag, 0);
        if (name[0] == 'b' || name[1] == 'b') see(tag, 1); /* b's first pointer is a's */
        if (name[0] == '_') see(tag, 2);
        if (!strcmp(name, "abc")) see(rest[0], 2);
    }
    for (int i = 0; i < THREADS; i++) CHECK(seen[i] == 2 * ROUNDS + ROUNDS / 5);
}

/* --- failures --- */

static void fused_launch_fails(void)
{
    start_program();
    fake_fail_launch("ab", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(1, A_LINE("1000 1"));
    CHECK_LINE(2, B_LINE("1000 2"));
    OK(launch_a(0x1000, 3, NULL)); /* the group is off */
    CHECK_LINE(3, A_LINE("1000 3"));
    OK(cuStreamSynchronize(NULL)); /* no error was the program's */
}

static void held_launch_fails(void)
{
    start_program();
    fake_fail_launch("a", CUDA_ERROR_INVALID_VALUE);
    OK(launch_a(0x1000, 1, NULL));
    CHECK(cuStreamSynchronize(NULL) == CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(NULL));
    OK(launch_a(0x1000, 1, NULL));
    CHECK(launch_c(0x1000, NULL) == CUDA_ERROR_INVALID_VALUE); /* launches report earlier errors too */
    CHECK_LINE(fake_count() - 1, C_LINE("1000"));
    CHECK(launch_b(0x1000, 1, NULL) == CUDA_SUCCESS);
}

static void load_fails(void)
{
    CHECK(cuInit(0) == CUDA_SUCCESS);
    fake_fail_load(".version 8.0 // code");
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    CHECK_LINE(0, A_LINE("1000 1"));
}

/* Lines of the driver that begin so. */
static size_t count_lines(const char *beginning)
{
    size_t count = 0;
    for (size_t i = 0; i < fake_count(); i++) count += !strncmp(fake_line(i), beginning, strlen(beginning));
    return count;
}

/* The plan's code is there before the program's module is: only that comes at the first launch. */
static void loads_ahead(void)
{
    CUdeviceptr array;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&array, 4096) == CUDA_SUCCESS);
    CHECK(count_lines("cuModuleLoadData") == 1);
    fake_clear();
    CHECK(cuModuleLoadData(&module, FIXTURE_IMAGE) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&a, module, FIXTURE_A) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&b, module, FIXTURE_B) == CUDA_SUCCESS);
    CHECK(count_lines("cuModuleLoadData") == 1);
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
}

static void second_context(void)
{
    CUcontext other;
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(1, A_LINE("1000 1"));
    CHECK_LINE(2, B_LINE("1000 2"));
    OK(cuCtxSetCurrent(context));
    OK(launch_a(0x1000, 3, NULL)); /* latched */
    CHECK_LINE(3, A_LINE("1000 3"));
}

/* The runtime's tables are known; the functions of others could launch unseen. */
static void export_tables(void)
{
    static const unsigned char known[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    static const unsigned char unknown[16] = {0x6b, 1};
    const void *table = NULL;
    start_program();
    OK(cuGetExportTable(&table, (const CUuuid *)known));
    fake_clear();
    OK(launch_a(0x1000, 1, NULL));
    CHECK(fake_count() == 0 && table);
    OK(cuGetExportTable(&table, (const CUuuid *)unknown));
    OK(cuStreamSynchronize(NULL));
    fake_clear();
    OK(launch_a(0x1000, 1, NULL));
    CHECK_LINE(0, A_LINE("1000 1"));
}

static void context_goes(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(cuCtxDestroy_v2(context));
    CHECK_LINE(0, A_LINE("1000 1"));
    CHECK_LINE(1, "cuCtxDestroy_v2");
    OK(launch_a(0x1000, 2, NULL));
    CHECK_LINE(2, A_LINE("1000 2"));
}

static void forks(void)
{
    int status = 1;
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    pid_t child = fork();
    if (!child) {
        OK(launch_a(0x1000, 2, NULL));
        CHECK_LINE(0, A_LINE("1000 2")); /* straight through, and nothing of the parent's */
        OK(cuStreamSynchronize(NULL));
        CHECK(fake_count() == 2);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(fake_count() == 0);
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 1 2");
}

static void exits_holding(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    OK(launch_b(0x1000, 2, NULL));
    OK(launch_a(0x1000, 3, NULL));
    exit(3);
}

static void denied(void)
{
    CUdeviceptr memory;
    start_program();
    OK(cuMemAlloc_v2(&memory, 8192));
    fake_clear();
    OK(launch_c(memory, NULL));
    CHECK(fake_count() == 1);
}

static void passes_through(void)
{
    start_program();
    OK(launch_a(0x1000, 1, NULL));
    CHECK_LINE(0, A_LINE("1000 1"));
    OK(launch_b(0x1000, 2, NULL));
    CHECK_LINE(1, B_LINE("1000 2"));
}

/* The span of the launches: from the first one to the last call that waits, not to the exit. */
static void spans(void)
{
    start_program();
    usleep(50000);
    OK(launch_a(0x1000, 1, NULL));
    usleep(4000);
    cuCtxSynchronize();
    usleep(50000);
}

static void load_again(void)
{
    OK(cuModuleLoadData(&module, FIXTURE_IMAGE));
    OK(cuModuleGetFunction(&a, module, FIXTURE_A));
    OK(cuModuleGetFunction(&b, module, FIXTURE_B));
    fake_clear();
}

/* The code of the plan outlives the program's module; a handle of a module that is gone means nothing. */
static void modules_come_and_go(void)
{
    start_program();
    CUfunction old_b = b;
    OK(launch_a(0x1000, 1, NULL));
    OK(cuModuleUnload(module));
    CHECK_LINE(0, A_LINE("1000 1"));
    load_again();
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
    OK(launch_a(0x1000, 8, NULL));
    b = old_b;
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(1, A_LINE("1000 8"));
    CUmodule first = module;
    load_again(); /* the same image twice */
    OK(cuModuleUnload(first));
    fake_clear();
    OK(launch_a(0x1000, 9, NULL));
    cuCtxSynchronize();
    CHECK_LINE(0, A_LINE("1000 9"));
}

/* Patterns that begin and never end: after a while their launches are not held any more, and later are again.
 */
static void futile_holding_pauses(void)
{
    start_program();
    for (int i = 0; i < 300; i++) OK(launch_a(0x1000, i, NULL));
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK_LINE(0, A_LINE("1000 7"));
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(1, B_LINE("1000 2000"));
    for (int i = 0; i < 1000; i++) OK(launch_a(0x1000, i, NULL));
    cuCtxSynchronize();
    fake_clear();
    OK(launch_a(0x1000, 7, NULL));
    CHECK(fake_count() == 0);
    OK(launch_b(0x1000, 0x2000, NULL));
    CHECK_LINE(0, "launch ab 4,1,1 32,1,1 0 0 1000 7 2000");
}

/* --- plans --- */

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", preload_folder(), name);
    return path;
}

static void use_plan(const struct fixture *fixture)
{
    fixture_write(fixture, preload_folder());
    setenv("KFUSE_PLAN", preload_folder(), 1);
    setenv("KFUSE_HOLD_US", "1000000", 1);
    setenv("KFUSE_STATS", in_folder("stats"), 1);
}

static void plan_ab(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB});
}

/* Where the default mode looks: the cache folder, under the hash of the first image with PTX. */
static void plan_compared(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .compared = 7});
}

static void plan_in_cache(void)
{
    char folder[4200], key[33];
    hash_text(hash_bytes(FIXTURE_IMAGE, strlen(FIXTURE_IMAGE)), key);
    snprintf(folder, sizeof folder, "%s/%s.kfplan", preload_folder(), key);
    if (mkdir(folder, 0755)) exit(1);
    fixture_write(&(struct fixture){.groups = FIXTURE_AB}, folder);
    setenv("KFUSE_HOLD_US", "1000000", 1);
}

static void plan_ab_abc(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB | FIXTURE_ABC});
}

static void plan_over(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_BCB | FIXTURE_BCA});
}

static void plan_cc(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_CC});
}

static void plan_short_timer(void)
{
    plan_ab();
    setenv("KFUSE_HOLD_US", "200", 1);
}

static void plan_all_short_timer(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB | FIXTURE_ABC});
    setenv("KFUSE_HOLD_US", "20", 1);
}

static void plan_logged(void)
{
    plan_ab();
    setenv("FAKE_LOG", in_folder("calls"), 1);
}

static void plan_other_device(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .device = "another device"});
}

static void plan_other_driver(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .driver_version = 12080});
}

static void plan_other_program(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .image = "another image"});
}

static void plan_other_registers(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .registers = 17});
}

static void plan_unverified(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB, .flags = 1});
}

static void plan_edited(void)
{
    plan_ab();
    FILE *file = fopen(in_folder("plan.json"), "a");
    fputs(" ", file);
    fclose(file);
}

static void plan_truncated(void)
{
    plan_ab();
    if (truncate(in_folder("plan.bin"), 400)) exit(1);
}

static void plan_missing(void)
{
    plan_ab();
    setenv("KFUSE_PLAN", "/nonexistent.kfplan", 1);
}

static void plan_denied(void)
{
    plan_cc();
    setenv("KFUSE_DENY", "x,c", 1); /* the C++ function's plain name */
}

static void plan_disabled(void)
{
    plan_ab();
    setenv("KFUSE_DISABLE", "1", 1);
}

/* --- afterwards --- */

#define EXPECT(condition)                                                                                    \
    if (!(condition)) exit((fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), 1))

static bool file_has(const char *name, const char *text)
{
    char line[1024];
    bool is_there = false;
    FILE *file = fopen(in_folder(name), "r");
    while (file && !is_there && fgets(line, sizeof line, file)) is_there = strstr(line, text);
    if (file) fclose(file);
    return is_there;
}

static void check_exit(int status)
{
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    EXPECT(file_has("calls", "launch ab 4,1,1 32,1,1 0 0 1000 1 2"));
    EXPECT(file_has("calls", A_LINE("1000 3")));
    EXPECT(file_has("stats", "launches 3\n") && file_has("stats", "issued 2\n") &&
           file_has("stats", "fused 1\n"));
    EXPECT(file_has("stats", "held 3\n") && file_has("stats", "drained 1\n"));
    EXPECT(file_has("stats", "groups_used 1\n") && file_has("stats", "group ab uses 1\n"));
}

static void check_span(int status)
{
    unsigned long long microseconds = 0;
    char line[256];
    FILE *file = fopen(in_folder("stats"), "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "span_us %llu", &microseconds);
    if (file) fclose(file);
    EXPECT(status == 0);
    EXPECT(microseconds >= 4000 && microseconds < 50000);
}

static void check_timer(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "timer_releases 3\n") && file_has("stats", "drained 3\n"));
}

#define AFTER(name, text)                                                                                    \
    static void name(int status)                                                                             \
    {                                                                                                        \
        EXPECT(status == 0);                                                                                 \
        EXPECT(file_has("log", text));                                                                       \
    }
AFTER(says_device, "plan.bin is for another device (compute 9.0), this is fake device (9.0): run `kfuse "
                   "record` and `kfuse plan`")
AFTER(says_driver, "plan.bin was made with CUDA driver 12080, this is 13000: run `kfuse record`")
AFTER(says_edited, "does not belong to the plan.json beside it, which was edited")
AFTER(says_truncated, "plan.bin: is cut short")
AFTER(says_missing, "/nonexistent.kfplan/plan.bin: cannot be read")
AFTER(says_disabled, "KFUSE_DISABLE is set")
AFTER(says_registers, "a:8,4 has other attributes than when it was recorded")
AFTER(says_unverified, "group ab is off: it must be verified")
AFTER(says_load, "group ab is off: its code cannot be loaded: CUDA error 200")
AFTER(says_table, "export table 6b010000000000000000000000000000, which nobody knows")
AFTER(says_failed, "group ab is off: its launch failed with CUDA error 701; the originals ran")

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"fuses", fuses, plan_ab, NULL},
        {"fuses_by_default", fuses, plan_in_cache, NULL},
        {"packed_arguments", packed_arguments, plan_ab, NULL},
        {"compared_arguments", compared_arguments, plan_compared, NULL},
        {"mismatches", mismatches, plan_ab, NULL},
        {"longest_wins", longest_wins, plan_ab_abc, NULL},
        {"passed_over", passed_over, plan_over, NULL},
        {"allocation_guards", allocation_guards, plan_cc, NULL},
        {"walls", walls, plan_ab, NULL},
        {"unknown_entry_flushes", unknown_entry_flushes, plan_ab, NULL},
        {"other_streams", other_streams, plan_ab, NULL},
        {"attributes_are_not_held", attributes_are_not_held, plan_ab, NULL},
        {"captures", captures, plan_ab, NULL},
        {"loads_after_capture", loads_after_capture, plan_ab, NULL},
        {"timer_releases", timer_releases, plan_short_timer, check_timer},
        {"threads_share_the_queue", threads_share_the_queue, plan_ab, NULL},
        {"threads_keep_order", threads_keep_order, plan_all_short_timer, NULL},
        {"fused_launch_fails", fused_launch_fails, plan_ab, says_failed},
        {"held_launch_fails", held_launch_fails, plan_ab, NULL},
        {"load_fails", load_fails, plan_ab, says_load},
        {"loads_ahead", loads_ahead, plan_ab, NULL},
        {"second_context", second_context, plan_ab, NULL},
        {"export_tables", export_tables, plan_ab, says_table},
        {"context_goes", context_goes, plan_ab, NULL},
        {"forks", forks, plan_ab, NULL},
        {"modules_come_and_go", modules_come_and_go, plan_ab, NULL},
        {"futile_holding_pauses", futile_holding_pauses, plan_ab, NULL},
        {"exits_holding", exits_holding, plan_logged, check_exit},
        {"other_device", passes_through, plan_other_device, says_device},
        {"other_driver", passes_through, plan_other_driver, says_driver},
        {"other_program", passes_through, plan_other_program, NULL},
        {"other_registers", passes_through, plan_other_registers, says_registers},
        {"unverified", passes_through, plan_unverified, says_unverified},
        {"edited", passes_through, plan_edited, says_edited},
        {"truncated", passes_through, plan_truncated, says_truncated},
        {"missing", passes_through, plan_missing, says_missing},
        {"disabled", passes_through, plan_disabled, says_disabled},
        {"denied", denied, plan_denied, NULL},
        {"spans", spans, plan_ab, check_span},
        {"spans_disabled", spans, plan_disabled, check_span},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
