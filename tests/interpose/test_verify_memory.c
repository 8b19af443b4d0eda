/* SPDX-License-Identifier: Apache-2.0
 * The memory of a use that is verified: which ranges there are, and what is copied, compared and put back.
 * The device is an array here, and a copy of the driver is memcpy. */
#include "interpose/verify_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 3 * VERIFY_CHUNK, ROOM = 32 };
static unsigned char device[SIZE];
static int copies_left; /* until one fails; negative: none does */
void *entry_real[ENTRY_SLOTS];

static CUresult copy(void *to, const void *from, size_t size)
{
    if (copies_left == 0) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (copies_left > 0) copies_left--;
    memcpy(to, from, size);
    return CUDA_SUCCESS;
}

static CUresult copy_from(void *to, CUdeviceptr from, size_t size)
{
    return copy(to, device + from, size);
}

static CUresult copy_to(CUdeviceptr to, const void *from, size_t size)
{
    return copy(device + to, from, size);
}

static CUresult synchronise(void)
{
    return CUDA_SUCCESS;
}

static int start(void **state)
{
    static struct verify_memory memory;
    memory = (struct verify_memory){0};
    *state = &memory;
    copies_left = -1;
    for (int i = 0; i < SIZE; i++) device[i] = (unsigned char)(i * 7 + i / 256);
    entry_real[ENTRY_cuMemcpyDtoH_v2] = (void *)copy_from;
    entry_real[ENTRY_cuMemcpyHtoD_v2] = (void *)copy_to;
    entry_real[ENTRY_cuCtxSynchronize] = (void *)synchronise;
    return !verify_memory_reserve(&memory, ROOM);
}

static int end(void **state)
{
    struct verify_memory *memory = *state;
    verify_memory_unmap(memory);
    free(memory->ranges);
    return 0;
}

static void has_range(const struct verify_memory *memory, uint32_t index, uint64_t from, uint64_t to,
                      bool is_written)
{
    assert_true(index < memory->count);
    assert_int_equal(memory->ranges[index].start, from);
    assert_int_equal(memory->ranges[index].end, to);
    assert_int_equal(memory->ranges[index].is_written, is_written);
}

/* Neighbours stay apart: they may be two allocations, and no copy goes over both. */
static void overlapping_ranges_become_one(void **state)
{
    struct verify_memory *memory = *state;
    verify_memory_add(memory, 500, 600, true);
    verify_memory_add(memory, 100, 200, true);
    verify_memory_add(memory, 200, 300, true);
    verify_memory_add(memory, 400, 400, true);
    assert_int_equal(memory->count, 3);
    has_range(memory, 0, 100, 200, true);
    has_range(memory, 1, 200, 300, true);
    has_range(memory, 2, 500, 600, true);
    verify_memory_add(memory, 150, 550, true);
    assert_int_equal(memory->count, 1);
    has_range(memory, 0, 100, 600, true);
}

static void what_is_not_written_is_watched(void **state)
{
    struct verify_memory *memory = *state;
    verify_memory_add(memory, 100, 200, true);
    verify_memory_add(memory, 300, 400, true);
    verify_memory_watch(memory, 50, 500, 1 << 30);
    assert_int_equal(memory->count, 5);
    has_range(memory, 0, 50, 100, false);
    has_range(memory, 1, 100, 200, true);
    has_range(memory, 2, 200, 300, false);
    has_range(memory, 3, 300, 400, true);
    has_range(memory, 4, 400, 500, false);
    verify_memory_watch(memory, 50, 500, 1 << 30); /* is there */
    assert_int_equal(memory->count, 5);
    assert_int_equal(verify_memory_needed(memory), VERIFY_CHUNK + 2 * 200 + 250);
}

static void watching_ends_at_the_limit(void **state)
{
    struct verify_memory *memory = *state;
    verify_memory_add(memory, 100, 200, true);
    uint64_t limit = verify_memory_needed(memory) + 60;
    verify_memory_watch(memory, 200, 261, limit);
    assert_int_equal(memory->count, 1);
    verify_memory_watch(memory, 0, 160, limit - 60 + 99); /* one byte too many */
    assert_int_equal(memory->count, 1);
    verify_memory_watch(memory, 200, 260, limit);
    assert_int_equal(memory->count, 2);
    assert_int_equal(verify_memory_needed(memory), limit);
    for (uint64_t i = 0; i < 2 * ROOM; i++)
        verify_memory_watch(memory, 1000 + 10 * i, 1000 + 10 * i + 1, 1 << 30);
    assert_int_equal(memory->count, ROOM); /* and at the room that there is */
}

/* Members that add 1, then a fused kernel that does what a test says. */
static void run_members(struct verify_memory *memory, uint64_t from, uint64_t to)
{
    assert_true(verify_memory_map(memory));
    assert_int_equal(verify_memory_save_before(memory), CUDA_SUCCESS);
    for (uint64_t i = from; i < to; i++) device[i]++;
    assert_int_equal(verify_memory_save_result(memory), CUDA_SUCCESS);
}

static void equal_results_are_equal(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    static unsigned char before[SIZE];
    const uint64_t from = 100, to = 2 * VERIFY_CHUNK + 100;
    memcpy(before, device, SIZE);
    verify_memory_add(memory, from, to, true);
    verify_memory_watch(memory, 0, SIZE, UINT32_MAX);
    run_members(memory, from, to);
    assert_int_equal(verify_memory_compare(memory, false, &difference), CUDA_SUCCESS);
    assert_false(difference.is_found);
    assert_int_equal(verify_memory_put_before(memory), CUDA_SUCCESS);
    assert_memory_equal(device, before, SIZE);
    for (uint64_t i = from; i < to; i++) device[i]++;
    assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
    assert_false(difference.is_found);
}

/* The first and the last byte of the range and those around the borders of chunks. */
static void one_wrong_byte_is_found(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    const uint64_t from = 100, to = 2 * VERIFY_CHUNK + 101;
    const uint64_t places[] = {from,    from + VERIFY_CHUNK - 1, from + VERIFY_CHUNK, to - 1, from - 1, to, 0,
                               SIZE - 1};
    verify_memory_add(memory, from, to, true);
    verify_memory_watch(memory, 0, SIZE, UINT32_MAX);
    run_members(memory, from, to);
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        unsigned char right = device[places[k]];
        device[places[k]] ^= 0x40;
        assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
        assert_true(difference.is_found);
        assert_int_equal(difference.address, places[k]);
        assert_int_equal(difference.is, right ^ 0x40);
        assert_int_equal(difference.must_be, right);
        assert_int_equal(verify_memory_put_result(memory), CUDA_SUCCESS);
        assert_int_equal(device[places[k]], right);
    }
}

/* What is added up in any order is put back like the rest, but compared with nothing; the byte behind it is. */
static void open_orders_are_not_compared(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    verify_memory_add(memory, 100, 200, true);
    verify_memory_add(memory, 300, 400, false);
    verify_memory_add(memory, 390, 395, true);
    verify_memory_watch(memory, 0, 500, UINT32_MAX);
    run_members(memory, 300, 400);
    unsigned char right = device[350];
    device[300] ^= 1, device[350] ^= 1, device[399] ^= 1;
    assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
    assert_false(difference.is_found);
    device[400] ^= 1;
    assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
    assert_true(difference.is_found);
    assert_int_equal(difference.address, 400);
    assert_int_equal(verify_memory_put_result(memory), CUDA_SUCCESS);
    assert_int_equal(device[350], right);
}

static void put_word(uint64_t address, uint64_t word)
{
    memcpy(device + address, &word, sizeof word);
}

/* Other NaNs are told apart from other numbers, wherever these stand. */
static void other_nans_are_told(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    const uint64_t nan = 0x7ff8000000000000, other = 0xfff8000000000001, single = 0x7fffffff00000001;
    const struct {
        uint64_t word, must_be;
        bool is_nan;
    } words[] = {{nan, other, true},
                 {other, nan, true},
                 {nan, 0x7ff0000000000000, false},
                 {nan, 1, false},
                 {single, single + 1, false}};
    const uint64_t to = VERIFY_CHUNK + 64, places[] = {0, 8, VERIFY_CHUNK - 8, VERIFY_CHUNK, to - 8};
    verify_memory_add(memory, 0, to, true);
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
            put_word(places[p], words[w].must_be);
            run_members(memory, 0, 0);
            put_word(places[p], words[w].word);
            assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
            assert_true(difference.is_found);
            assert_int_equal(difference.is_nan, words[w].is_nan);
            assert_in_range(difference.address, places[p], places[p] + 7);
            device[24] ^= 1; /* and a number as well */
            assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_SUCCESS);
            assert_true(difference.is_found && !difference.is_nan);
            device[24] ^= 1;
            verify_memory_unmap(memory);
        }
}

/* Where members write what the plan does not know of. */
static void members_beyond_their_ranges_are_found(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    verify_memory_add(memory, 100, 200, true);
    verify_memory_watch(memory, 0, 1000, UINT32_MAX);
    run_members(memory, 100, 201);
    assert_int_equal(verify_memory_compare(memory, false, &difference), CUDA_SUCCESS);
    assert_true(difference.is_found);
    assert_int_equal(difference.address, 200);
}

static void errors_are_told(void **state)
{
    struct verify_memory *memory = *state;
    struct verify_difference difference;
    verify_memory_add(memory, 100, 200, true);
    verify_memory_add(memory, 300, 400, true);
    run_members(memory, 100, 200);
    copies_left = 1;
    assert_int_equal(verify_memory_save_before(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
    copies_left = 1;
    assert_int_equal(verify_memory_save_result(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
    copies_left = 1;
    assert_int_equal(verify_memory_put_before(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
    copies_left = 1;
    assert_int_equal(verify_memory_put_result(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
    copies_left = 0;
    assert_int_equal(verify_memory_compare(memory, true, &difference), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(overlapping_ranges_become_one),
        TEST(what_is_not_written_is_watched),
        TEST(watching_ends_at_the_limit),
        TEST(equal_results_are_equal),
        TEST(one_wrong_byte_is_found),
        TEST(open_orders_are_not_compared),
        TEST(other_nans_are_told),
        TEST(members_beyond_their_ranges_are_found),
        TEST(errors_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
