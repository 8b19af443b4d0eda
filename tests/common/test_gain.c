/* SPDX-License-Identifier: Apache-2.0
 * Gains of rounds: intervals as tables have them, and what a round in which the host paused does to them. */
#include "common/gain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ROUNDS(...) ((const double[]){__VA_ARGS__}), sizeof((const double[]){__VA_ARGS__}) / sizeof(double)
#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-3)

static void few_rounds_say_nothing(void **state)
{
    (void)state;
    struct gain none = gain_of(NULL, 0, 0), one = gain_of(ROUNDS(-5), 0), two = gain_of(ROUNDS(-5, -5), 0);
    assert_true(!gain_loses(&none) && !gain_wins(&none));
    assert_true(isinf(one.low) && isinf(one.high) && one.mean == -5);
    assert_true(two.high == -5 && !gain_loses(&two)); /* too few for a verdict */
}

/* 1 to 5: mean 3, deviation 1.5811, 2.776 * 1.5811 / sqrt(5) = 1.9629. */
static void student_interval(void **state)
{
    (void)state;
    struct gain gain = gain_of(ROUNDS(5, 1, 4, 2, 3), 0);
    CLOSE(gain.mean, 3);
    CLOSE(gain.low, 3 - 1.9629);
    CLOSE(gain.high, 3 + 1.9629);
    assert_true(gain_wins(&gain) && !gain_loses(&gain));
}

/* 1 to 6, one trimmed at each end: mean of 2 to 5; winsorised 2 2 3 4 5 5, deviation 1.3784; df 3. */
static void trimmed_interval(void **state)
{
    (void)state;
    struct gain gain = gain_of(ROUNDS(6, 1, 5, 2, 4, 3), 0);
    CLOSE(gain.mean, 3.5);
    CLOSE(gain.high - gain.mean, 3.182 * 1.3784 / (4.0 / 6 * sqrt(6)));
}

static void equal_rounds_are_as_good_as_the_clock(void **state)
{
    (void)state;
    struct gain small = gain_of(ROUNDS(-40, -40, -40), 50), large = gain_of(ROUNDS(-60, -60, -60), 50);
    assert_false(gain_loses(&small));
    assert_true(gain_loses(&large));
    CLOSE(large.high, -10);
}

static void a_pause_does_not_decide(void **state)
{
    (void)state;
    struct gain in_fused = gain_of(ROUNDS(10, 11, 10, -5000), 0);
    struct gain trimmed = gain_of(ROUNDS(10, 11, 10, -5000, 9, 10, 11, 12), 0);
    struct gain in_original = gain_of(ROUNDS(-10, -11, -10, 5000, -9, -10, -11, -12), 0);
    assert_false(gain_loses(&in_fused));
    assert_true(gain_wins(&trimmed));
    assert_true(gain_loses(&in_original));
}

static void as_many_as_fit(void **state)
{
    double rounds[GAIN_MOST + 1];
    (void)state;
    for (int i = 0; i <= GAIN_MOST; i++) rounds[i] = i % 2 ? -1 : -3;
    struct gain most = gain_of(rounds, GAIN_MOST, 0), more = gain_of(rounds, GAIN_MOST + 1, 0);
    assert_true(gain_loses(&most));
    CLOSE(most.mean, -2);
    assert_true(isinf(more.high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rounds_say_nothing),  cmocka_unit_test(student_interval),
        cmocka_unit_test(trimmed_interval),        cmocka_unit_test(equal_rounds_are_as_good_as_the_clock),
        cmocka_unit_test(a_pause_does_not_decide), cmocka_unit_test(as_many_as_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
