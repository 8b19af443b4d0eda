/* SPDX-License-Identifier: Apache-2.0
 * Joined loops of kernels whose threads meet, in blocks or warps: a matrix is read once for several sums, the
 * results are the originals' bits, and no thread waits for one that does not come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 192, LEVELS = 11, BYTES = 4 * N * (LEVELS + 1) };

#define SHAPE .grid = {3, 1, 1}, .block = {64, 1, 1}
#define FLOATS                                                                                               \
    {                                                                                                        \
        BYTES, 'f'                                                                                           \
    }
#define ARRAYS {FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS}, .module = "tiles.ptx"
#define MATRIX POINTER(0)

/* joins: members of each join, one digit a join; trips: of the first join's loops, + where the members
 * iterate equally often; barriers: before which members, one digit each; why: part of the reason why the last
 * member's loops are not joined, NULL: they are */
struct expected {
    const char *joins, *trips, *barriers, *why;
    uint32_t forwards;
};

static void expect(const struct scene *scene, struct expected expected)
{
    struct scene_run run;
    char joins[16] = "", trips[16] = "", barriers[16] = "";
    scene_open(&run, scene);
    assert_true(scene_compare(&run, scene));
    const struct group *group = run.group;
    for (uint32_t i = 0; i < group->join_count; i++) joins[i] = (char)('0' + group->joins[i].member_count);
    for (uint32_t l = 0; group->join_count && l < group->joins->loop_count; l++)
        trips[l] = group->joins->has_same_trip_count[l] ? '+' : '-';
    for (uint32_t m = 0; m < group->member_count; m++)
        if (group->barriers[m]) barriers[strlen(barriers)] = (char)('0' + m);
    assert_string_equal(joins, expected.joins);
    assert_string_equal(trips, expected.trips);
    assert_string_equal(barriers, expected.barriers);
    assert_int_equal(group->forward_count, expected.forwards);
    const char *why = group->unjoined[group->member_count - 1];
    if (!expected.why)
        assert_null(why);
    else if (!why || !strstr(why, expected.why))
        fail_msg("not joined: %s", why ? why : "(joined)");
    scene_close(&run);
}

/* --- joined */

static void a_matrix_is_read_once_for_two_products(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"row_sums", SHAPE, {POINTER(1), MATRIX, POINTER(2), INT(N), INT(LEVELS)}},
         {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, (struct expected){"2", "+", "", NULL, 1});
}

static void a_register_that_changes_is_copied(void **state)
{
    (void)state;
    struct scene scene = {{{"double_rows", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                           {"double_rows", SHAPE, {POINTER(2), MATRIX, INT(N), INT(LEVELS)}}},
                          ARRAYS};
    for (int changes = 0; changes < 2; changes++) {
        struct scene_run run;
        if (changes) scene.launches[0].kernel = "changed_rows";
        scene_open(&run, &scene);
        assert_true(scene_compare(&run, &scene));
        assert_int_equal(run.group->forward_count, 1);
        assert_int_equal(run.group->forwards->in_place, !changes);
        scene_close(&run);
    }
}

static void shared_arrays_lie_side_by_side(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"scaled_columns", SHAPE, {POINTER(1), MATRIX, POINTER(2), INT(N), INT(LEVELS)}},
         {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}},
         {"scaled_columns", SHAPE, {POINTER(5), MATRIX, POINTER(4), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, (struct expected){"3", "+", "", NULL, 2});
}

static void a_join_has_what_others_had(void **state)
{
    (void)state;
    struct scene scene = {{{"turned_rows", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                           {"double_rows", SHAPE, {POINTER(2), MATRIX, INT(N), INT(LEVELS)}},
                           {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}},
                           {"turned_rows", SHAPE, {POINTER(5), MATRIX, INT(N), INT(LEVELS)}}},
                          ARRAYS};
    expect(&scene, (struct expected){"2", "+", "13", "the block meets in the loop", 1});
}

static void a_warp_meets_behind_loops_of_other_lengths(void **state)
{
    (void)state;
    struct scene scene = {{{"warp_sums", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                           {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS - 4)}}},
                          ARRAYS};
    expect(&scene, (struct expected){"2", "-", "", NULL, 1});
    for (int levels = 0; levels < 3; levels++) {
        scene.launches[0].arguments[3].integer = levels;
        struct scene_run run;
        scene_open(&run, &scene);
        assert_true(scene_compare(&run, &scene));
        scene_close(&run);
    }
}

static void a_loop_with_barriers_is_code_behind_the_join(void **state)
{
    (void)state;
    const struct scene scene = {{{"block_sums", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                                 {"row_sums", SHAPE, {POINTER(2), MATRIX, POINTER(3), INT(N), INT(LEVELS)}},
                                 {"block_sums", SHAPE, {POINTER(4), MATRIX, INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect(&scene, (struct expected){"3", "+", "", NULL, 2});
}

static void threads_of_a_warp_come_by_different_ways(void **state)
{
    (void)state;
    struct scene scene = {{{"some_columns", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                           {"some_warp_sums", SHAPE, {POINTER(2), MATRIX, INT(N), INT(LEVELS)}},
                           {"some_columns", SHAPE, {POINTER(3), MATRIX, INT(N), INT(LEVELS)}}},
                          ARRAYS};
    expect(&scene, (struct expected){"3", "+", "", NULL, 4});
    scene.launches[1].arguments[3].integer = LEVELS - 3;
    expect(&scene, (struct expected){"3", "-", "", NULL, 4});
}

static void some_blocks_have_no_thread_of_a_member(void **state)
{
    (void)state;
    struct scene scene = {{{"column_sums", SHAPE, {POINTER(1), MATRIX, POINTER(4), INT(N), INT(LEVELS)}},
                           {"scaled_columns", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}}},
                          ARRAYS};
    scene.launches[1].grid[0] = 2;
    expect(&scene, (struct expected){"2", "-", "", NULL, 1});
}

static void a_join_ends_with_a_loop(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"double_rows", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
         {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}},
         {"half_row", .grid = {4, 1, 1}, .block = {32, 1, 1}, {POINTER(2), POINTER(4), INT(100)}}},
        ARRAYS};
    expect(&scene, (struct expected){"2", "+", "", NULL, 1});
}

static void a_member_without_a_loop_comes_first(void **state)
{
    (void)state;
    struct scene scene = {
        {{"double_rows", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
         {"half_row", .grid = {4, 1, 1}, .block = {32, 1, 1}, {POINTER(2), POINTER(4), INT(100)}},
         {"scaled_columns", SHAPE, {POINTER(3), POINTER(1), POINTER(2), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, (struct expected){"3", "+", "", NULL, 1});
    scene.launches[1].arguments[1].array = 1; /* what the loop before it makes: it must come behind */
    expect(&scene, (struct expected){"", "", "", NULL, 0});
    scene.launches[1].arguments[1].array = 4;
    scene.launches[2] = (struct scene_launch){0};
    expect(&scene, (struct expected){"", "", "", NULL, 0});
}

/* --- not joined */

static void a_warp_meets_in_loops_of_other_lengths(void **state)
{
    (void)state;
    struct scene scene = {{{"row_sums", SHAPE, {POINTER(1), MATRIX, POINTER(2), INT(N), INT(LEVELS)}},
                           {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS - 1)}}},
                          ARRAYS};
    const struct expected unequal = {"", "", "", "a warp meets in the loop", 0};
    expect(&scene, unequal);
    scene.launches[0].kernel = "steep_row_sums";
    expect(&scene, unequal);
    scene.launches[1] =
        (struct scene_launch){"steep_row_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}};
    scene.launches[0].arguments[4].integer = LEVELS;
    expect(&scene, (struct expected){"2", "+", "", NULL, 1});
}

static void a_block_that_meets_before_its_loop_does_not_wait(void **state)
{
    (void)state;
    const struct scene scene = {{{"double_rows", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                                 {"first_row", SHAPE, {POINTER(2), POINTER(1), INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect(&scene, (struct expected){"", "", "", "would have to wait for the first iteration", 0});
}

static void warps_that_leave_before_a_barrier_are_not_joined(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"parted_sums", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
         {"column_sums", SHAPE, {POINTER(3), MATRIX, POINTER(4), INT(N), INT(LEVELS)}}},
        ARRAYS};
    expect(&scene, (struct expected){"", "", "", "may leave before a barrier", 0});
}

static void more_shared_memory_than_there_is(void **state)
{
    (void)state;
    const struct scene scene = {{{"wide_sums", SHAPE, {POINTER(1), MATRIX, INT(N), INT(LEVELS)}},
                                 {"wide_sums", SHAPE, {POINTER(2), MATRIX, INT(N), INT(LEVELS)}}},
                                ARRAYS};
    expect(&scene, (struct expected){"", "", "1", "bytes of shared memory at a time", 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_is_read_once_for_two_products),
        cmocka_unit_test(a_register_that_changes_is_copied),
        cmocka_unit_test(shared_arrays_lie_side_by_side),
        cmocka_unit_test(a_join_has_what_others_had),
        cmocka_unit_test(a_warp_meets_behind_loops_of_other_lengths),
        cmocka_unit_test(a_loop_with_barriers_is_code_behind_the_join),
        cmocka_unit_test(threads_of_a_warp_come_by_different_ways),
        cmocka_unit_test(some_blocks_have_no_thread_of_a_member),
        cmocka_unit_test(a_join_ends_with_a_loop),
        cmocka_unit_test(a_member_without_a_loop_comes_first),
        cmocka_unit_test(a_warp_meets_in_loops_of_other_lengths),
        cmocka_unit_test(a_block_that_meets_before_its_loop_does_not_wait),
        cmocka_unit_test(warps_that_leave_before_a_barrier_are_not_joined),
        cmocka_unit_test(more_shared_memory_than_there_is),
    };
    return cmocka_run_group_tests_name("tiles", tests, NULL, NULL);
}
