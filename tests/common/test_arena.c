/* SPDX-License-Identifier: Apache-2.0
 * Arenas: what is taken is zeroed, aligned, apart, and stays. */
#include "common/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int begin(void **state)
{
    *state = arena_create();
    return *state ? 0 : -1;
}

static int end(void **state)
{
    arena_free(*state);
    return 0;
}

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    unsigned char *pieces[3000];
    for (size_t i = 0; i < 3000; i++) {
        size_t size = i * 37 % 501;
        pieces[i] = arena_alloc(*state, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t at = 0; at < size; at++) assert_int_equal(pieces[i][at], 0);
        memset(pieces[i], (int)(i % 255) + 1, size);
    }
    for (size_t i = 0; i < 3000; i++)
        for (size_t at = 0; at < i * 37 % 501; at++) assert_int_equal(pieces[i][at], i % 255 + 1);
}

static void large_pieces_leave_the_rest_of_a_block_in_use(void **state)
{
    char *small = arena_alloc(*state, 16);
    unsigned char *large = arena_alloc(*state, 1 << 20);
    char *next = arena_alloc(*state, 16);
    assert_non_null(large);
    assert_int_equal(large[(1 << 20) - 1], 0);
    assert_ptr_equal(next, small + 16);
}

static void impossible_sizes_give_null(void **state)
{
    assert_null(arena_alloc(*state, SIZE_MAX));
    assert_null(arena_alloc(*state, SIZE_MAX / 2 + 1));
    assert_null(arena_calloc(*state, SIZE_MAX / 4, 8));
    assert_non_null(arena_alloc(*state, 0));
}

static void texts_are_copied(void **state)
{
    char text[] = "kernel";
    char *copy = arena_strdup(*state, text), *part = arena_strndup(*state, text, 3);
    memset(text, 'x', 6);
    assert_string_equal(copy, "kernel");
    assert_string_equal(part, "ker");
    assert_string_equal(arena_printf(*state, "%s-%d", copy, 42), "kernel-42");
}

static void growing_keeps_the_elements(void **state)
{
    uint32_t *numbers = NULL, capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        if (i == capacity) {
            capacity = capacity * 2 + 4;
            numbers = arena_grow(*state, numbers, i, capacity, sizeof *numbers);
            assert_non_null(numbers);
        }
        numbers[i] = i * i;
    }
    for (uint32_t i = 0; i < 1000; i++) assert_int_equal(numbers[i], i * i);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_zeroed_aligned_and_apart), TEST(large_pieces_leave_the_rest_of_a_block_in_use),
        TEST(impossible_sizes_give_null),          TEST(texts_are_copied),
        TEST(growing_keeps_the_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
