/* SPDX-License-Identifier: Apache-2.0
 * Memory: allocated, copied, set, on the device and on the host, also in the order of a stream. */
#include "tests/emulator/driver_fixture.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocates),
        cmocka_unit_test(refuses_copies_out_of_bounds),
        cmocka_unit_test(copies_in_two_and_three_dimensions),
        cmocka_unit_test(sets_every_width),
        cmocka_unit_test(host_and_managed_memory),
        cmocka_unit_test(a_pageable_source_is_read_at_the_call),
        cmocka_unit_test(allocates_in_stream_order),
    };
    return cmocka_run_group_tests_name("memory", tests, open_device, NULL);
}
