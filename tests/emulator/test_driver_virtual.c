/* SPDX-License-Identifier: Apache-2.0
 * Virtual memory management: memory that is mapped twice is one memory, and what the manual refuses is
 * refused. driver.sh runs it again with KFUSE_EMULATOR=seed=N. */
#include "tests/emulator/driver_fixture.h"

static CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static CUmemAccessDesc everything = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static size_t unit; /* the granularity */

static int open_virtual(void **state)
{
    int value = 0;
    open_device(state);
    must(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    assert_int_equal(value, 1);
    must(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(unit, 2 << 20);
    return 0;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t size)
{
    CUdeviceptr address;
    must(cuMemAddressReserve(&address, size, 0, 0, 0));
    must(cuMemMap(address, size, 0, handle, 0));
    must(cuMemSetAccess(address, size, &everything, 1));
    return address;
}

static void unmap(CUdeviceptr address, size_t size)
{
    must(cuMemUnmap(address, size));
    must(cuMemAddressFree(address, size));
}

static uint32_t word_at(CUdeviceptr address)
{
    uint32_t out;
    must(cuMemcpyDtoH(&out, address, sizeof out));
    return out;
}

static void two_addresses_are_one_memory(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle;
    size_t free_before, free_now, total;
    must(cuMemGetInfo(&free_before, &total));
    must(cuMemCreate(&handle, 2 * unit, &properties, 0));
    CUdeviceptr one = map(handle, 2 * unit), two = map(handle, 2 * unit);
    assert_true(one != two);
    must(cuMemGetInfo(&free_now, &total));
    assert_int_equal(free_before - free_now, 2 * unit);
    must(cuMemsetD32(one, 5, 64));
    must(step(two, 64, NULL)); /* a kernel at the other address */
    must(step(one, 64, NULL));
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(word_at(one + 4 * i), stepped(5, i, 2));
        assert_int_equal(word_at(two + 4 * i), stepped(5, i, 2));
    }
    must(cuMemcpyDtoD(two + unit, one, 256));
    assert_int_equal(word_at(one + unit + 4), stepped(5, 1, 2));
    must(cuMemRelease(handle)); /* the mappings keep it */
    unmap(one, 2 * unit);
    assert_int_equal(word_at(two + 4), stepped(5, 1, 2));
    unmap(two, 2 * unit);
    must(cuMemGetInfo(&free_now, &total));
    assert_int_equal(free_before, free_now);
}

/* An array over two memories, side by side. */
static void one_array_of_two_memories(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handles[2];
    CUdeviceptr array;
    must(cuMemAddressReserve(&array, 2 * unit, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        must(cuMemCreate(&handles[i], unit, &properties, 0));
        must(cuMemMap(array + (CUdeviceptr)i * unit, unit, 0, handles[i], 0));
    }
    must(cuMemSetAccess(array, 2 * unit, &everything, 1));
    must(cuMemsetD32(array, 1, 2 * unit / 4));
    must(step(array + unit - 256, 128, NULL));
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(word_at(array + unit - 256 + 4 * i), stepped(1, i, 1));
    assert_int_equal(cuMemUnmap(array, unit / 2), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) must(cuMemRelease(handles[i]));
    unmap(array, 2 * unit);
}

static void a_handle_is_found_again(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle, again;
    CUmemAllocationProp told;
    unsigned long long flags;
    must(cuMemCreate(&handle, unit, &properties, 0));
    CUdeviceptr address = map(handle, unit);
    must(cuMemRetainAllocationHandle(&again, (void *)(address + 100)));
    assert_true(handle == again);
    must(cuMemGetAllocationPropertiesFromHandle(&told, handle));
    assert_int_equal(told.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    must(cuMemGetAccess(&flags, &everything.location, address));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    must(cuMemRelease(handle));
    CUdeviceptr other = map(again, unit);
    must(cuMemRelease(again));
    unmap(address, unit);
    assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)address), CUDA_ERROR_INVALID_VALUE);
    unmap(other, unit);
}

static void memory_without_access_is_none(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUmemAccessDesc reading = everything;
    reading.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    must(cuMemAddressReserve(&address, unit, 0, 0, 0));
    must(cuMemCreate(&handle, unit, &properties, 0));
    assert_int_equal(cuMemsetD32(address, 1, 4), CUDA_ERROR_INVALID_VALUE);
    must(cuMemMap(address, unit, 0, handle, 0));
    assert_int_equal(cuMemsetD32(address, 1, 4), CUDA_ERROR_INVALID_VALUE);
    must(cuMemSetAccess(address, unit, &everything, 1));
    must(cuMemsetD32(address, 1, 4));
    must(cuMemSetAccess(address, unit, &reading, 1));
    assert_int_equal(word_at(address), 1);
    assert_int_equal(cuMemsetD32(address, 1, 4), CUDA_ERROR_INVALID_VALUE);
    must(cuMemRelease(handle));
    unmap(address, unit);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp other = properties;
    CUmemAccessDesc elsewhere = everything;
    CUdeviceptr address, second;
    assert_int_equal(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressReserve(&address, 1000, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressReserve(&address, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressReserve(&address, unit, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    must(cuMemAddressReserve(&address, 4 * unit, 8 * unit, 0, 0));
    assert_int_equal(address % (8 * unit), 0);
    must(cuMemAddressReserve(&second, unit, 0, address, 0)); /* a hint that cannot be taken */
    assert_true(second < address || second >= address + 4 * unit);
    must(cuMemAddressFree(second, unit));
    assert_int_equal(cuMemCreate(&handle, unit / 2, &properties, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemCreate(&handle, unit, &properties, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemCreate(&handle, unit, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    other.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    assert_int_equal(cuMemCreate(&handle, unit, &other, 0), CUDA_ERROR_INVALID_VALUE);
    other = properties;
    other.location.id = 100;
    assert_int_equal(cuMemCreate(&handle, unit, &other, 0), CUDA_ERROR_INVALID_DEVICE);
    must(cuMemCreate(&handle, 2 * unit, &properties, 0));
    assert_int_equal(cuMemMap(address + 4096, unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(address, 3 * unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(address + 3 * unit, 2 * unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(address, 2 * unit, unit, handle, 0), CUDA_ERROR_INVALID_VALUE);
    must(cuMemMap(address, 2 * unit, 0, handle, 0));
    assert_int_equal(cuMemMap(address + unit, 2 * unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemSetAccess(address, 4 * unit, &everything, 1), CUDA_ERROR_INVALID_VALUE);
    elsewhere.location.id = 100;
    assert_int_equal(cuMemSetAccess(address, 2 * unit, &elsewhere, 1), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(cuMemUnmap(address, 4 * unit), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(address, 4 * unit), CUDA_ERROR_INVALID_VALUE);
    must(cuMemUnmap(address, 2 * unit));
    assert_int_equal(cuMemAddressFree(address, 2 * unit), CUDA_ERROR_INVALID_VALUE);
    must(cuMemAddressFree(address, 4 * unit));
    must(cuMemRelease(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_addresses_are_one_memory), cmocka_unit_test(one_array_of_two_memories),
        cmocka_unit_test(a_handle_is_found_again),      cmocka_unit_test(memory_without_access_is_none),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests_name("virtual memory", tests, open_virtual, NULL);
}
