/* SPDX-License-Identifier: Apache-2.0
 * Verification against the fake driver: what goes to the driver in which order, also while other threads are
 * in it. The fake device has no memory: every copy from it is zeros, so all results are equal. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/plan.h"
#include "tests/interpose/fake_driver.h"
#include "tests/interpose/plan_fixture.h"
#include "tests/interpose/preload.h"

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define OK(call) CHECK((call) == CUDA_SUCCESS)

static CUcontext context;
static CUmodule module;
static CUfunction a, b;
static CUdeviceptr array;

static void start_program(void)
{
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, FIXTURE_IMAGE));
    OK(cuModuleGetFunction(&a, module, FIXTURE_A));
    OK(cuModuleGetFunction(&b, module, FIXTURE_B));
    OK(cuMemAlloc_v2(&array, 4096));
    fake_clear();
}

/* What the second launch returns. */
static CUresult launch_group(int value)
{
    CUdeviceptr second = 5;
    void *of_a[] = {&array, &value}, *of_b[] = {&array, &second};
    OK(cuLaunchKernel(a, 4, 1, 1, 32, 1, 1, 0, NULL, of_a, NULL));
    return cuLaunchKernel(b, 4, 1, 1, 32, 1, 1, 0, NULL, of_b, NULL);
}

static void use_group(int value)
{
    OK(launch_group(value));
}

/* The index of the first call that begins so, from an index on; or the number of calls. */
static size_t find(const char *text, size_t from)
{
    size_t i = from;
    while (i < fake_count() && strncmp(fake_line(i), text, strlen(text)) != 0) i++;
    return i;
}

#define IN_ORDER(at, text)                                                                                   \
    do {                                                                                                     \
        at = find(text, at) + 1;                                                                             \
        CHECK(at <= fake_count());                                                                           \
    } while (0)

/* Copies, the members, copies, the fused kernel; and after two uses the fused kernel only. */
static void uses_run_twice(void)
{
    start_program();
    for (int use = 0; use < 2; use++) {
        size_t at = 0;
        fake_clear();
        use_group(use);
        IN_ORDER(at, "cuCtxSynchronize");
        IN_ORDER(at, "cuMemcpyDtoH_v2");
        IN_ORDER(at, "launch a ");
        IN_ORDER(at, "launch b ");
        IN_ORDER(at, "cuCtxSynchronize");
        IN_ORDER(at, "cuMemcpyDtoH_v2");
        IN_ORDER(at, "cuMemcpyHtoD_v2");
        IN_ORDER(at, "cuCtxSynchronize");
        IN_ORDER(at, "launch ab ");
        IN_ORDER(at, "cuCtxSynchronize");
        IN_ORDER(at, "cuMemcpyDtoH_v2");
        CHECK(find("launch", at) == fake_count());
    }
    fake_clear();
    use_group(7);
    CHECK(fake_count() == 1 && find("launch ab ", 0) == 0);
}

/* --- other threads --- */

static void *copy(void *unused)
{
    (void)unused;
    char bytes[8] = "";
    OK(cuCtxSetCurrent(context));
    OK(cuMemcpyHtoD_v2(array + 512, bytes, sizeof bytes));
    return NULL;
}

static void *call_future(void *function)
{
    OK(cuCtxSetCurrent(context));
    CHECK(((fake_future_function)function)(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25) == 7);
    return NULL;
}

/* Another thread is in the driver, and does there what it has come for only after a while. */
static pthread_t enter_driver(void *(*body)(void *), void *argument, unsigned microseconds)
{
    pthread_t thread;
    const unsigned before = fake_slow_copies();
    fake_slow_copy(microseconds);
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    while (fake_slow_copies() == before) usleep(1000);
    fake_slow_copy(0);
    return thread;
}

static void waits_for_copies(void)
{
    start_program();
    pthread_t thread = enter_driver(copy, NULL, 150000);
    use_group(1);
    pthread_join(thread, NULL);
    CHECK(find("cuMemcpyHtoD_v2", 0) < find("cuMemcpyDtoH_v2", 0));
    CHECK(find("launch ab ", 0) < fake_count());
}

/* An entry point without a hook: its arguments, those on the stack too, are the program's. */
static void waits_for_unknown_calls(void)
{
    void *function = NULL;
    start_program();
    OK(cuGetProcAddress_v2("cuFuture", &function, 99000, 0, NULL));
    pthread_t thread = enter_driver(call_future, function, 150000);
    use_group(1);
    pthread_join(thread, NULL);
    CHECK(find("future 1 2 3 4 5 6 7 0.5 0.25", 0) < find("cuMemcpyDtoH_v2", 0));
    CHECK(find("launch ab ", 0) < fake_count());
}

static void *use_later(void *unused)
{
    (void)unused;
    while (fake_count() == 0) usleep(1000);
    return copy(NULL);
}

/* A call that comes while a use is being verified is made after it. */
static void calls_wait(void)
{
    pthread_t thread;
    start_program();
    fake_slow_launch(60000);
    CHECK(pthread_create(&thread, NULL, use_later, NULL) == 0);
    use_group(1);
    pthread_join(thread, NULL);
    size_t fused = find("launch ab ", 0);
    CHECK(fused < fake_count());
    CHECK(find("cuMemcpyDtoH_v2", fused) < fake_count());
    CHECK(find("cuMemcpyHtoD_v2", fused) > find("cuMemcpyDtoH_v2", fused));
    CHECK(find("cuMemcpyHtoD_v2", fused) < fake_count());
}

/* A thread that stays in the driver is not waited for without an end; then nothing is verified, or fused. */
static void gives_up(void)
{
    start_program();
    pthread_t thread = enter_driver(copy, NULL, 20000000);
    use_group(1);
    CHECK(fake_count() == 2 && find("launch a ", 0) == 0 && find("launch b ", 0) == 1);
    fake_let_go();
    pthread_join(thread, NULL);
    fake_clear();
    use_group(2);
    CHECK(fake_count() == 2 && find("launch a ", 0) == 0);
}

/* --- what is not verified --- */

static void members_only_from_now(void)
{
    use_group(1);
    size_t first = find("launch", 0);
    CHECK(find("launch a ", 0) == first && find("launch b ", 0) < fake_count());
    CHECK(find("launch ab ", 0) == fake_count());
    fake_clear();
    use_group(2);
    CHECK(fake_count() == 2 && find("launch a ", 0) == 0 && find("launch b ", 0) == 1);
}

static void members_only(void)
{
    start_program();
    members_only_from_now();
}

static void shared_memory(void)
{
    CUipcMemHandle handle;
    start_program();
    cuIpcGetMemHandle(&handle, array);
    fake_clear();
    use_group(1);
    CHECK(fake_count() == 2 && find("launch a ", 0) == 0 && find("launch b ", 0) == 1);
}

/* What goes on in another context is not waited for. */
static void second_context(void)
{
    CUcontext other;
    char bytes[8] = "";
    start_program();
    OK(cuMemcpyHtoD_v2(array + 512, bytes, sizeof bytes));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuMemcpyHtoD_v2(array + 512, bytes, sizeof bytes));
    OK(cuCtxSetCurrent(context));
    fake_clear();
    members_only_from_now();
}

/* The members' result is put back, and the group is off. */
static void fused_launch_fails(void)
{
    start_program();
    fake_fail_launch("ab", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    use_group(1);
    size_t fused = find("failed launch ab ", 0);
    CHECK(find("launch b ", 0) < fused && fused < fake_count());
    CHECK(find("cuMemcpyHtoD_v2", fused) < fake_count());
    fake_clear();
    use_group(2);
    CHECK(fake_count() == 2 && find("launch a ", 0) == 0);
    OK(cuCtxSynchronize()); /* no error of ours */
}

static void member_fails(void)
{
    start_program();
    fake_fail_launch("b", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(launch_group(1) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(find("launch a ", 0) < find("failed launch b ", 0));
    CHECK(find("launch ab ", 0) == fake_count());
}

/* --- plans --- */

static void use_plan(uint32_t written, uint32_t flags)
{
    fixture_write(&(struct fixture){.groups = FIXTURE_AB, .written = written, .flags = flags},
                  preload_folder());
    setenv("KFUSE_PLAN", preload_folder(), 1);
    setenv("KFUSE_HOLD_US", "10000000", 1);
    setenv("KFUSE_VERIFY", "2", 1);
}

static void plan_good(void)
{
    use_plan(256, 0);
}

static void plan_unverified(void)
{
    use_plan(256, PLAN_NEEDS_VERIFICATION);
}

static void plan_without_effects(void)
{
    use_plan(0, 0);
}

/* More than the allocation has. */
static void plan_too_wide(void)
{
    use_plan(8192, 0);
}

static void plan_small_memory(void)
{
    use_plan(256, 0);
    setenv("KFUSE_VERIFY_MIB", "1", 1);
}

static void plan_short_wait(void)
{
    use_plan(256, 0);
    setenv("KFUSE_VERIFY_WAIT_MS", "50", 1);
}

static bool file_has(const char *name, const char *text)
{
    char line[1024], path[4096];
    bool is_there = false;
    snprintf(path, sizeof path, "%s/%s", preload_folder(), name);
    FILE *file = fopen(path, "r");
    while (file && !is_there && fgets(line, sizeof line, file)) is_there = strstr(line, text);
    if (file) fclose(file);
    return is_there;
}

#define AFTER(name, file, text)                                                                              \
    static void name(int status)                                                                             \
    {                                                                                                        \
        if (status == 0 && file_has(file, text)) return;                                                     \
        fprintf(stderr, "status %d, or %s does not say: %s\n", status, file, text);                          \
        exit(1);                                                                                             \
    }
AFTER(says_twice, "verified", "verified ab uses 2 mismatches 0 bytes 256\n")
AFTER(says_effects, "verified", "because the plan does not say what it writes")
AFTER(says_wide, "verified", "because it writes memory that is not a plain device allocation")
AFTER(says_small, "verified", "because it needs 2 MiB on the host, KFUSE_VERIFY_MIB is 1")
AFTER(says_thread, "log", "nothing more is verified: another thread is in a call of the driver")
AFTER(says_shared, "verified", "because the program shares device memory with others")
AFTER(says_contexts, "verified", "because the program uses several contexts")
AFTER(says_failed, "verified", "because its launch failed with CUDA error 701")
AFTER(says_member, "verified", "because a member's launch failed with CUDA error 701")

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"uses_run_twice", uses_run_twice, plan_good, says_twice},
        {"group_that_needs_it", uses_run_twice, plan_unverified, says_twice},
        {"waits_for_copies", waits_for_copies, plan_good, NULL},
        {"waits_for_unknown_calls", waits_for_unknown_calls, plan_good, NULL},
        {"calls_wait", calls_wait, plan_good, NULL},
        {"gives_up", gives_up, plan_short_wait, says_thread},
        {"no_effects", members_only, plan_without_effects, says_effects},
        {"too_wide", members_only, plan_too_wide, says_wide},
        {"small_memory", members_only, plan_small_memory, says_small},
        {"shared_memory", shared_memory, plan_good, says_shared},
        {"second_context", second_context, plan_good, says_contexts},
        {"fused_launch_fails", fused_launch_fails, plan_good, says_failed},
        {"member_fails", member_fails, plan_good, says_member},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
