/* SPDX-License-Identifier: Apache-2.0
 * The driver API as a program begins with it: the device, entry points, contexts. */
#include "tests/emulator/driver_fixture.h"

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

int main(void)
{
    const struct CMUnitTest without[] = {cmocka_unit_test(before_init)};
    int failed = cmocka_run_group_tests_name("before cuInit", without, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_the_device),
        cmocka_unit_test(finds_entry_points),
        cmocka_unit_test(contexts_are_a_stack),
    };
    return failed + cmocka_run_group_tests_name("driver", tests, open_device, NULL);
}
