/* SPDX-License-Identifier: Apache-2.0
 * Replay against the fake driver: what is held, and what is issued in which order. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/hash.h"
#include "tests/interpose/replay_program.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

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

/* --- variables of modules --- */

static void launch_d(CUfunction d, CUdeviceptr pointer)
{
    void *arguments[] = {&pointer};
    OK(launch(d, NULL, arguments));
}

/* d's variable is that of the module from which the launched handle is; the driver is asked once a handle. */
static void variables_by_address(void)
{
    CUmodule other;
    CUfunction d, d_of_other;
    char text[64];
    start_program();
    OK(cuModuleGetFunction(&d, module, FIXTURE_D));
    fake_clear();
    launch_d(d, 0x1000);
    launch_d(d, 0x2000);
    CHECK_LINE(0, "cuModuleGetGlobal_v2 v");
    snprintf(text, sizeof text, "launch dd 4,1,1 32,1,1 0 0 1000 %lx", 0x500000 + (unsigned long)module);
    CHECK_LINE(1, text);
    launch_d(d, 0x1000);
    launch_d(d, 0x2000);
    CHECK_LINE(2, text);
    OK(cuModuleLoadData(&other, FIXTURE_IMAGE));
    OK(cuModuleGetFunction(&d_of_other, other, FIXTURE_D));
    fake_clear();
    launch_d(d, 0x1000); /* two variables: apart */
    launch_d(d_of_other, 0x2000);
    launch_d(d_of_other, 0x3000);
    CHECK_LINE(0, "cuModuleGetGlobal_v2 v");
    CHECK_LINE(1, "launch d 4,1,1 32,1,1 0 0 1000");
    snprintf(text, sizeof text, "launch dd 4,1,1 32,1,1 0 0 2000 %lx", 0x500000 + (unsigned long)other);
    CHECK_LINE(2, text);
}

static void variables_unknown(void)
{
    CUfunction d;
    start_program();
    OK(cuModuleGetFunction(&d, module, FIXTURE_D));
    fake_clear();
    launch_d(d, 0x1000);
    launch_d(d, 0x2000);
    CHECK_LINE(0, "cuModuleGetGlobal_v2 w");
    CHECK_LINE(1, "launch d 4,1,1 32,1,1 0 0 1000");
    CHECK_LINE(2, "launch d 4,1,1 32,1,1 0 0 2000");
    CHECK(fake_count() == 3);
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
    OK(cuStreamQuery(NULL)); /* the fake driver writes no line */
    CHECK_LINE(10, A_LINE("1000 5"));
    OK(launch_a(0x1000, 6, NULL));
    OK(cuModuleUnload(module));
    CHECK_LINE(11, A_LINE("1000 6"));
    CHECK_LINE(12, "cuModuleUnload");
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
    OK(launch_a(0x1000, 5, CU_STREAM_PER_THREAD)); /* not held, unless asked for */
    CHECK_LINE(3, "launch a 4,1,1 32,1,1 0 2 1000 5");
    OK(launch_a(0x1000, 6, NULL));
    OK(launch_b(0x1000, 7, CU_STREAM_PER_THREAD));
    CHECK_LINE(4, A_LINE("1000 6"));
    CHECK_LINE(5, "launch b 4,1,1 32,1,1 0 2 1000 7");
    OK(launch_a(0x1000, 8, stream));
    OK(cuStreamDestroy_v2(stream));
    CHECK_LINE(6, "launch a 4,1,1 32,1,1 0 70 1000 8");
    CHECK_LINE(7, "cuStreamDestroy_v2 70");
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

/* --- plans --- */

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

static void plan_dd(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_DD});
}

static void plan_dw(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_DD, .variable = "w"});
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

/* --- afterwards --- */

static void check_timer(int status)
{
    EXPECT(status == 0);
    EXPECT(file_has("stats", "timer_releases 3\n") && file_has("stats", "drained 3\n"));
}

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
        {"variables_by_address", variables_by_address, plan_dd, NULL},
        {"variables_unknown", variables_unknown, plan_dw, NULL},
        {"walls", walls, plan_ab, NULL},
        {"unknown_entry_flushes", unknown_entry_flushes, plan_ab, NULL},
        {"other_streams", other_streams, plan_ab, NULL},
        {"attributes_are_not_held", attributes_are_not_held, plan_ab, NULL},
        {"captures", captures, plan_ab, NULL},
        {"loads_after_capture", loads_after_capture, plan_ab, NULL},
        {"timer_releases", timer_releases, plan_short_timer, check_timer},
        {"threads_share_the_queue", threads_share_the_queue, plan_ab, NULL},
        {"threads_keep_order", threads_keep_order, plan_all_short_timer, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
