/* SPDX-License-Identifier: Apache-2.0
 * The program of the tests of replay, and how its plans come to their places. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/replay_program.h"

CUcontext context;
CUmodule module;
CUfunction a, b, c;

void start_program(void)
{
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, FIXTURE_IMAGE) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&a, module, FIXTURE_A) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&b, module, FIXTURE_B) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&c, module, FIXTURE_C) == CUDA_SUCCESS);
    fake_clear();
}

void start_program_on_own_clock(void)
{
    fake_own_clock();
    start_program();
}

CUresult launch(CUfunction function, CUstream stream, void **arguments)
{
    return cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

CUresult launch_a(CUdeviceptr pointer, int value, CUstream stream)
{
    void *arguments[] = {&pointer, &value};
    return launch(a, stream, arguments);
}

CUresult launch_b(CUdeviceptr first, CUdeviceptr second, CUstream stream)
{
    void *arguments[] = {&first, &second};
    return launch(b, stream, arguments);
}

CUresult launch_c(CUdeviceptr pointer, CUstream stream)
{
    void *arguments[] = {&pointer};
    return launch(c, stream, arguments);
}

const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", preload_folder(), name);
    return path;
}

void use_plan(const struct fixture *fixture)
{
    fixture_write(fixture, preload_folder());
    setenv("KFUSE_PLAN", preload_folder(), 1);
    setenv("KFUSE_HOLD_US", "1000000", 1);
    setenv("KFUSE_STATS", in_folder("stats"), 1);
    setenv("KFUSE_MEASURE", "0", 1); /* else calls of its own would stand among the program's */
}

void plan_ab(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_AB});
}

void plan_cc(void)
{
    use_plan(&(struct fixture){.groups = FIXTURE_CC});
}

bool file_has(const char *name, const char *text)
{
    char line[1024];
    bool is_there = false;
    FILE *file = fopen(in_folder(name), "r");
    while (file && !is_there && fgets(line, sizeof line, file)) is_there = strstr(line, text);
    if (file) fclose(file);
    return is_there;
}

size_t lines(size_t from, const char *text)
{
    size_t count = 0;
    for (size_t i = from; i < fake_count(); i++) count += !strncmp(fake_line(i), text, strlen(text));
    return count;
}

void remember_measured(struct measured_group group)
{
    static struct measured measured;
    struct plan plan;
    char error[512], path[4096];
    if (!plan_map(&plan, preload_folder(), error, sizeof error)) exit(1);
    group.identity = measured_identity_of(&plan, 0);
    group.plan += plan.header->check;
    measured_start(&measured, "fake device", 13000);
    measured_add(&measured, &group);
    if (!measured_path(path, sizeof path, preload_folder(), "fake device", 13000, false) ||
        !measured_write(&measured, path))
        exit(1);
    plan_unmap(&plan);
}

void use_measured(uint32_t groups, const char *setting)
{
    use_plan(&(struct fixture){.groups = groups, .takes_ns = 5000000}); /* so that much may be spent soon */
    setenv("KFUSE_MEASURE", setting, 1);
    setenv("KFUSE_LOG_LEVEL", "info", 1);
}

void use_ab(void)
{
    OK(launch_a(0x1000, 7, NULL));
    OK(launch_b(0x1000, 0x2000, NULL));
}

long stat_of(const char *key)
{
    char name[64];
    long value, found = -1;
    FILE *file = fopen(in_folder("stats"), "r");
    while (file && fscanf(file, "%63s %ld", name, &value) == 2)
        if (!strcmp(name, key)) found = value;
    if (file) fclose(file);
    return found;
}
