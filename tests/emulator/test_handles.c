/* SPDX-License-Identifier: Apache-2.0
 * What becomes of handles, variables and sizes at the edges: resets, sizes that wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>

#define must(call) assert_int_equal(call, CUDA_SUCCESS)

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .global .align 8 .u64 place = counter;\n"
    ".visible .entry add(.param .u64 x)\n{\n"
    "  .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [x]; ld.global.u32 %r, [%d]; add.u32 %r, %r, 1;\n"
    "  st.global.u32 [%d], %r; ret;\n}\n"
    ".visible .entry fixed() .reqntid 64\n{\n  ret;\n}\n";

static CUcontext context;

static int open_device(void **state)
{
    (void)state;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    return 0;
}

static void reset_device(void)
{
    must(cuDevicePrimaryCtxReset(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
}

/* A library outlives the context, its variables do not. */
static void a_reset_restores_variables(void **state)
{
    (void)state;
    CUlibrary library;
    CUdeviceptr counter, place, told;
    size_t size;
    uint32_t value = 77;
    must(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    must(cuLibraryGetGlobal(&counter, &size, library, "counter"));
    must(cuLibraryGetGlobal(&place, &size, library, "place"));
    must(cuMemcpyHtoD(counter, &value, 4));
    must(cuMemsetD8(place, 0, 8));
    reset_device();
    must(cuLibraryGetGlobal(&counter, &size, library, "counter"));
    must(cuLibraryGetGlobal(&place, &size, library, "place"));
    must(cuMemcpyDtoH(&value, counter, 4));
    assert_int_equal(value, 5);
    must(cuMemcpyDtoH(&told, place, 8));
    assert_int_equal(told, counter);
    must(cuLibraryUnload(library));
}

static void a_reset_ends_events_streams_and_memory(void **state)
{
    (void)state;
    CUevent event;
    CUstream stream;
    CUdeviceptr x;
    must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    must(cuMemAlloc(&x, 64));
    must(cuEventRecord(event, stream));
    reset_device();
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuMemFree(x), CUDA_ERROR_INVALID_VALUE);
}

typedef CUresult (*launch_function)(const CUlaunchConfig *config, CUfunction f, void **parameters,
                                    void **extra);
typedef CUresult (*copy_function)(const CUDA_MEMCPY2D *copy, CUstream stream);
typedef CUresult (*record_function)(CUevent event, CUstream stream, unsigned flags);

static void *per_thread(const char *name, int version)
{
    void *address;
    must(cuGetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    return address;
}

/* A per-thread call that is refused says nothing about the next call. */
static void refused_per_thread_calls(void **state)
{
    (void)state;
    unsigned long long before, after;
    launch_function launch = (launch_function)per_thread("cuLaunchKernelEx", 12000);
    copy_function copy = (copy_function)per_thread("cuMemcpy2DAsync", 7000);
    record_function record = (record_function)per_thread("cuEventRecordWithFlags", 11010);
    must(cuStreamGetId(NULL, &before));
    assert_int_equal(launch(NULL, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamGetId(NULL, &after));
    assert_int_equal(before, after);
    assert_int_equal(copy(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamGetId(NULL, &after));
    assert_int_equal(before, after);
    assert_int_equal(record(NULL, NULL, 99), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamGetId(NULL, &after));
    assert_int_equal(before, after);
}

static void sizes_that_wrap(void **state)
{
    (void)state;
    CUdeviceptr x;
    char host[64] = {0};
    must(cuMemAlloc(&x, 4096));
    assert_int_equal(cuMemcpyHtoD(x, host, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyDtoD(x + 64, x, SIZE_MAX - 63), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(x + 16, 0, SIZE_MAX - 15), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(x, 0, SIZE_MAX / 4 + 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD2D8(x, (size_t)1 << 62, 0, 4, 5), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = x,
                          .srcPitch = (size_t)1 << 62,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = x,
                          .dstPitch = (size_t)1 << 62,
                          .WidthInBytes = 4,
                          .Height = 5};
    assert_int_equal(cuMemcpy2D(&rows), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAlloc(&x, SIZE_MAX - 100), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuMemAllocPitch(&x, &(size_t){0}, (size_t)1 << 60, 64, 4), CUDA_ERROR_OUT_OF_MEMORY);
    must(cuMemFree(x));
}

/* Rows that do not fit their pitch with their offset, slices that do not fit their height, unknown kinds of
 * memory. */
static void rows_that_do_not_fit(void **state)
{
    (void)state;
    CUdeviceptr x;
    char host[256] = {0};
    must(cuMemAlloc(&x, 4096));
    const CUDA_MEMCPY3D good = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = host,
                                .srcPitch = 8,
                                .srcHeight = 4,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = x,
                                .dstPitch = 8,
                                .dstHeight = 4,
                                .WidthInBytes = 8,
                                .Height = 4,
                                .Depth = 2};
    CUDA_MEMCPY3D bad = good;
    must(cuMemcpy3D(&bad));
    bad.srcXInBytes = 1;
    assert_int_equal(cuMemcpy3D(&bad), CUDA_ERROR_INVALID_VALUE);
    bad = good;
    bad.dstY = 1;
    assert_int_equal(cuMemcpy3D(&bad), CUDA_ERROR_INVALID_VALUE);
    bad = good;
    bad.srcMemoryType = 0;
    assert_int_equal(cuMemcpy3D(&bad), CUDA_ERROR_INVALID_VALUE);
    must(cuMemFree(x));
}

static void frees_once(void **state)
{
    (void)state;
    CUdeviceptr x;
    CUstream stream;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAllocAsync(&x, 64, stream));
    must(cuMemFreeAsync(x, stream));
    assert_int_equal(cuMemFreeAsync(x, stream), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamDestroy(stream));
}

static size_t CUDA_CB shared_of(int threads)
{
    unsigned value;
    assert_int_equal(cuCtxGetFlags(&value),
                     CUDA_SUCCESS); /* a call into the driver from a call of the driver */
    return (size_t)threads;
}

static void functions(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction add, fixed;
    int grid, block;
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&add, module, "add"));
    must(cuModuleGetFunction(&fixed, module, "fixed"));
    must(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, shared_of, 0, 0));
    must(cuLaunchKernel(fixed, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    assert_int_equal(cuLaunchKernel(fixed, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuFuncGetAttribute(&block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fixed));
    assert_int_equal(block, 64);
    must(cuModuleUnload(module));
    assert_int_equal(cuLaunchKernel(fixed, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
}

/* A graph outlives the code of its kernels. */
static void a_graph_of_an_unloaded_module(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction add;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr x;
    void *arguments[] = {&x};
    must(cuMemAlloc(&x, 4));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&add, module, "add"));
    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiate(&exec, graph, 0));
    must(cuModuleUnload(module));
    assert_int_equal(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_HANDLE);
    must(cuStreamSynchronize(stream));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy(stream));
    must(cuMemFree(x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_restores_variables),
        cmocka_unit_test(a_reset_ends_events_streams_and_memory),
        cmocka_unit_test(refused_per_thread_calls),
        cmocka_unit_test(sizes_that_wrap),
        cmocka_unit_test(rows_that_do_not_fit),
        cmocka_unit_test(frees_once),
        cmocka_unit_test(functions),
        cmocka_unit_test(a_graph_of_an_unloaded_module),
    };
    return cmocka_run_group_tests_name("handles", tests, open_device, NULL);
}
