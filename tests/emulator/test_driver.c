/* SPDX-License-Identifier: Apache-2.0
 * The driver API as a program uses it. Linked with the emulated driver; the same program passes on a GPU with
 * NVIDIA's. driver.sh runs it again with KFUSE_EMULATOR=seed=N, where operations of different streams are
 * reordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>
#include <pthread.h>

#define must(call) assert_int_equal(call, CUDA_SUCCESS)

/* step: x[i] = 3 x[i] + i. note: appends a mark to a list (list[0] is its length). wild: writes to
 * address 16. */
static const char text[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".visible .entry step(.param .u64 x, .param .u32 n)\n"
    "{\n"
    "  .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;\n"
    "  ld.param.u64 %d1, [x]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p, %r5, %r1;\n"
    "  @%p bra done;\n"
    "  mul.wide.s32 %d2, %r5, 4; add.s64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r6, [%d3]; mad.lo.u32 %r7, %r6, 3, %r5; st.global.u32 [%d3], %r7;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry note(.param .u64 list, .param .u32 mark)\n"
    "{\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [list]; ld.param.u32 %r1, [mark];\n"
    "  atom.global.add.u32 %r2, [%d1], 1;\n"
    "  mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3+4], %r1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry wild()\n"
    "{\n"
    "  .reg .b64 %d; mov.u64 %d, 16; st.global.u64 [%d], %d; ret;\n"
    "}\n";

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction step, note, wild;
} gpu;

static int open_device(void **state)
{
    (void)state;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    must(cuCtxSetCurrent(gpu.context));
    must(cuModuleLoadData(&gpu.module, text));
    must(cuModuleGetFunction(&gpu.step, gpu.module, "step"));
    must(cuModuleGetFunction(&gpu.note, gpu.module, "note"));
    must(cuModuleGetFunction(&gpu.wild, gpu.module, "wild"));
    return 0;
}

static CUresult step(CUdeviceptr x, uint32_t n, CUstream stream)
{
    void *arguments[] = {&x, &n};
    return cuLaunchKernel(gpu.step, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
}

static CUresult note(CUdeviceptr list, uint32_t mark, CUstream stream)
{
    void *arguments[] = {&list, &mark};
    return cuLaunchKernel(gpu.note, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

/* What count steps make of start. */
static uint32_t stepped(uint32_t start, uint32_t i, int count)
{
    while (count-- > 0) start = 3 * start + i;
    return start;
}

static void before_init(void **state)
{
    (void)state;
    int count;
    CUcontext context;
    assert_int_equal(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    assert_int_equal(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    must(cuInit(0));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

static void describes_the_device(void **state)
{
    (void)state;
    int count, value;
    size_t bytes;
    must(cuDeviceGetCount(&count));
    assert_true(count >= 1);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    assert_int_equal(value, 9);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    assert_int_equal(value, 132);
    must(cuDeviceTotalMem(&bytes, 0));
    assert_true(bytes > (size_t)1 << 36);
    assert_int_equal(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE);
}

static void finds_entry_points(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int version, flags;
        void *expected;
    } rows[] = {
        {"cuMemAlloc", 3020, 0, (void *)cuMemAlloc},
        {"cuMemAlloc", 13000, 0, (void *)cuMemAlloc},
        {"cuLaunchKernel", 4000, 0, (void *)cuLaunchKernel},
        {"cuMemcpyHtoD", 7000, 1, (void *)cuMemcpyHtoD},
        {"cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress},
        {"cuCtxCreate", 13000, 0, (void *)cuCtxCreate},
    };
    CUdriverProcAddressQueryResult status;
    void *address;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        must(cuGetProcAddress(rows[i].name, &address, rows[i].version, (cuuint64_t)rows[i].flags, &status));
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        assert_ptr_equal(address, rows[i].expected);
    }
    must(cuGetProcAddress("cuLaunchKernel", &address, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                          &status));
    assert_non_null(address);
    assert_ptr_not_equal(address, (void *)cuLaunchKernel);
    must(cuGetProcAddress("cuLibraryLoadData", &address, 11080, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_null(address);
    must(cuGetProcAddress("cuMemAlloc_v2", &address, 13000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
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
    must(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
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

static void allocates(void **state)
{
    (void)state;
    CUdeviceptr a, b, base;
    size_t size, pitch, free_before, free_after;
    must(cuMemGetInfo(&free_before, &size));
    must(cuMemAlloc(&a, 1 << 24));
    must(cuMemGetInfo(&free_after, &size));
    assert_true(free_before - free_after >= 1 << 24);
    must(cuMemGetAddressRange(&base, &size, a + 100));
    assert_int_equal(base, a);
    assert_int_equal(size, 1 << 24);
    assert_int_equal(cuMemFree(a + 4), CUDA_ERROR_INVALID_VALUE);
    must(cuMemFree(a));
    must(cuMemFree(0));
    assert_int_equal(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAlloc(&a, (size_t)1 << 45), CUDA_ERROR_OUT_OF_MEMORY);
    must(cuMemAllocPitch(&b, &pitch, 513, 3, 4));
    assert_int_equal(pitch, 1024);
    must(cuMemFree(b));
}

static void refuses_copies_out_of_bounds(void **state)
{
    (void)state;
    CUdeviceptr x;
    char host[64] = {0};
    must(cuMemAlloc(&x, 4096));
    assert_int_equal(cuMemcpyHtoD(x + 4090, host, 64), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyHtoD(0, host, 4), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(x + 4095, 1, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(x + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
    must(cuMemcpyHtoD(x, host, 0));
    must(cuMemFree(x));
}

static void copies_in_two_and_three_dimensions(void **state)
{
    (void)state;
    unsigned char in[4][10], out[4][12], small[2][3][5], part[3][5];
    CUdeviceptr x, cube;
    size_t pitch;
    for (int i = 0; i < 40; i++) in[i / 10][i % 10] = (unsigned char)i;
    memset(out, 255, sizeof out);
    must(cuMemAllocPitch(&x, &pitch, 10, 4, 4));
    CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = 10,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = x,
                        .dstPitch = pitch,
                        .WidthInBytes = 10,
                        .Height = 4};
    must(cuMemcpy2D(&to));
    CUDA_MEMCPY2D from = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = x,
                          .srcPitch = pitch,
                          .srcXInBytes = 2,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = 12,
                          .WidthInBytes = 5,
                          .Height = 3};
    must(cuMemcpy2D(&from));
    assert_int_equal(out[0][0], 12);
    assert_int_equal(out[2][4], 36);
    assert_int_equal(out[0][5], 255);
    for (int i = 0; i < 30; i++) ((unsigned char *)small)[i] = (unsigned char)(100 + i);
    must(cuMemAlloc(&cube, 30));
    must(cuMemcpyHtoD(cube, small, 30));
    CUDA_MEMCPY3D slice = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = cube,
                           .srcPitch = 5,
                           .srcHeight = 3,
                           .srcZ = 1,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = part,
                           .dstPitch = 5,
                           .dstHeight = 3,
                           .WidthInBytes = 5,
                           .Height = 3,
                           .Depth = 1};
    must(cuMemcpy3D(&slice));
    assert_memory_equal(part, small[1], sizeof part);
    must(cuMemFree(x));
    must(cuMemFree(cube));
}

static void sets_every_width(void **state)
{
    (void)state;
    CUdeviceptr x;
    uint16_t out[8];
    must(cuMemAlloc(&x, 16));
    must(cuMemsetD8(x, 0x11, 16));
    must(cuMemsetD16(x + 4, 0x2233, 2));
    must(cuMemsetD2D16(x + 10, 4, 0x4455, 1, 2));
    must(cuMemcpyDtoH(out, x, 16));
    static const uint16_t expected[8] = {0x1111, 0x1111, 0x2233, 0x2233, 0x1111, 0x4455, 0x1111, 0x4455};
    assert_memory_equal(out, expected, 16);
    must(cuMemFree(x));
}

static void host_and_managed_memory(void **state)
{
    (void)state;
    enum { N = 256 };
    static uint32_t own[N];
    uint32_t *pinned, *managed;
    CUdeviceptr pointer;
    unsigned type, flags, is_managed;
    must(cuMemHostAlloc((void **)&pinned, N * 4, 0));
    must(cuMemHostGetDevicePointer(&pointer, pinned, 0));
    for (int i = 0; i < N; i++) pinned[i] = own[i] = 5;
    must(step(pointer, N, NULL));
    must(cuMemAllocManaged((CUdeviceptr *)&managed, N * 4, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; i < N; i++) managed[i] = 6;
    must(step((CUdeviceptr)managed, N, NULL));
    must(cuMemHostRegister(own, sizeof own, 0));
    assert_int_equal(cuMemHostRegister(own, sizeof own, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    must(cuMemHostGetDevicePointer(&pointer, own, 0));
    must(step(pointer, N, NULL));
    must(cuCtxSynchronize());
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(pinned[i], stepped(5, i, 1));
        assert_int_equal(managed[i], stepped(6, i, 1));
        assert_int_equal(own[i], stepped(5, i, 1));
    }
    must(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(pinned + 1)));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    must(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)managed));
    assert_int_equal(is_managed, 1);
    assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type),
                     CUDA_ERROR_INVALID_VALUE);
    must(cuMemHostGetFlags(&flags, pinned));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    assert_int_equal(cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
    must(cuMemHostUnregister(own));
    must(cuMemFreeHost(pinned));
    must(cuMemFree((CUdeviceptr)managed));
}

static void a_pageable_source_is_read_at_the_call(void **state)
{
    (void)state;
    uint32_t in[64], out[64];
    CUdeviceptr x;
    CUstream stream;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc(&x, sizeof in));
    for (int i = 0; i < 64; i++) in[i] = 9;
    must(cuMemcpyHtoDAsync(x, in, sizeof in, stream));
    memset(in, 0, sizeof in);
    must(step(x, 64, stream));
    must(cuMemcpyDtoHAsync(out, x, sizeof out, stream)); /* to pageable memory: done when it returns */
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], stepped(9, i, 1));
    must(cuStreamDestroy(stream));
    must(cuMemFree(x));
}

static void allocates_in_stream_order(void **state)
{
    (void)state;
    CUstream stream;
    CUdeviceptr x;
    CUmemoryPool pool;
    uint64_t used;
    uint32_t *out;
    must(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    must(cuMemHostAlloc((void **)&out, 128 * 4, 0));
    must(cuMemAllocAsync(&x, 128 * 4, stream));
    must(cuMemsetD32Async(x, 2, 128, stream));
    must(step(x, 128, stream));
    must(cuMemcpyAsync((CUdeviceptr)out, x, 128 * 4, stream));
    must(cuMemFreeAsync(x, stream));
    must(cuStreamSynchronize(stream));
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(out[i], stepped(2, i, 1));
    must(cuDeviceGetDefaultMemPool(&pool, 0));
    must(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 0);
    must(cuMemFreeHost(out));
    must(cuStreamDestroy(stream));
}

static void events_tell_time(void **state)
{
    (void)state;
    CUevent start, end, untimed;
    CUdeviceptr x;
    float none, some;
    must(cuEventCreate(&start, CU_EVENT_DEFAULT));
    must(cuEventCreate(&end, CU_EVENT_DEFAULT));
    must(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&x, 1 << 20));
    must(cuMemsetD8(x, 0, 1 << 20));
    must(cuEventQuery(start)); /* never recorded: complete */
    assert_int_equal(cuEventElapsedTime(&none, start, end), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventRecord(start, NULL));
    for (int i = 0; i < 4; i++) must(step(x, 1 << 18, NULL));
    must(cuEventRecord(end, NULL));
    must(cuEventRecord(untimed, NULL));
    must(cuEventSynchronize(end));
    must(cuEventElapsedTime(&some, start, end));
    assert_true(some > 0.004f && some < 10.0f); /* 4 kernels of 2 us or more */
    must(cuEventElapsedTime(&none, start, start));
    assert_true(none == 0);
    must(cuEventSynchronize(untimed));
    assert_int_equal(cuEventElapsedTime(&some, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventDestroy(start));
    must(cuEventDestroy(end));
    must(cuEventDestroy(untimed));
    must(cuMemFree(x));
}

static bool has_seed(void)
{
    const char *options = getenv("KFUSE_EMULATOR");
    return options && strstr(options, "seed=");
}

static uint32_t place(const uint32_t list[8], uint32_t mark)
{
    for (uint32_t i = 0; i < list[0]; i++)
        if (list[1 + i] == mark) return i;
    fail_msg("mark %u is missing", mark);
    return 0;
}

/* 1 and 2 in one stream, 3 in another after an event behind 1, 4 in a third, 5 in the legacy stream after
 * all. */
static void streams_keep_their_order(void **state)
{
    (void)state;
    CUstream stream[3];
    CUevent event;
    CUdeviceptr list;
    uint32_t first[8] = {0}, got[8];
    bool has_varied = false;
    for (int i = 0; i < 3; i++) must(cuStreamCreate(&stream[i], CU_STREAM_DEFAULT));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&list, sizeof got));
    for (int round = 0; round < 30; round++) {
        must(cuMemsetD32(list, 0, 8));
        must(note(list, 1, stream[0]));
        must(cuEventRecord(event, stream[0]));
        must(note(list, 2, stream[0]));
        must(cuStreamWaitEvent(stream[1], event, 0));
        must(note(list, 3, stream[1]));
        must(note(list, 4, stream[2]));
        must(note(list, 5, NULL));
        must(cuMemcpyDtoH(got, list, sizeof got));
        assert_int_equal(got[0], 5);
        assert_true(place(got, 1) < place(got, 2));
        assert_true(place(got, 1) < place(got, 3));
        assert_int_equal(place(got, 5), 4);
        if (round == 0) memcpy(first, got, sizeof got);
        has_varied |= memcmp(first, got, sizeof got) != 0;
    }
    if (has_seed()) assert_true(has_varied);
    for (int i = 0; i < 3; i++) must(cuStreamDestroy(stream[i]));
    must(cuEventDestroy(event));
    must(cuMemFree(list));
}

typedef CUresult (*stream_id_function)(CUstream stream, unsigned long long *id);

static void per_thread_entry_points_use_another_default_stream(void **state)
{
    (void)state;
    stream_id_function plain, per_thread;
    unsigned long long legacy, own, told;
    must(cuGetProcAddress("cuStreamGetId", (void **)&plain, 12000, 0, NULL));
    must(cuGetProcAddress("cuStreamGetId", (void **)&per_thread, 12000,
                          CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    must(plain(NULL, &legacy));
    must(per_thread(NULL, &own));
    must(plain(CU_STREAM_PER_THREAD, &told));
    assert_int_equal(own, told);
    assert_int_not_equal(own, legacy);
    must(plain(NULL, &told));
    assert_int_equal(told, legacy);
}

enum { THREADS = 4, THREAD_STEPS = 50 };

struct work {
    CUdeviceptr x;
    CUresult result;
    int calls;
};

static void CUDA_CB count_call(void *data);

static void *work_in_own_stream(void *data)
{
    struct work *work = data;
    CUresult result = cuCtxSetCurrent(gpu.context);
    for (int i = 0; result == CUDA_SUCCESS && i < THREAD_STEPS; i++) {
        result = step(work->x, 64, CU_STREAM_PER_THREAD);
        if (result == CUDA_SUCCESS) result = cuLaunchHostFunc(CU_STREAM_PER_THREAD, count_call, &work->calls);
    }
    if (result == CUDA_SUCCESS) result = cuStreamSynchronize(CU_STREAM_PER_THREAD);
    work->result = result;
    return NULL;
}

static void threads_work_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct work work[THREADS] = {0};
    uint32_t out[64];
    for (int t = 0; t < THREADS; t++) {
        must(cuMemAlloc(&work[t].x, sizeof out));
        must(cuMemsetD32(work[t].x, (unsigned)t, 64));
    }
    must(cuCtxSynchronize());
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, work_in_own_stream, &work[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        must(work[t].result);
        assert_int_equal(work[t].calls, THREAD_STEPS);
        must(cuMemcpyDtoH(out, work[t].x, sizeof out));
        for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], stepped((uint32_t)t, i, THREAD_STEPS));
        must(cuMemFree(work[t].x));
    }
}

static void CUDA_CB count_call(void *data)
{
    ++*(int *)data;
}

static void host_functions_run_in_order(void **state)
{
    (void)state;
    CUstream stream;
    int calls = 0;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 3; i++) must(cuLaunchHostFunc(stream, count_call, &calls));
    must(cuStreamSynchronize(stream));
    assert_int_equal(calls, 3);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) continue;
    must(cuStreamQuery(stream));
    must(cuStreamDestroy(stream));
}

/* A diamond over two streams, launched twice. */
static void captures_a_graph(void **state)
{
    (void)state;
    enum { N = 200 };
    CUstream one, two;
    CUevent fork, join;
    CUdeviceptr x, y;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    uint32_t out[N];
    size_t count = 0;
    must(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    must(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&x, sizeof out));
    must(cuMemAlloc(&y, sizeof out));
    must(cuMemsetD32(y, 0, N));
    must(cuCtxSynchronize());
    must(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemsetD32Async(x, 1, N, one));
    must(cuEventRecord(fork, one));
    must(cuStreamWaitEvent(two, fork, 0));
    must(step(x, N, one));
    must(step(y, N, two));
    must(cuEventRecord(join, two));
    must(cuStreamWaitEvent(one, join, 0));
    must(step(x, N, one));
    must(cuStreamIsCapturing(two, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    must(cuStreamEndCapture(one, &graph));
    must(cuStreamIsCapturing(two, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    must(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    must(cuGraphInstantiate(&exec, graph, 0));
    must(cuGraphDestroy(graph));
    must(cuGraphLaunch(exec, one));
    must(cuGraphLaunch(exec, one));
    must(cuStreamSynchronize(one));
    must(cuMemcpyDtoH(out, x, sizeof out));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], stepped(1, i, 2));
    must(cuMemcpyDtoH(out, y, sizeof out));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], stepped(0, i, 2));
    must(cuGraphExecDestroy(exec));
    must(cuEventDestroy(fork));
    must(cuEventDestroy(join));
    must(cuStreamDestroy(one));
    must(cuStreamDestroy(two));
    must(cuMemFree(x));
    must(cuMemFree(y));
}

static void a_capture_is_spoiled_by_what_it_forbids(void **state)
{
    (void)state;
    CUstream stream, other;
    CUevent event;
    CUdeviceptr x, y;
    CUgraph graph;
    CUstreamCaptureStatus status;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&x, 128));
    assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuMemAlloc(&y, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(step(x, 32, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemAlloc(&y, 16));
    must(step(x, 32, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphDestroy(graph));
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    must(cuStreamBeginCapture(stream,
                              CU_STREAM_CAPTURE_MODE_GLOBAL)); /* a stream that joins and is never joined */
    must(cuEventRecord(event, stream));
    must(cuStreamWaitEvent(other, event, 0));
    must(step(x, 32, other));
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    must(cuStreamDestroy(stream));
    must(cuStreamDestroy(other));
    must(cuEventDestroy(event));
    must(cuMemFree(x));
    must(cuMemFree(y));
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

static void contexts_are_a_stack(void **state)
{
    (void)state;
    CUcontext made, current;
    must(cuCtxCreate(&made, NULL, 0, 0));
    must(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, made);
    must(cuCtxPopCurrent(&current));
    assert_ptr_equal(current, made);
    must(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, gpu.context);
    must(cuCtxDestroy(made));
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
    const struct CMUnitTest without[] = {cmocka_unit_test(before_init)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_the_device),
        cmocka_unit_test(finds_entry_points),
        cmocka_unit_test(launches),
        cmocka_unit_test(refuses_bad_launches),
        cmocka_unit_test(finds_what_is_in_a_module),
        cmocka_unit_test(kernels_of_a_library),
        cmocka_unit_test(refuses_bad_images),
        cmocka_unit_test(allocates),
        cmocka_unit_test(refuses_copies_out_of_bounds),
        cmocka_unit_test(copies_in_two_and_three_dimensions),
        cmocka_unit_test(sets_every_width),
        cmocka_unit_test(host_and_managed_memory),
        cmocka_unit_test(a_pageable_source_is_read_at_the_call),
        cmocka_unit_test(allocates_in_stream_order),
        cmocka_unit_test(events_tell_time),
        cmocka_unit_test(streams_keep_their_order),
        cmocka_unit_test(per_thread_entry_points_use_another_default_stream),
        cmocka_unit_test(threads_work_side_by_side),
        cmocka_unit_test(host_functions_run_in_order),
        cmocka_unit_test(captures_a_graph),
        cmocka_unit_test(a_capture_is_spoiled_by_what_it_forbids),
        cmocka_unit_test(occupancy),
        cmocka_unit_test(contexts_are_a_stack),
        cmocka_unit_test(a_fault_sticks), /* last: nothing works after it */
    };
    int failed = cmocka_run_group_tests_name("before cuInit", without, NULL, NULL);
    return failed + cmocka_run_group_tests_name("driver", tests, open_device, NULL);
}
