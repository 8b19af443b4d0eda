/* SPDX-License-Identifier: Apache-2.0
 * The device, its context and a module that the tests of the driver API share. Linked with the emulated
 * driver; the same programs pass on a GPU with NVIDIA's. */
#ifndef TESTS_EMULATOR_DRIVER_FIXTURE_H
#define TESTS_EMULATOR_DRIVER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>

#define must(call) assert_int_equal(call, CUDA_SUCCESS)

/* step: x[i] = 3 x[i] + i. note: appends a mark to a list (list[0] is its length). wild: writes to
 * address 16. table: {1, 2, 3, 4}. */
extern const char driver_text[];
struct driver_fixture {
    CUcontext context;
    CUmodule module;
    CUfunction step, note, wild;
};
extern struct driver_fixture gpu;

/* For cmocka: before a group of tests. */
int open_device(void **state);
CUresult step(CUdeviceptr x, uint32_t n, CUstream stream);
CUresult note(CUdeviceptr list, uint32_t mark, CUstream stream);
/* What count steps make of start. */
uint32_t stepped(uint32_t start, uint32_t i, int count);

#endif
