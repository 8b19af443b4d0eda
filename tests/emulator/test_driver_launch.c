/* SPDX-License-Identifier: Apache-2.0
 * Modules, libraries, and launches of what is in them. */
#include "tests/emulator/driver_fixture.h"

static void finds_what_is_in_a_module(void **state)
{
    (void)state;
    CUdeviceptr address;
    size_t size, offset;
    uint32_t table[4];
    const char *name;
    CUfunction none;
    unsigned count;
    must(cuModuleGetGlobal(&address, &size, gpu.module, "table"));
    assert_int_equal(size, 16);
    must(cuMemcpyDtoH(table, address, size));
    assert_int_equal(table[3], 4);
    assert_int_equal(cuModuleGetFunction(&none, gpu.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetGlobal(&address, &size, gpu.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    must(cuModuleGetFunctionCount(&count, gpu.module));
    assert_int_equal(count, 3);
    must(cuFuncGetName(&name, gpu.step));
    assert_string_equal(name, "step");
    must(cuFuncGetParamInfo(gpu.step, 1, &offset, &size));
    assert_int_equal(offset, 8);
    assert_int_equal(size, 4);
    assert_int_equal(cuFuncGetParamInfo(gpu.step, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

/* A CUkernel may be launched, but is no CUfunction elsewhere. */
static void kernels_of_a_library(void **state)
{
    (void)state;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr x;
    uint32_t n = 4, out[4];
    const char *name;
    void *arguments[] = {&x, &n};
    must(cuLibraryLoadData(&library, driver_text, NULL, NULL, 0, NULL, NULL, 0));
    must(cuLibraryGetKernel(&kernel, library, "step"));
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemsetD32(x, 1, 4));
    must(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    must(cuMemcpyDtoH(out, x, sizeof out));
    assert_int_equal(out[3], 6);
    must(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "step");
    assert_int_equal(cuFuncGetName(&name, (CUfunction)kernel), CUDA_ERROR_INVALID_HANDLE);
    must(cuKernelGetFunction(&function, kernel));
    must(cuFuncGetName(&name, function));
    assert_int_equal(cuKernelGetName(&name, (CUkernel)function), CUDA_ERROR_INVALID_HANDLE);
    must(cuMemFree(x));
    must(cuLibraryUnload(library));
}

static void refuses_bad_images(void **state)
{
    (void)state;
    static const char wrong[] = ".version 8.0\n.target sm_90\n.address_size 64\nthis is no declaration;";
    static const char newer[] =
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry e() { ret; }";
    CUmodule module;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    assert_int_equal(cuModuleLoadData(&module, "garbage"), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(cuModuleLoadDataEx(&module, wrong, 2, options, values), CUDA_ERROR_INVALID_PTX);
    assert_true(strlen(log) > 0);
    assert_int_equal(cuModuleLoadData(&module, newer), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(cuModuleLoad(&module, "/nonexistent"), CUDA_ERROR_FILE_NOT_FOUND);
}

static void launches(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint32_t out[N];
    CUdeviceptr x;
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemsetD32(x, 7, N));
    must(step(x, N, NULL));
    uint32_t n = N;
    struct {
        CUdeviceptr x;
        uint32_t n;
    } packed = {x, n};
    size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    must(cuLaunchKernel(gpu.step, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    must(cuMemcpyDtoH(out, x, sizeof out));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], stepped(7, i, 2));
    must(cuMemFree(x));
}

static void refuses_bad_launches(void **state)
{
    (void)state;
    CUdeviceptr x = 0;
    uint32_t n = 0;
    void *arguments[] = {&x, &n};
    size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &x, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    static const unsigned shapes[][7] = {{0, 1, 1, 32, 1, 1, 0},     {1, 1, 1, 0, 1, 1, 0},
                                         {1, 1, 1, 2048, 1, 1, 0},   {1, 1, 1, 32, 64, 1, 0},
                                         {1, 70000, 1, 32, 1, 1, 0}, {1, 1, 1, 1, 1, 65, 0},
                                         {1, 1, 1, 32, 1, 1, 49153}, {1, 1, 1, 32, 1, 1, 300000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const unsigned *s = shapes[i];
        assert_int_equal(
            cuLaunchKernel(gpu.step, s[0], s[1], s[2], s[3], s[4], s[5], s[6], NULL, arguments, NULL),
            CUDA_ERROR_INVALID_VALUE);
    }
    assert_int_equal(cuLaunchKernel(gpu.step, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu.step, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, extra),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
    must(cuFuncSetAttribute(gpu.step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10));
    must(cuLaunchKernel(gpu.step, 1, 1, 1, 32, 1, 1, 227 << 10, NULL, arguments, NULL));
    must(cuCtxSynchronize());
}

static void occupancy(void **state)
{
    (void)state;
    int blocks, grid, block;
    must(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gpu.note, 128, 0));
    assert_int_equal(blocks, 16);
    must(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gpu.note, 32, 40000));
    assert_int_equal(blocks, 5);
    must(cuOccupancyMaxPotentialBlockSize(&grid, &block, gpu.note, NULL, 0, 0));
    assert_int_equal(grid, 264);
    assert_int_equal(block, 1024);
}

static void a_fault_sticks(void **state)
{
    (void)state;
    CUdeviceptr x;
    CUdevice device;
    static CUevent event; /* cannot be destroyed any more */
    float time;
    must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(cuMemAlloc(&x, 64));
    must(cuLaunchKernel(gpu.wild, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemFree(x), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemAlloc(&x, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventElapsedTime(&time, event, event), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(step(x, 16, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemcpyHtoD(x, &time, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    must(cuCtxGetDevice(&device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_in_a_module),
        cmocka_unit_test(kernels_of_a_library),
        cmocka_unit_test(refuses_bad_images),
        cmocka_unit_test(launches),
        cmocka_unit_test(refuses_bad_launches),
        cmocka_unit_test(occupancy),
        cmocka_unit_test(a_fault_sticks),
    };
    return cmocka_run_group_tests_name("modules and launches", tests, open_device, NULL);
}
