/* SPDX-License-Identifier: Apache-2.0
 * Loops of several kernels joined iteration by iteration leave the memory that the kernels leave one after
 * the other; where they may not be joined, they are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 200, LEVELS = 11, BYTES = 4 * N * LEVELS };

/* joins: members of each join, one digit a join; trips: of the first join's loops, + where the members
 * iterate equally often */
static void expect(const struct scene *scene, const char *joins, const char *trips, uint32_t forwards)
{
    struct scene_run run;
    char text[2][16] = {"", ""};
    scene_open(&run, scene);
    assert_true(scene_compare(&run, scene));
    for (uint32_t i = 0; i < run.group->join_count; i++)
        text[0][i] = (char)('0' + run.group->joins[i].member_count);
    for (uint32_t l = 0; run.group->join_count && l < run.group->joins->loop_count; l++)
        text[1][l] = run.group->joins->has_same_trip_count[l] ? '+' : '-';
    assert_string_equal(text[0], joins);
    assert_string_equal(text[1], trips);
    assert_int_equal(run.group->forward_count, forwards);
    scene_close(&run);
}

#define ROW .grid = {2, 1, 1}, .block = {128, 1, 1}
#define FLOATS                                                                                               \
    {                                                                                                        \
        BYTES, 'f'                                                                                           \
    }
#define ARRAYS {FLOATS, FLOATS, FLOATS, FLOATS, FLOATS}, .module = "loops.ptx"

static void a_value_passes_in_each_iteration(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(2), POINTER(0), POINTER(3), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "2", "+", 1);
}

static void two_loads_of_one_level_are_one(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"double_column", ROW, {POINTER(2), POINTER(1), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(3), POINTER(0), POINTER(1), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "3", "+", 3);
}

static void columns_of_two_lengths(void **state)
{
    (void)state;
    struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(2), POINTER(0), POINTER(3), INT(N), INT(LEVELS - 4)}}},
        ARRAYS};
    expect(&scene, "2", "-", 1);
    scene.launches[0].arguments[3].integer = LEVELS - 7; /* the second goes on alone */
    expect(&scene, "", "", 0);
    scene.launches[0].arguments[2].integer = N - 40; /* another stride: other threads' levels */
    scene.launches[0].arguments[3].integer = LEVELS;
    struct scene_run run;
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    scene_close(&run);
}

/* shift: of the last member in its first loop; far: values that come from another iteration; partly: not in
 * the first ones */
static void expect_iterations(const struct scene *scene, uint32_t shift, bool is_prologue_delayed,
                              uint32_t forwards, uint32_t far, uint32_t partly)
{
    struct scene_run run;
    scene_open(&run, scene);
    assert_true(scene_compare(&run, scene));
    assert_int_equal(run.group->join_count, 1);
    const struct group_joined *last = &run.group->joins->members[run.group->joins->member_count - 1];
    assert_int_equal(last->shifts[0], shift);
    assert_int_equal(last->is_prologue_delayed[0], is_prologue_delayed);
    assert_int_equal(run.group->forward_count, forwards);
    for (uint32_t i = 0; i < run.group->forward_count; i++) {
        far -= run.group->forwards[i].distance > 0;
        partly -= run.group->forwards[i].first > 0;
    }
    assert_int_equal(far, 0);
    assert_int_equal(partly, 0);
    scene_close(&run);
}

static void a_level_above_needs_a_shift(void **state)
{
    (void)state;
    const struct scene scene = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                                 {"from_above", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect_iterations(&scene, 1, false, 1, 0, 0);
}

static void the_first_level_is_peeled_off(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"from_below", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(3), POINTER(0), POINTER(2), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect_iterations(&scene, 1, false, 3, 2,
                      1); /* what it stores before its loop is in no iteration's register */
}

static void the_level_below_is_kept(void **state)
{
    (void)state;
    const struct scene scene = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                                 {"differences", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect_iterations(&scene, 1, false, 2, 1, 0);
    const struct scene both = {{{"differences", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
                                {"differences", ROW, {POINTER(3), POINTER(2), INT(N), INT(LEVELS)}}},
                               ARRAYS};
    expect_iterations(&both, 0, false, 2, 1, 1); /* level 0 of the second was there before */
}

static void a_level_that_changes_again(void **state)
{
    (void)state;
    const struct scene scene = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                                 {"rising", ROW, {POINTER(0), INT(N), INT(LEVELS)}},
                                 {"differences", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect_iterations(&scene, 1, false, 3, 0, 0);
}

static void code_before_the_loop_waits(void **state)
{
    (void)state;
    const struct scene scene = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                                 {"first_level", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect_iterations(&scene, 0, true, 1, 0, 0);
}

static void other_iterations_are_not_joined(void **state)
{
    (void)state;
    const struct scene down = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                                {"downwards", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
                               ARRAYS};
    expect(&down, "", "", 0);
}

static void a_level_that_is_overwritten_later(void **state)
{
    (void)state;
    const struct scene scene = {{{"from_below", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
                                 {"downwards", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect(&scene, "", "", 0);
}

static void a_sum_that_is_needed_before_the_loop(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"column_sum", ROW, {POINTER(0), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}},
         {"column_scale", ROW, {POINTER(3), POINTER(1), POINTER(0), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "", "", 1);
}

static void a_sum_that_is_needed_in_the_loop(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"column_sum", ROW, {POINTER(0), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(3), POINTER(1), POINTER(0), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "", "", 0);
}

static void code_before_and_behind_the_loop(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"column_scale", ROW, {POINTER(1), POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
         {"column_sum", ROW, {POINTER(0), POINTER(3), POINTER(1), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "2", "+", 2);
}

/* The second has no value yet that the first loads behind its loop. */
static void a_load_behind_the_loop(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"column_then_copy", ROW, {POINTER(0), POINTER(1), POINTER(2), POINTER(3), INT(N), INT(LEVELS)}},
         {"column_scale", ROW, {POINTER(4), POINTER(1), POINTER(3), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "2", "+", 1);
}

static void a_member_without_a_loop_comes_last(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(2), POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"surface", ROW, {POINTER(4), POINTER(3), INT(N)}}},
        ARRAYS};
    expect(&scene, "2", "+", 2);
}

static void a_number_of_levels_that_depends_on_data(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"deep_column", ROW, {POINTER(0), POINTER(1), POINTER(4), INT(N)}},
         {"add_column", ROW, {POINTER(2), POINTER(1), POINTER(3), INT(N), INT(LEVELS)}}},
        {{BYTES * 2, 'f'}, {BYTES * 2, 'f'}, {BYTES * 2, 'f'}, {BYTES * 2, 'f'}, {BYTES, 'b'}},
        .module = "loops.ptx"};
    expect(&scene, "", "", 0);
}

static void a_loop_in_the_loop_and_levels_passed_over(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"powers", ROW, {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(3), POINTER(2), POINTER(0), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "3", "+", 2);
}

static void two_loops_each(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"two_loops", ROW, {POINTER(0), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}},
         {"two_loops", ROW, {POINTER(3), POINTER(4), POINTER(1), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "", "", 0); /* the second's first loop reads what the first's second writes */
    const struct scene apart = {
        {{"two_loops", ROW, {POINTER(0), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}},
         {"two_loops", ROW, {POINTER(3), POINTER(4), POINTER(0), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&apart, "2", "++", 1);
}

static void loops_that_nvcc_unrolled(void **state)
{
    (void)state;
    struct scene scene = {{{"double_levels", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                           {"add_levels", ROW, {POINTER(2), POINTER(0), POINTER(1), INT(N), INT(LEVELS)}}},
                          ARRAYS};
    expect(&scene, "2", "++", 10);
    for (int levels = 0; levels < LEVELS; levels++) { /* with and without main loop and rest */
        scene.launches[0].arguments[3].integer = scene.launches[1].arguments[4].integer = levels;
        struct scene_run run;
        scene_open(&run, &scene);
        assert_true(scene_compare(&run, &scene));
        assert_int_equal(run.group->join_count, levels > 0);
        scene_close(&run);
    }
}

static void a_level_that_is_overwritten_is_not_stored(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
         {"add_column", ROW, {POINTER(0), POINTER(0), POINTER(3), INT(N), INT(LEVELS)}},
         {"powers", ROW, {POINTER(0), POINTER(0), INT(N), INT(LEVELS)}}},
        ARRAYS};
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->joins->member_count, 3);
    assert_int_equal(run.group->drop_count, 1); /* powers passes over some levels */
    scene_close(&run);
}

static void unrolled_loops_a_level_apart(void **state)
{
    (void)state;
    for (int levels = 2; levels <= 14; levels++) {
        const struct scene scene = {
            {{"double_levels", ROW, {POINTER(0), POINTER(1), INT(N), INT(levels)}},
             {"level_differences", ROW, {POINTER(2), POINTER(0), INT(N), INT(levels)}}},
            {{BYTES * 2, 'f'}, {BYTES * 2, 'f'}, {BYTES * 2, 'f'}},
            .module = "loops.ptx"};
        struct scene_run run;
        scene_open(&run, &scene);
        assert_true(scene_compare(&run, &scene));
        /* 8: by 4 twice, and by 4 once with a rest of 3 that reads what the second time wrote */
        if (levels == 8 || levels == 12) assert_in_range(run.group->forward_count, 8, 16);
        scene_close(&run);
    }
}

static void blocks_of_other_sizes(void **state)
{
    (void)state;
    struct scene scene = {{{"double_column", ROW, {POINTER(0), POINTER(1), INT(N), INT(LEVELS)}},
                           {"from_below",
                            .grid = {7, 1, 1},
                            .block = {32, 1, 1},
                            {POINTER(2), POINTER(0), INT(N), INT(LEVELS)}},
                           {"add_column",
                            .grid = {3, 1, 1},
                            .block = {96, 1, 1},
                            {POINTER(3), POINTER(0), POINTER(2), INT(N), INT(LEVELS)}}},
                          ARRAYS};
    expect_iterations(&scene, 1, false, 3, 2, 1);
    for (int i = 0; i < 3; i++) { /* of the same trip count, too */
        scene.launches[1] = scene.launches[2];
        scene.launches[1].arguments[1].array = 4;
        struct scene_run run;
        scene_open(&run, &scene);
        assert_true(scene_compare(&run, &scene));
        assert_int_equal(run.group->joins->member_count, 3);
        assert_true(run.group->joins->has_same_trip_count[0]);
        scene_close(&run);
        scene.launches[i].grid[0]++; /* threads that have nothing to do */
    }
}

static void products_of_rows_share_the_vector(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"dot_levels", ROW, {POINTER(0), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}},
         {"dot_levels", ROW, {POINTER(3), POINTER(1), POINTER(4), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, "2", "++", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_passes_in_each_iteration),
        cmocka_unit_test(two_loads_of_one_level_are_one),
        cmocka_unit_test(columns_of_two_lengths),
        cmocka_unit_test(a_level_above_needs_a_shift),
        cmocka_unit_test(the_first_level_is_peeled_off),
        cmocka_unit_test(the_level_below_is_kept),
        cmocka_unit_test(a_level_that_changes_again),
        cmocka_unit_test(code_before_the_loop_waits),
        cmocka_unit_test(other_iterations_are_not_joined),
        cmocka_unit_test(a_level_that_is_overwritten_later),
        cmocka_unit_test(a_sum_that_is_needed_before_the_loop),
        cmocka_unit_test(a_sum_that_is_needed_in_the_loop),
        cmocka_unit_test(code_before_and_behind_the_loop),
        cmocka_unit_test(a_load_behind_the_loop),
        cmocka_unit_test(a_member_without_a_loop_comes_last),
        cmocka_unit_test(a_number_of_levels_that_depends_on_data),
        cmocka_unit_test(a_loop_in_the_loop_and_levels_passed_over),
        cmocka_unit_test(two_loops_each),
        cmocka_unit_test(loops_that_nvcc_unrolled),
        cmocka_unit_test(a_level_that_is_overwritten_is_not_stored),
        cmocka_unit_test(unrolled_loops_a_level_apart),
        cmocka_unit_test(blocks_of_other_sizes),
        cmocka_unit_test(products_of_rows_share_the_vector),
    };
    return cmocka_run_group_tests_name("joined loops", tests, NULL, NULL);
}
