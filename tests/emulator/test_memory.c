/* SPDX-License-Identifier: Apache-2.0
 * Device memory: places, bounds, what freeing leaves behind; and the clock: monotonous where it must be. */
#include "emulator/clock.h"
#include "emulator/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CAPACITY = 64 << 20 };

static void test_allocate(void **state)
{
    (void)state;
    struct emu_allocation found;
    uint64_t free_before, free_now, total, a = emu_memory_allocate(1000, EMU_MEMORY_DEVICE);
    uint64_t b = emu_memory_allocate(5000, EMU_MEMORY_MANAGED);
    emu_memory_usage(&free_before, &total);
    assert_int_equal(total, CAPACITY);
    assert_true(a % 256 == 0 && b % 256 == 0 && b >= a + 1000 + 256);
    memset((void *)(uintptr_t)a, 1, 1000);
    assert_true(emu_memory_find(a + 999, &found));
    assert_true(found.start == a && found.size == 1000 && found.kind == EMU_MEMORY_DEVICE);
    assert_false(emu_memory_find(a + 1000, &found));
    assert_true(emu_memory_find(b, &found));
    assert_int_equal(found.kind, EMU_MEMORY_MANAGED);
    assert_false(emu_memory_release(a + 8));
    assert_true(emu_memory_release(a));
    assert_false(emu_memory_release(a));
    assert_false(emu_memory_find(a, &found));
    assert_int_equal(*(unsigned char *)(uintptr_t)(a + 999), 0xdd);
    emu_memory_usage(&free_now, &total);
    assert_true(free_now > free_before);
    assert_true(emu_memory_allocate(500, EMU_MEMORY_DEVICE) == a); /* the gap is used again */
    assert_true(emu_memory_release(a) && emu_memory_release(b));
}

static void test_exhaustion(void **state)
{
    (void)state;
    assert_true(emu_memory_allocate(2ull * CAPACITY, EMU_MEMORY_DEVICE) == 0);
    assert_true(emu_memory_allocate(UINT64_MAX - 100, EMU_MEMORY_DEVICE) == 0);
    uint64_t most = emu_memory_allocate(CAPACITY - 4096, EMU_MEMORY_DEVICE);
    assert_true(most != 0);
    assert_true(emu_memory_allocate(8192, EMU_MEMORY_DEVICE) == 0);
    assert_true(emu_memory_release(most));
}

static void test_host(void **state)
{
    (void)state;
    struct emu_allocation found;
    char *own = malloc(100);
    uint64_t host = emu_memory_allocate(3000, EMU_MEMORY_HOST), start = (uint64_t)(uintptr_t)own;
    assert_true(emu_memory_find(host + 2999, &found) && found.kind == EMU_MEMORY_HOST);
    assert_true(emu_memory_register(start, 100));
    assert_false(emu_memory_register(start + 50, 100));
    assert_true(emu_memory_find(start + 99, &found) && found.start == start);
    assert_true(emu_memory_release(start) && emu_memory_release(host));
    own[99] = 1; /* still ours */
    free(own);
}

static uint64_t time_of(uint64_t bytes, uint64_t instructions, uint32_t blocks)
{
    struct emu_counts counts = {.load_bytes = bytes, .warp_instructions = instructions};
    struct emu_launch launch = {.grid = {blocks, 1, 1}, .block = {256, 1, 1}};
    struct emu_kernel_info kernel = {.registers = 16, .max_threads = 1024};
    return emu_clock_kernel_ns(&counts, &launch, &kernel);
}

static void test_clock(void **state)
{
    (void)state;
    struct emu_kernel_info kernel = {.registers = 32, .max_threads = 1024};
    assert_int_equal(emu_clock_occupancy(&kernel, 256, 0), 8);
    assert_int_equal(emu_clock_occupancy(&kernel, 1024, 0), 2);
    assert_int_equal(emu_clock_occupancy(&kernel, 32, 0), 32);
    assert_int_equal(emu_clock_occupancy(&kernel, 256, 100 << 10), 2);
    assert_int_equal(emu_clock_occupancy(&kernel, 256, 228 << 10), 0);
    kernel.registers = 255;
    assert_int_equal(emu_clock_occupancy(&kernel, 256, 0), 1);
    assert_int_equal(time_of(0, 0, 1), 2000);
    /* four arrays of 2^28 floats: measured 1.419 ms */
    assert_in_range(time_of(16ull << 28, 1000000, 1 << 20), 1350000, 1500000);
    assert_true(time_of(1ull << 30, 0, 10) > time_of(1ull << 30, 0, 1000));
    assert_true(time_of(0, 1ull << 32, 1000) > time_of(0, 1ull << 30, 1000));
    assert_true(emu_clock_copy_ns(1 << 30, EMU_COPY_HOST) > emu_clock_copy_ns(1 << 30, EMU_COPY_DEVICE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocate), cmocka_unit_test(test_exhaustion),
                                       cmocka_unit_test(test_host), cmocka_unit_test(test_clock)};
    if (!emu_memory_open(CAPACITY)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
