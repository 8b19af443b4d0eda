/* SPDX-License-Identifier: Apache-2.0
 * Replay against the fake driver: failures, and plans that cannot be used: the originals run, and the log
 * says why. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

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

/* The program finds a function of a copy of the driver. */
static void find_other_driver(void)
{
    char path[4096], command[8400];
    Dl_info info;
    CHECK(dladdr((void *)fake_clear, &info));
    snprintf(path, sizeof path, "%s/libcuda.so.9", preload_folder());
    snprintf(command, sizeof command, "cp '%s' '%s'", info.dli_fname, path);
    CHECK(system(command) == 0);
    void *other = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(other && dlsym(other, "cuInit"));
    fake_clear();
    OK(launch_a(0x1000, 1, NULL));
}

static void second_driver(void)
{
    start_program();
    find_other_driver();
    CHECK_LINE(0, A_LINE("1000 1"));
}

static void profilers_driver(void)
{
    start_program();
    find_other_driver();
    CHECK(fake_count() == 0); /* held */
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

static void plan_own_stream(void)
{
    plan_ab();
    setenv("KFUSE_OWN_STREAM", "1", 1);
}

/* A thread has a default stream of its own in each. */
static void second_context_own_stream(void)
{
    CUcontext other;
    start_program();
    OK(launch_a(0x1000, 1, CU_STREAM_PER_THREAD));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(launch_b(0x1000, 2, CU_STREAM_PER_THREAD));
    CHECK_LINE(1, "launch a 4,1,1 32,1,1 0 2 1000 1");
    CHECK_LINE(2, "launch b 4,1,1 32,1,1 0 2 1000 2");
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

/* A profiler's may not. */
static void profilers_table(void)
{
    static const unsigned char unknown[16] = {0x6b, 2};
    const void *table = NULL;
    start_program();
    OK(cuGetExportTable(&table, (const CUuuid *)unknown));
    fake_clear();
    OK(launch_a(0x1000, 1, NULL));
    CHECK(fake_count() == 0); /* held */
}

static void profilers_function(void)
{
    void *function = NULL;
    start_program();
    OK(cuGetProcAddress_v2("cuLaunchKernel", &function, 13000, 0, NULL));
    CHECK(function == (void *)cuLaunchKernel);
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
    struct timespec first, last;
    start_program();
    usleep(50000);
    clock_gettime(CLOCK_MONOTONIC, &first);
    OK(launch_a(0x1000, 1, NULL));
    usleep(4000);
    cuCtxSynchronize();
    clock_gettime(CLOCK_MONOTONIC, &last);
    usleep(50000);
    FILE *file = fopen(in_folder("elapsed"), "w");
    CHECK(file != NULL);
    fprintf(file, "elapsed_us %lld\n",
            (last.tv_sec - first.tv_sec) * 1000000LL + (last.tv_nsec - first.tv_nsec) / 1000 + 1);
    fclose(file);
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
    if (truncate(in_folder("plan.bin"), sizeof(struct plan_header))) exit(1);
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

static void plan_profiled(void)
{
    plan_ab();
    setenv("KFUSE_PROFILED", "1", 1);
}

/* --- afterwards --- */

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

/* The number behind the key in a file of the folder, or 0. */
static unsigned long long number_in(const char *name, const char *key)
{
    unsigned long long number = 0;
    char line[256];
    FILE *file = fopen(in_folder(name), "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) number = strtoull(line + strlen(key), NULL, 10);
    if (file) fclose(file);
    return number;
}

static void check_span(int status)
{
    const unsigned long long span = number_in("stats", "span_us ");
    EXPECT(status == 0);
    EXPECT(span >= 4000 && span <= number_in("elapsed", "elapsed_us "));
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
AFTER(says_other, "a second copy of libcuda is in use: ")
AFTER(says_load, "group ab is off: its code cannot be loaded: CUDA error 200")
AFTER(says_table, "export table 6b010000000000000000000000000000, which nobody knows")
AFTER(says_failed, "group ab is off: its launch failed with CUDA error 701; the originals ran")

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"fused_launch_fails", fused_launch_fails, plan_ab, says_failed},
        {"held_launch_fails", held_launch_fails, plan_ab, NULL},
        {"load_fails", load_fails, plan_ab, says_load},
        {"loads_ahead", loads_ahead, plan_ab, NULL},
        {"second_context", second_context, plan_ab, NULL},
        {"second_context_own_stream", second_context_own_stream, plan_own_stream, NULL},
        {"second_driver", second_driver, plan_ab, says_other},
        {"profilers_driver", profilers_driver, plan_profiled, NULL},
        {"export_tables", export_tables, plan_ab, says_table},
        {"profilers_table", profilers_table, plan_profiled, NULL},
        {"profilers_function", profilers_function, plan_profiled, NULL},
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
