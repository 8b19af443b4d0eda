/* SPDX-License-Identifier: Apache-2.0
 * Both devices behind scenes. The CUDA driver is loaded with dlopen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emulator/exec.h"
#include "emulator/memory.h"
#include "tests/codegen/device.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* --- the emulator
 * ------------------------------------------------------------------------------------------- */

static uint32_t emulator_open(void)
{
    static bool is_open;
    if (!is_open) assert_true(emu_memory_open((uint64_t)1 << 30));
    is_open = true;
    return 90;
}

static uint64_t emulator_allocate(size_t size)
{
    return emu_memory_allocate(size, EMU_MEMORY_DEVICE);
}

static void emulator_release(uint64_t address)
{
    emu_memory_release(address);
}

static void emulator_write(uint64_t address, const void *bytes, size_t size)
{
    memcpy((void *)address, bytes, size);
}

static void emulator_read(uint64_t address, void *bytes, size_t size)
{
    memcpy(bytes, (const void *)address, size);
}

static void *emulator_load(const char *ptx, const void *cubin)
{
    char *error = NULL;
    struct emu_program *program = emu_program_load("scene", ptx, &error);
    (void)cubin;
    if (!program) fail_msg("%s", error);
    return program;
}

static void emulator_unload(void *module)
{
    emu_program_unload(module);
}

static void emulator_launch(void *module, const struct device_launch *launch)
{
    struct emu_settings settings = {
        .seed = launch->seed, .report_races = true, .workers = 1, .step_limit = 1u << 23};
    struct emu_launch own = {.kernel = emu_program_kernel(module, launch->kernel),
                             .parameters = launch->parameters,
                             .dynamic_shared = launch->dynamic_shared};
    struct emu_counts counts;
    struct emu_fault fault = {0};
    assert_non_null(own.kernel);
    memcpy(own.grid, launch->grid, sizeof own.grid);
    memcpy(own.block, launch->block, sizeof own.block);
    if (!emu_run(&settings, &own, &counts, &fault, NULL, NULL))
        fail_msg("%s: %s", launch->kernel, fault.message);
}

const struct device device_emulator = {emulator_open, emulator_allocate, emulator_release, emulator_write,
                                       emulator_read, emulator_load,     emulator_unload,  emulator_launch};

/* --- the CUDA driver
 * ---------------------------------------------------------------------------------------- */

static void *driver_symbol(const char *name)
{
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

/* Calls a driver function by the name that cuda.h gives it, e.g. cuMemAlloc_v2. */
#define DRIVER_EXPANDED(name, ...) ((__typeof__(&name))driver_symbol(#name))(__VA_ARGS__)
#define DRIVER(name, ...)          DRIVER_EXPANDED(name, __VA_ARGS__)

static uint32_t gpu_open(void)
{
    static uint32_t architecture;
    CUdevice device;
    CUcontext context;
    int major = 0, minor = 0;
    if (architecture) return architecture;
    if (!driver_symbol("cuInit") || DRIVER(cuInit, 0) || DRIVER(cuDeviceGet, &device, 0)) return 0;
    if (DRIVER(cuDevicePrimaryCtxRetain, &context, device) || DRIVER(cuCtxSetCurrent, context)) return 0;
    DRIVER(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    DRIVER(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return architecture = (uint32_t)(major * 10 + minor);
}

static uint64_t gpu_allocate(size_t size)
{
    CUdeviceptr address;
    assert_int_equal(DRIVER(cuMemAlloc, &address, size), CUDA_SUCCESS);
    return address;
}

static void gpu_release(uint64_t address)
{
    DRIVER(cuMemFree, address);
}

static void gpu_write(uint64_t address, const void *bytes, size_t size)
{
    assert_int_equal(DRIVER(cuMemcpyHtoD, address, bytes, size), CUDA_SUCCESS);
}

static void gpu_read(uint64_t address, void *bytes, size_t size)
{
    assert_int_equal(DRIVER(cuMemcpyDtoH, bytes, address, size), CUDA_SUCCESS);
}

static void *gpu_load(const char *ptx, const void *cubin)
{
    CUmodule module;
    assert_int_equal(DRIVER(cuModuleLoadData, &module, cubin ? cubin : ptx), CUDA_SUCCESS);
    return module;
}

static void gpu_unload(void *module)
{
    DRIVER(cuModuleUnload, module);
}

static void gpu_launch(void *module, const struct device_launch *launch)
{
    CUfunction function;
    size_t size = launch->parameter_bytes;
    const uint32_t *grid = launch->grid, *block = launch->block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)launch->parameters, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, CU_LAUNCH_PARAM_END};
    assert_int_equal(DRIVER(cuModuleGetFunction, &function, module, launch->kernel), CUDA_SUCCESS);
    if (launch->dynamic_shared)
        assert_int_equal(DRIVER(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                (int)launch->dynamic_shared),
                         CUDA_SUCCESS);
    assert_int_equal(DRIVER(cuLaunchKernel, function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                            launch->dynamic_shared, NULL, NULL, extra),
                     CUDA_SUCCESS);
    assert_int_equal(DRIVER(cuCtxSynchronize), CUDA_SUCCESS);
}

const struct device device_gpu = {gpu_open, gpu_allocate, gpu_release, gpu_write,
                                  gpu_read, gpu_load,     gpu_unload,  gpu_launch};
