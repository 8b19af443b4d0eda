/* SPDX-License-Identifier: Apache-2.0
 * Small members between large ones: what they copy is read where it was made, what they compute in tiles of
 * their own; the last one that writes an element counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <stdlib.h>
#include <string.h>

enum { NX = 77, NY = 85, BYTES = 4 * (NX + 2) * (NY + 2) };

#define FLOATS                                                                                               \
    {                                                                                                        \
        BYTES, 'f'                                                                                           \
    }
#define FOUR_FLOATS                                                                                          \
    {                                                                                                        \
        FLOATS, FLOATS, FLOATS, FLOATS                                                                       \
    }
#define LARGE(kernel, to, from)                                                                              \
    {                                                                                                        \
        kernel, .grid = {3, 22, 1}, .block = {32, 4, 1},                                                     \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT(NY)                                                     \
        }                                                                                                    \
    }
#define SMALL(kernel, array)                                                                                 \
    {                                                                                                        \
        kernel, .grid = {1, 1, 1}, .block = {128, 1, 1},                                                     \
        {                                                                                                    \
            POINTER(array), INT(NX), INT(NY)                                                                 \
        }                                                                                                    \
    }
#define CORNERS(array)                                                                                       \
    {                                                                                                        \
        "corners", .grid = {1, 1, 1}, .block = {1, 1, 1},                                                    \
        {                                                                                                    \
            POINTER(array), INT(NX), INT(NY)                                                                 \
        }                                                                                                    \
    }
#define SIDES(array)                                                                                         \
    {                                                                                                        \
        "sides", .grid = {1, 1, 1}, .block = {128, 1, 1},                                                    \
        {                                                                                                    \
            POINTER(array), FLOAT(0.25), FLOAT(-3), INT(NX), INT(NY)                                         \
        }                                                                                                    \
    }

/* Compares memory, and how many stages, tiles and served loads the group has. */
static void expect(struct scene scene, uint32_t stages, uint32_t tiles, uint32_t fetches)
{
    struct scene_run run;
    scene.module = "borders.ptx";
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, stages);
    assert_int_equal(run.group->tile_count, tiles);
    assert_int_equal(run.group->fetch_count, fetches);
    scene_close(&run);
}

static void a_border_alone(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1)}, FOUR_FLOATS}, 2, 1, 2);
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("columns", 1)}, FOUR_FLOATS}, 2, 1, 2);
    expect((struct scene){{LARGE("inside", 1, 0), CORNERS(1)}, FOUR_FLOATS}, 2, 1, 4);
}

static void periodic_rows(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), LARGE("around", 2, 1)}, FOUR_FLOATS}, 2,
           1, 7);
}

static void periodic_columns(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("columns", 1), LARGE("around", 2, 1)}, FOUR_FLOATS},
           2, 1, 7);
}

static void rows_and_columns(void **state)
{
    (void)state;
    expect(
        (struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("columns", 1), LARGE("around", 2, 1)},
                       FOUR_FLOATS},
        2, 1, 9);
}

static void a_whole_border(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("columns", 1), CORNERS(1),
                           LARGE("around", 2, 1), LARGE("diagonals", 3, 1)},
                          FOUR_FLOATS},
           2, 1, 17);
}

enum { WIDE = 301, WIDE_BYTES = 4 * (WIDE + 2) * (NY + 2) };

/* Every stage has an interior; sparse: so many of them have cells beyond their dense border that run. */
static void expect_interior(struct scene scene, uint32_t sparse)
{
    struct scene_run run;
    scene.module = "borders.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    struct codegen_request request = {.group = run.group, .name = "fused", .sm = 90};
    struct codegen_result result;
    codegen_write(&request, &result);
    assert_non_null(result.source);
    assert_true(!result.may_contract || getenv("KFUSE_TEST_CONTRACTED"));
    for (uint32_t s = 0; s < run.group->stage_count; s++) /* what contracts is counted */
        assert_int_equal(result.has_interior[s], !result.may_contract);
    for (uint32_t m = 0; m < run.group->member_count; m++) sparse -= run.group->remaps[m].sparse != NULL;
    assert_int_equal(sparse, 0);
    codegen_result_clear(&result);
    scene_close(&run);
}

/* What rows and columns at the launch's edges need are few cells: most blocks have none of them. */
static void interior_blocks(void **state)
{
    (void)state;
    expect_interior(
        (struct scene){{LARGE("inside_sum", 1, 0), SMALL("rows", 1), LARGE("around_sum", 2, 1)}, FOUR_FLOATS},
        0);
    expect_interior(
        (struct scene){{LARGE("inside_sum", 1, 0), SMALL("columns", 1), LARGE("around_sum", 2, 1)},
                       FOUR_FLOATS},
        0);
    expect_interior((struct scene){{LARGE("inside_sum", 1, 0), SMALL("rows", 1), SMALL("columns", 1),
                                    LARGE("around_sum", 2, 1), LARGE("around_sum", 3, 2)},
                                   FOUR_FLOATS},
                    0);
}

#define WIDE_LARGE(kernel, to, from)                                                                         \
    {                                                                                                        \
        kernel, .grid = {10, 22, 1}, .block = {32, 4, 1},                                                    \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(WIDE), INT(NY)                                                   \
        }                                                                                                    \
    }
#define WIDE_SMALL(kernel, array)                                                                            \
    {                                                                                                        \
        kernel, .grid = {3, 1, 1}, .block = {128, 1, 1},                                                     \
        {                                                                                                    \
            POINTER(array), INT(WIDE), INT(NY)                                                               \
        }                                                                                                    \
    }
#define FOUR_WIDE                                                                                            \
    {                                                                                                        \
        {WIDE_BYTES, 'f'}, {WIDE_BYTES, 'f'}, {WIDE_BYTES, 'f'},                                             \
        {                                                                                                    \
            WIDE_BYTES, 'f'                                                                                  \
        }                                                                                                    \
    }

/* Blocks that have cells beyond the dense border are at edges, and those of the others end with it. */
static void interior_blocks_of_sparse_borders(void **state)
{
    (void)state;
    expect_interior((struct scene){{WIDE_LARGE("inside_sum", 1, 0), WIDE_SMALL("rows", 1)}, FOUR_WIDE}, 1);
    expect_interior((struct scene){{WIDE_LARGE("inside_sum", 1, 0), WIDE_SMALL("columns", 1)}, FOUR_WIDE}, 1);
    expect_interior((struct scene){{WIDE_LARGE("inside_sum", 1, 0), WIDE_LARGE("around_sum", 2, 1),
                                    WIDE_SMALL("rows", 2), WIDE_SMALL("columns", 2)},
                                   FOUR_WIDE},
                    2);
}

/* A member none of whose threads does anything. */
static void a_border_of_nothing(void **state)
{
    (void)state;
    struct scene_launch nothing = SMALL("rows", 1);
    nothing.arguments[1].integer = 0;
    expect((struct scene){{LARGE("inside", 1, 0), nothing, LARGE("around", 2, 1)}, FOUR_FLOATS}, 2, 1, 5);
}

/* Another order of the small ones. */
static void corners_first(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), CORNERS(1), SMALL("columns", 1), SMALL("rows", 1),
                           LARGE("diagonals", 2, 1)},
                          FOUR_FLOATS},
           2, 1, 12);
}

static void copies_of_copies(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("long_columns", 1),
                           LARGE("diagonals", 2, 1)},
                          FOUR_FLOATS},
           2, 1, 8);
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("columns", 1), SMALL("long_rows", 1),
                           LARGE("diagonals", 2, 1)},
                          FOUR_FLOATS},
           2, 1, 8);
}

/* A border that is computed has tiles of its own. */
static void walls_and_sides(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("walls", 1), LARGE("around", 2, 1)}, FOUR_FLOATS}, 3,
           3, 13);
    expect((struct scene){{LARGE("inside", 1, 0), SIDES(1), LARGE("around", 2, 1)}, FOUR_FLOATS}, 3, 3, 7);
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("walls", 1), SIDES(1), LARGE("around", 2, 1)},
                          FOUR_FLOATS},
           4, 5, 15);
}

/* Of what only copies read from afar few cells run in a border, and of what those read the dense border and
 * few cells beyond it. */
static void few_cells_are_sparse(void **state)
{
    (void)state;
    struct scene scene = {
        {LARGE("inside", 1, 0), LARGE("around", 2, 1), SMALL("rows", 2), SMALL("columns", 2)},
        FOUR_FLOATS,
        .module = "borders.ptx"};
    struct scene_run run;
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 3);
    const struct group_stage *inside = &run.group->stages[0], *around = &run.group->stages[1];
    for (int d = 0; d < 2; d++) {
        assert_int_equal(around->dense_low[d] + around->dense_high[d], 0);
        assert_int_equal(inside->dense_low[d], 1);
        assert_int_equal(inside->dense_high[d], 1);
        assert_true(around->low[d] + around->high[d] > 0);
        assert_true(inside->low[d] + inside->high[d] > 2);
    }
    assert_true(around->sparse > 0 && around->sparse < 0.2);
    assert_non_null(run.group->remaps[0].sparse);
    assert_non_null(run.group->remaps[1].sparse);
    scene_close(&run);
}

/* What few cells need in their own place runs where these do. */
static void few_cells_need_the_same(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0),
                           {"crest",
                            .grid = {3, 22, 1},
                            .block = {32, 4, 1},
                            {POINTER(2), POINTER(1), POINTER(0), INT(NX), INT(NY)}},
                           SMALL("rows", 2),
                           LARGE("around", 3, 2)},
                          FOUR_FLOATS},
           3, 2, 8);
}

/* What has a border before the first large member is read from memory by those that copy. */
static void a_border_at_first(void **state)
{
    (void)state;
    expect((struct scene){{SMALL("rows", 0), SMALL("columns", 0), LARGE("around", 1, 0)}, FOUR_FLOATS}, 3, 4,
           4);
}

static void two_steps(void **state)
{
    (void)state;
    expect(
        (struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("columns", 1), LARGE("around", 2, 1),
                        SMALL("rows", 2), SMALL("columns", 2), LARGE("around", 3, 2)},
                       FOUR_FLOATS},
        4, 2, 18);
}

static void the_last_writer_counts(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("first_row", 1), LARGE("around", 2, 1)}, FOUR_FLOATS},
           3, 2, 9);
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("last_row", 1), LARGE("around", 2, 1)}, FOUR_FLOATS},
           2, 1, 10);
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("first_row", 1),
                           LARGE("around", 2, 1)},
                          FOUR_FLOATS},
           4, 2, 11);
}

static void expect_renamed(struct scene scene, uint32_t stages)
{
    struct scene_run run;
    scene.module = "borders.ptx";
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, stages);
    assert_int_equal(run.group->rename_count, 1);
    assert_false(run.group->renames[0].is_partial);
    scene_close(&run);
}

/* A step of a program in time: the state, with its border, is written for the next step while others still
 * read it. */
static void a_state_that_is_renamed(void **state)
{
    (void)state;
    expect_renamed(
        (struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("columns", 1), LARGE("around", 2, 1),
                        LARGE("take", 0, 2), SMALL("rows", 0), SMALL("columns", 0), CORNERS(0)},
                       FOUR_FLOATS},
        5);
    expect_renamed((struct scene){{LARGE("inside", 1, 0), SMALL("rows", 1), SMALL("columns", 1), CORNERS(1),
                                   LARGE("diagonals", 2, 1), LARGE("take", 0, 2), CORNERS(0),
                                   SMALL("rows", 0), SMALL("columns", 0)},
                                  FOUR_FLOATS},
                   5);
}

/* --- what is refused --- */

static void what_data_decide(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("some_rows", 1), LARGE("around", 2, 1)}, FOUR_FLOATS},
           3, 2, 7);
    expect((struct scene){{LARGE("inside_sum", 1, 0), SMALL("some_rows", 1),
                           LARGE("around_sum", 2, 1)}, /* has interior blocks */
                          FOUR_FLOATS},
           3, 2, 7);
}

/* What was not stored is in memory where the copy was to be made. */
static void copies_of_what_data_decide(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside_where", 1, 0), SMALL("rows", 1), LARGE("around_sum", 2, 1)},
                          FOUR_FLOATS},
           3, 3, 11);
}

/* One thread writes elements of two cells that lie far apart again. */
static void another_cell_writes_again(void **state)
{
    (void)state;
    expect((struct scene){{LARGE("inside", 1, 0), SMALL("both_rows", 1), LARGE("around", 2, 1)}, FOUR_FLOATS},
           3, 3, 13);
}

/* The first one's corner is read before the second one writes it, so that it must be in memory. */
static void a_corner_that_is_read_between(void **state)
{
    (void)state;
    struct scene scene = {{SMALL("first_row", 3),
                           LARGE("inside_sum", 1, 0),
                           LARGE("around_sum", 2, 1),
                           {"crest",
                            .grid = {3, 22, 1},
                            .block = {32, 4, 1},
                            {POINTER(4), POINTER(3), POINTER(0), INT(NX), INT(NY)}},
                           SMALL("first_column", 3)},
                          {FLOATS, FLOATS, FLOATS, FLOATS, FLOATS}};
    struct scene_run run;
    scene.module = "borders.ptx";
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    if (!strstr(run.group->refusal, "it is overwritten in place, from another cell"))
        fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_border_alone),
        cmocka_unit_test(interior_blocks),
        cmocka_unit_test(interior_blocks_of_sparse_borders),
        cmocka_unit_test(periodic_rows),
        cmocka_unit_test(periodic_columns),
        cmocka_unit_test(rows_and_columns),
        cmocka_unit_test(a_whole_border),
        cmocka_unit_test(corners_first),
        cmocka_unit_test(a_border_of_nothing),
        cmocka_unit_test(copies_of_copies),
        cmocka_unit_test(walls_and_sides),
        cmocka_unit_test(a_border_at_first),
        cmocka_unit_test(two_steps),
        cmocka_unit_test(few_cells_are_sparse),
        cmocka_unit_test(few_cells_need_the_same),
        cmocka_unit_test(the_last_writer_counts),
        cmocka_unit_test(what_data_decide),
        cmocka_unit_test(copies_of_what_data_decide),
        cmocka_unit_test(a_state_that_is_renamed),
        cmocka_unit_test(another_cell_writes_again),
        cmocka_unit_test(a_corner_that_is_read_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
