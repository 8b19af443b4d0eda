/* SPDX-License-Identifier: Apache-2.0
 * When is a run periodic? Sequences as programs make them. */
#include "profiler/period.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LIMIT = 50000 };
static uint64_t sequence[LIMIT];
static uint32_t length;

static void add(const char *launches, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (const char *at = launches; *at; at++) {
            assert_true(length < LIMIT);
            sequence[length++] = (uint64_t)*at * 0x9e3779b97f4a7c15u;
        }
}

static int start_empty(void **state)
{
    (void)state;
    length = 0;
    return 0;
}

/* The slow way. */
static uint32_t expected_period(void)
{
    for (uint32_t p = 1; p <= length / PERIOD_REPEATS; p++) {
        uint32_t stretch = p * PERIOD_REPEATS > PERIOD_LAUNCHES ? p * PERIOD_REPEATS : PERIOD_LAUNCHES,
                 same = 0;
        while (same + p < length && sequence[length - 1 - same] == sequence[length - 1 - same - p]) same++;
        if (same + p >= stretch && stretch <= length) return p;
    }
    return 0;
}

static void finds_the_smallest_period(void **state)
{
    (void)state;
    add("init", 3);
    add("aab", 500);
    assert_int_equal(period_find(sequence, length), 3);
}

static void needs_enough_launches(void **state)
{
    (void)state;
    add("ab", PERIOD_LAUNCHES / 2 - 1);
    assert_int_equal(period_find(sequence, length), 0);
    add("ab", 1);
    assert_int_equal(period_find(sequence, length), 2);
}

static void needs_four_repetitions(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 4; repeat++) {
        assert_int_equal(period_find(sequence, length), 0);
        add("a", 400);
        add("b", 100);
        add("c", 1);
    }
    assert_int_equal(period_find(sequence, length), 501);
}

static void is_not_fooled_by_a_break_at_the_end(void **state)
{
    (void)state;
    add("abcd", 1000);
    add("x", 1);
    assert_int_equal(period_find(sequence, length), 0);
    add("abcd", 249);
    assert_int_equal(period_find(sequence, length), 0);
    add("abcd", 1);
    assert_int_equal(period_find(sequence, length), 4);
}

static void random_launches_are_not_periodic(void **state)
{
    (void)state;
    srandom(7);
    for (length = 0; length < LIMIT; length++) sequence[length] = (uint64_t)random() % 4;
    assert_int_equal(period_find(sequence, length), 0);
}

static void agrees_with_the_definition(void **state)
{
    (void)state;
    srandom(3);
    for (int round = 0; round < 200; round++) {
        uint32_t period = 1 + (uint32_t)random() % 700;
        length = 1000 + (uint32_t)random() % 3000;
        for (uint32_t i = 0; i < length; i++)
            sequence[i] = i < period ? (uint64_t)random() % 2 : sequence[i - period];
        for (int errors = round % 3; errors > 0; errors--) sequence[(uint32_t)random() % length] ^= 1;
        assert_int_equal(period_find(sequence, length), expected_period());
    }
}

static void notices_while_launches_arrive(void **state)
{
    (void)state;
    struct period period = {0};
    uint32_t found = 0, at;
    add("setup", 5);
    add("abcab", 2000);
    for (at = 0; at < length && !found; at++) found = period_note(&period, sequence[at]);
    assert_int_equal(found, 5);
    assert_in_range(at, PERIOD_LAUNCHES, PERIOD_LAUNCHES * 5 / 4);
    period_free(&period);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_the_smallest_period, start_empty),
        cmocka_unit_test_setup(needs_enough_launches, start_empty),
        cmocka_unit_test_setup(needs_four_repetitions, start_empty),
        cmocka_unit_test_setup(is_not_fooled_by_a_break_at_the_end, start_empty),
        cmocka_unit_test_setup(random_launches_are_not_periodic, start_empty),
        cmocka_unit_test_setup(agrees_with_the_definition, start_empty),
        cmocka_unit_test_setup(notices_while_launches_arrive, start_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
