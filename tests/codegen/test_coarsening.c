/* SPDX-License-Identifier: Apache-2.0
 * Block coarsening: a fused block that runs several of a member's threads, or blocks, for each of its own:
 * which box of cells, in how many passes, and that the results are the originals' bits, under every order of
 * threads and without a race. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <stdio.h>
#include <string.h>

#define FLOATS(count)                                                                                        \
    {                                                                                                        \
        4 * (count), 'f'                                                                                     \
    }
#define ARRAYS(count)         {FLOATS(count), FLOATS(count), FLOATS(count), FLOATS(count)}, .module = "coarsening.ptx"
#define LINE(blocks, threads) .grid = {blocks, 1, 1}, .block = {threads, 1, 1}
#define PLANE(x, y, tx, ty)   .grid = {x, y, 1}, .block = {tx, ty, 1}

struct expected { /* of the one member that is coarsened */
    uint32_t member, box[3], passes;
    bool of_blocks;
    uint32_t tile_loads; /* served from block tiles */
};

static void expect(const struct scene *scene, struct expected expected)
{
    struct scene_run run;
    struct expected found;
    memset(&found, 0, sizeof found);
    scene_open(&run, scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, scene));
    for (uint32_t m = 0; m < run.group->member_count; m++) {
        const struct remap *remap = &run.group->remaps[m];
        if (remap->kind != REMAP_COARSENED) continue;
        found.member = m;
        memcpy(found.box, remap->coarsening->box, sizeof found.box);
        found.passes = remap->coarsening->passes;
        found.of_blocks = remap->coarsening->of_blocks;
    }
    for (uint32_t i = 0; i < run.group->tile_access_count; i++) {
        const struct group_tile_access *tiled = &run.group->tile_accesses[i];
        const struct ptx_function *function = run.group->members[tiled->member].summary->function;
        found.tile_loads += ptx_is_load(&function->instructions[tiled->instruction]);
    }
    bool is_same = found.member == expected.member && !memcmp(found.box, expected.box, sizeof found.box) &&
                   found.passes == expected.passes && found.of_blocks == expected.of_blocks &&
                   found.tile_loads == expected.tile_loads;
    if (!is_same)
        fail_msg("member %u, %ux%ux%u %s, %u passes, %u loads from tiles; not %u, %ux%ux%u %s, %u, %u",
                 found.member, found.box[0], found.box[1], found.box[2],
                 found.of_blocks ? "blocks" : "threads", found.passes, found.tile_loads, expected.member,
                 expected.box[0], expected.box[1], expected.box[2], expected.of_blocks ? "blocks" : "threads",
                 expected.passes, expected.tile_loads);
    scene_close(&run);
}

static void expect_refusal(const struct scene *scene)
{
    struct scene_run run;
    scene_open(&run, scene);
    assert_non_null(run.group->refusal);
    scene_close(&run);
}

/* --- lines */

static void a_thread_has_four(void **state)
{
    (void)state;
    const struct scene scene = {{{"four", LINE(4, 64), {POINTER(1), POINTER(0), INT(200)}},
                                 {"one", LINE(7, 128), {POINTER(2), POINTER(1), INT(799)}}},
                                ARRAYS(1024)};
    expect(&scene, (struct expected){0, {32, 1, 1}, 1, false, 1});
}

static void four_threads_for_one(void **state)
{
    (void)state;
    const struct scene scene = {{{"one", LINE(4, 256), {POINTER(1), POINTER(0), INT(1001)}},
                                 {"four", LINE(4, 64), {POINTER(2), POINTER(1), INT(250)}}},
                                ARRAYS(1024)};
    expect(&scene, (struct expected){1, {64, 1, 1}, 1, false, 1});
}

static void four_are_apart(void **state)
{
    (void)state;
    const struct scene scene = {{{"four_apart", LINE(3, 64), {POINTER(1), POINTER(0), INT(350)}},
                                 {"one_in_place", LINE(3, 128), {POINTER(1), INT(350)}}},
                                ARRAYS(1024)};
    expect(&scene, (struct expected){1, {256, 1, 1}, 4, false, 1});
}

static void cells_count_down(void **state)
{
    (void)state;
    const struct scene scene = {{{"four_apart", LINE(3, 64), {POINTER(1), POINTER(0), INT(350)}},
                                 {"backwards", LINE(3, 128), {POINTER(2), POINTER(1), INT(350)}}},
                                ARRAYS(1024)};
    expect(&scene, (struct expected){1, {256, 1, 1}, 4, false, 1});
}

static void a_neighbour_of_another_block(void **state)
{
    (void)state;
    const struct scene scene = {{{"four_apart", LINE(3, 64), {POINTER(1), POINTER(0), INT(350)}},
                                 {"next", LINE(3, 128), {POINTER(2), POINTER(1), INT(350)}}},
                                ARRAYS(1024)};
    expect_refusal(&scene);
}

/* Elements that nobody writes are read where they always were. */
static void some_are_written(void **state)
{
    (void)state;
    const struct scene scene = {{{"four_apart", LINE(3, 64), {POINTER(1), POINTER(0), INT(300)}},
                                 {"one", LINE(3, 128), {POINTER(2), POINTER(1), INT(350)}}},
                                ARRAYS(1024)};
    expect(&scene, (struct expected){1, {256, 1, 1}, 4, false, 0});
}

/* --- planes */

enum { W = 50, H = 37 };

static void a_tile_for_a_plane(void **state)
{
    (void)state;
    const struct scene scene = {{{"turned", PLANE(4, 3, 16, 4), {POINTER(1), POINTER(0), INT(W), INT(H)}},
                                 {"plane", PLANE(2, 7, 32, 8), {POINTER(2), POINTER(1), INT(H), INT(W)}}},
                                ARRAYS(W * H)};
    expect(&scene, (struct expected){1, {16, 16, 1}, 4, false, 1});
}

static void a_tile_for_a_line(void **state)
{
    (void)state;
    const struct scene scene = {{{"turned", PLANE(4, 3, 16, 4), {POINTER(1), POINTER(0), INT(W), INT(H)}},
                                 {"one", LINE(15, 128), {POINTER(2), POINTER(1), INT(W * H)}}},
                                ARRAYS(W * H)};
    expect(&scene, (struct expected){1, {16, 16, 1}, 4, false, 1});
}

/* The line ends inside a row: behind it lie elements, but no threads. */
static void a_row_that_is_not_full(void **state)
{
    (void)state;
    const struct scene scene = {{{"turned", PLANE(4, 2, 16, 4), {POINTER(1), POINTER(0), INT(W), INT(20)}},
                                 {"each", LINE(7, 128), {POINTER(2), POINTER(1)}}},
                                ARRAYS(W * 20)};
    expect(&scene, (struct expected){1, {16, 16, 1}, 4, false, 1});
}

static void a_line_for_a_tile(void **state)
{
    (void)state;
    const struct scene scene = {{{"one", LINE(15, 128), {POINTER(1), POINTER(0), INT(W * H)}},
                                 {"turned", PLANE(4, 3, 16, 4), {POINTER(2), POINTER(1), INT(W), INT(H)}}},
                                ARRAYS(W * H)};
    expect(&scene, (struct expected){0, {16, 16, 1}, 4, false, 4});
}

static void layers_of_a_line(void **state)
{
    (void)state;
    const struct scene scene = {
        {{"column", PLANE(4, 3, 16, 8), {POINTER(1), POINTER(0), INT(W), INT(20), INT(3)}},
         {"one", LINE(24, 128), {POINTER(2), POINTER(1), INT(W * 20 * 3)}}},
        ARRAYS(24 * 128)};
    expect(&scene, (struct expected){1, {16, 8, 3}, 3, false, 1});
}

enum { PITCH = (1 << 19) + 64, ROWS = 4 };
#define STARTS(blocks, size)                                                                                 \
    {                                                                                                        \
        {{"row_starts", LINE(blocks, 32), {POINTER(0), INT(PITCH), INT(ROWS)}},                              \
         {"starts", LINE((PITCH * ROWS + 255) / 256, 256), {POINTER(0), INT(PITCH), INT(PITCH * ROWS)}}},    \
            ARRAYS(size)                                                                                     \
    }

/* Blocks that have no row would count their cells beyond 32 bits. */
static void as_many_cells_as_can_be_counted(void **state)
{
    (void)state;
    const struct scene few = STARTS(2050, PITCH * ROWS), many = STARTS(8196, PITCH * ROWS);
    struct scene_run run;
    scene_open(&run, &few);
    assert_null(run.group->refusal);
    assert_int_equal(run.group->remaps[1].kind, REMAP_COARSENED);
    scene_close(&run);
    scene_open(&run, &many);
    assert_null(run.group->refusal);
    assert_int_not_equal(run.group->remaps[1].kind, REMAP_COARSENED);
    scene_close(&run);
}

/* --- blocks */

static void blocks_for_a_sum(void **state)
{
    (void)state;
    const struct scene scene = {{{"mirrored", LINE(11, 64), {POINTER(1), POINTER(0), INT(700)}},
                                 {"summed", LINE(3, 64), {POINTER(2), POINTER(1), INT(700)}}},
                                ARRAYS(768)};
    expect(&scene, (struct expected){0, {4, 1, 1}, 4, true, 4});
}

static void threads_leave_the_blocks(void **state)
{
    (void)state;
    const struct scene scene = {{{"mirrored_early", LINE(11, 64), {POINTER(1), POINTER(0), INT(704)}},
                                 {"summed", LINE(3, 64), {POINTER(2), POINTER(1), INT(704)}}},
                                ARRAYS(768)};
    expect(&scene, (struct expected){0, {4, 1, 1}, 4, true, 4});
}

static void threads_for_a_sum(void **state)
{
    (void)state;
    const struct scene scene = {{{"one", LINE(6, 128), {POINTER(1), POINTER(0), INT(700)}},
                                 {"summed", LINE(3, 64), {POINTER(2), POINTER(1), INT(700)}}},
                                ARRAYS(768)};
    expect(&scene, (struct expected){0, {256, 1, 1}, 4, false, 4});
}

static void a_sum_between(void **state)
{
    (void)state;
    const struct scene scene = {{{"one", LINE(6, 128), {POINTER(1), POINTER(0), INT(700)}},
                                 {"summed", LINE(3, 64), {POINTER(2), POINTER(1), INT(700)}},
                                 {"every_other", LINE(6, 128), {POINTER(3), POINTER(1), INT(700)}}},
                                ARRAYS(768)};
    struct scene_run run;
    scene_open(&run, &scene);
    assert_null(run.group->refusal);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->remaps[0].kind, REMAP_COARSENED);
    assert_int_equal(run.group->remaps[2].kind, REMAP_COARSENED);
    assert_int_equal(run.group->remaps[2].coarsening->passes, 4);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_four),
        cmocka_unit_test(four_threads_for_one),
        cmocka_unit_test(four_are_apart),
        cmocka_unit_test(cells_count_down),
        cmocka_unit_test(a_neighbour_of_another_block),
        cmocka_unit_test(some_are_written),
        cmocka_unit_test(a_tile_for_a_plane),
        cmocka_unit_test(a_tile_for_a_line),
        cmocka_unit_test(a_row_that_is_not_full),
        cmocka_unit_test(a_line_for_a_tile),
        cmocka_unit_test(layers_of_a_line),
        cmocka_unit_test(as_many_cells_as_can_be_counted),
        cmocka_unit_test(blocks_for_a_sum),
        cmocka_unit_test(threads_leave_the_blocks),
        cmocka_unit_test(threads_for_a_sum),
        cmocka_unit_test(a_sum_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
