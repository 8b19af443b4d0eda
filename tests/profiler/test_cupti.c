/* SPDX-License-Identifier: Apache-2.0
 * The CUPTI plugin: on a GPU, every launch gets its own kernel's time; without one, starting either works or
 * fails with a reason, and nothing crashes. Argument or KFUSE_CUPTI_PLUGIN: the plugin's path. */
#include "profiler/activity.h"

#include <cuda.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { LAUNCHES = 2000 };

/* Spins for the number of iterations given, so that launches differ in time. */
static const char kernel_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                  ".visible .entry spin(.param .u32 count, .param .u64 out)\n"
                                  "{\n"
                                  ".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n"
                                  "ld.param.u32 %r1, [count];\nld.param.u64 %rd1, [out];\nmov.u32 %r2, 1;\n"
                                  "loop:\n"
                                  "mad.lo.u32 %r2, %r2, %r2, %r1;\nsub.u32 %r1, %r1, 1;\n"
                                  "setp.ne.u32 %p, %r1, 0;\n@%p bra loop;\n"
                                  "cvta.to.global.u64 %rd2, %rd1;\nst.global.u32 [%rd2], %r2;\nret;\n}\n";

static struct trace_activity reported[LAUNCHES + 1];
static unsigned reports, strangers;

static void deliver(const struct trace_activity *activity)
{
    if (activity->sequence < 1 || activity->sequence > LAUNCHES || reported[activity->sequence].sequence)
        strangers++;
    else
        reported[activity->sequence] = *activity;
    reports++;
}

static const struct activity_source *load_plugin(void)
{
    const char *path = getenv("KFUSE_CUPTI_PLUGIN"), *build = getenv("top_builddir");
    char built[4096];
    snprintf(built, sizeof built, "%s/profiler/.libs/libkfuse-cupti.so", build ? build : ".");
    void *library = dlopen(path ? path : built, RTLD_NOW | RTLD_LOCAL);
    if (!library) print_error("%s\n", dlerror());
    assert_non_null(library);
    activity_source_function function = (activity_source_function)dlsym(library, "kfuse_activity_source");
    assert_non_null(function);
    return function();
}

#define DRIVER_FUNCTIONS(X)                                                                                  \
    X(cuInit) X(cuDeviceGet) X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuCtxSynchronize)
static struct {
#define X(name) __typeof__(&name) name;
    DRIVER_FUNCTIONS(X)
#undef X
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
    CUresult (*cuCtxSetCurrent)(CUcontext context);
    CUresult (*cuMemAlloc)(CUdeviceptr *address, size_t size);
} driver;

static bool has_gpu(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    CUdevice device;
    CUcontext context;
    if (!library) return false;
#define X(name) driver.name = (__typeof__(&name))dlsym(library, #name);
    DRIVER_FUNCTIONS(X)
#undef X
    driver.cuDevicePrimaryCtxRetain =
        (CUresult(*)(CUcontext *, CUdevice))dlsym(library, "cuDevicePrimaryCtxRetain");
    driver.cuCtxSetCurrent = (CUresult(*)(CUcontext))dlsym(library, "cuCtxSetCurrent");
    driver.cuMemAlloc = (CUresult(*)(CUdeviceptr *, size_t))dlsym(library, "cuMemAlloc_v2");
    return !driver.cuInit(0) && !driver.cuDeviceGet(&device, 0) &&
           !driver.cuDevicePrimaryCtxRetain(&context, device) && !driver.cuCtxSetCurrent(context);
}

static void every_launch_gets_its_own_time(void **state)
{
    (void)state;
    const char *error = NULL;
    const struct activity_source *source = load_plugin();
    CUmodule module;
    CUfunction spin;
    CUdeviceptr out;
    bool started = source->start(deliver, &error);
    if (!has_gpu()) {
        if (!started) assert_true(error && strlen(error) > 10);
        if (started) source->stop(false);
        skip();
    }
    if (!started) print_error("%s\n", error);
    assert_true(started);
    assert_int_equal(driver.cuModuleLoadData(&module, kernel_text), 0);
    assert_int_equal(driver.cuModuleGetFunction(&spin, module, "spin"), 0);
    assert_int_equal(driver.cuMemAlloc(&out, 4), 0);
    for (uint32_t i = 1; i <= LAUNCHES; i++) {
        uint32_t count = i % 2 ? 100 : 20000;
        void *arguments[] = {&count, &out};
        source->launch_begin(i);
        assert_int_equal(driver.cuLaunchKernel(spin, 1, 1, 1, i % 3 + 1, 1, 1, 64 * i, NULL, arguments, NULL),
                         0);
        source->launch_end();
        /* not recorded: must not be reported */
        if (i % 100 == 0) driver.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
        if (64 * (i + 1) > 48 * 1024) break;
    }
    assert_int_equal(driver.cuCtxSynchronize(), 0);
    source->flush();
    source->stop(false);
    unsigned launches = 48 * 1024 / 64 < LAUNCHES ? 48 * 1024 / 64 : LAUNCHES;
    assert_int_equal(strangers, 0);
    assert_int_equal(reports, launches);
    for (uint32_t i = 1; i <= launches; i++) {
        assert_int_equal(reported[i].dynamic_shared, 64 * i); /* this launch's, not another's */
        assert_true(reported[i].end_ns > reported[i].start_ns && reported[i].registers > 0);
        if (i > 1 && i % 2 == 0)
            assert_true(reported[i].end_ns - reported[i].start_ns >
                        4 * (reported[i - 1].end_ns - reported[i - 1].start_ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_launch_gets_its_own_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
