/* SPDX-License-Identifier: Apache-2.0
 * Launches in blocks of their own: of other sizes and shapes, with blocks that stay whole; and which are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/codegen/scene.h"

enum { NX = 37 };

#define SIX_FLOATS                                                                                           \
    {                                                                                                        \
        SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS                   \
    }
#define FIVE(count, threads, to, from)                                                                       \
    {                                                                                                        \
        "five", .grid = {((count) + (threads)-1) / (threads), 1, 1}, .block = {threads, 1, 1},               \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT((count) / NX)                                           \
        }                                                                                                    \
    }
/* A sum of each block of a kernel of shared memory, written from a place on. */
#define SUMS(kernel, blocks, threads, to, at, from, levels)                                                  \
    {                                                                                                        \
        kernel, .grid = {blocks, 1, 1}, .block = {threads, 1, 1},                                            \
        {                                                                                                    \
            POINTER_AT(to, at), POINTER(from), INT((blocks) * (threads)), INT(levels)                        \
        }                                                                                                    \
    }

struct expected {
    uint32_t threads, blocks;
    uint32_t firsts[SCENE_LAUNCHES];
};

static void expect(struct scene scene, struct expected expected)
{
    struct scene_run run;
    scene.inter_block = true;
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_int_equal(group_kind(run.group), GROUP_INTER_BLOCK);
    assert_int_equal(run.group->block[0], expected.threads);
    assert_int_equal(run.group->grid[0], expected.blocks);
    for (uint32_t m = 0; m < run.group->member_count; m++)
        assert_int_equal(run.group->remaps[m].first_block, expected.firsts[m]);
    assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void expect_none(struct scene scene, const char *why)
{
    struct scene_run run;
    scene.inter_block = true;
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    if (!strstr(run.group->refusal, why)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

/* Those of few blocks come first; what does not fill its last block ends there. */
static void threads_are_numbered_through(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(NX * 100, 128, 1, 0), FIVE(NX * 10, 96, 2, 0),
                                       FIVE(NX * 30, 160, 3, 0), FIVE(NX, 32, 4, 3 - 3)},
                          .arrays = SIX_FLOATS,
                          .module = "rows.ptx"},
           (struct expected){128, 29 + 3 + 9 + 1, {13, 1, 4, 0}});
}

static void shapes_differ(void **state)
{
    (void)state;
    struct scene scene = {
        .launches =
            {{"down", .grid = {5, 7, 1}, .block = {16, 16, 1}, {POINTER(1), POINTER(0), INT(70), INT(110)}},
             {"down", .grid = {1, 10, 1}, .block = {70, 2, 1}, {POINTER(2), POINTER(0), INT(70), INT(21)}},
             {"scale", .grid = {9, 1, 1}, .block = {64, 1, 1}, {POINTER(3), POINTER(4), INT(550)}}},
        .module = "stencils.ptx"};
    for (int i = 0; i < 6; i++) scene.arrays[i] = (struct scene_array){SCENE_ARRAY_BYTES, i < 3 ? 'd' : 'f'};
    expect(scene, (struct expected){256, 35 + 6 + 3, {9, 3, 0}});
}

/* With barriers, and shared memory that lies where others' does. */
static void blocks_stay_whole(void **state)
{
    (void)state;
    expect((struct scene){.launches = {SUMS("block_sums", 20, 64, 1, 0, 0, 3),
                                       SUMS("turned_rows", 5, 64, 2, 0, 0, 2),
                                       {"half_row",
                                        .grid = {7, 1, 1},
                                        .block = {100, 1, 1},
                                        {POINTER(3), POINTER(0), INT(680)}},
                                       SUMS("block_sums", 9, 32, 4, 0, 0, 2),
                                       SUMS("some_warp_sums", 3, 64, 5, 0, 0, 3)},
                          .arrays = SIX_FLOATS,
                          .module = "tiles.ptx"},
           (struct expected){64, 20 + 5 + 11 + 9 + 3, {28, 3, 17, 8, 0}});
}

/* Beside a block of one warp, a large launch keeps blocks of its size. */
static void large_launches_keep_their_blocks(void **state)
{
    (void)state;
    expect((struct scene){.launches = {{"half_row",
                                        .grid = {20, 1, 1},
                                        .block = {256, 1, 1},
                                        {POINTER(3), POINTER(0), INT(5000)}},
                                       SUMS("some_warp_sums", 1, 32, 5, 0, 0, 3),
                                       SUMS("block_sums", 2, 64, 1, 0, 0, 3)},
                          .arrays = SIX_FLOATS,
                          .module = "tiles.ptx"},
           (struct expected){256, 23, {3, 0, 1}});
}

/* Parts of one array that do not meet. */
static void parts_are_apart(void **state)
{
    (void)state;
    expect((struct scene){.launches = {SUMS("block_sums", 8, 64, 1, 0, 0, 2),
                                       SUMS("block_sums", 8, 64, 1, 32, 0, 3)},
                          .arrays = SIX_FLOATS,
                          .module = "tiles.ptx"},
           (struct expected){64, 16, {0, 8}});
}

static void what_meets_is_refused(void **state)
{
    (void)state;
    /* what one thread writes and reads again; one byte of what is written; what is read before it is written */
    expect_none((struct scene){.launches = {FIVE(NX * 9, 128, 1, 0), FIVE(NX * 9, 128, 2, 1)},
                               .arrays = SIX_FLOATS,
                               .module = "rows.ptx"},
                "blocks have no order");
    expect_none((struct scene){.launches = {SUMS("block_sums", 9, 64, 1, 0, 0, 2),
                                            SUMS("block_sums", 8, 64, 1, 32, 0, 3)},
                               .arrays = SIX_FLOATS,
                               .module = "tiles.ptx"},
                "blocks have no order");
    expect_none((struct scene){.launches = {FIVE(NX * 9, 128, 1, 0), FIVE(NX * 3, 128, 2, 3),
                                            FIVE(NX * 9, 64, 0, 2 + 2)},
                               .arrays = SIX_FLOATS,
                               .module = "rows.ptx"},
                "blocks have no order");
}

static void parts_of_warps_are_refused(void **state)
{
    (void)state;
    expect_none((struct scene){.launches = {SUMS("turned_rows", 4, 64, 1, 0, 0, 2),
                                            SUMS("block_sums", 4, 48, 2, 0, 0, 2)},
                               .arrays = SIX_FLOATS,
                               .module = "tiles.ptx"},
                "end within a warp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_numbered_through),
        cmocka_unit_test(shapes_differ),
        cmocka_unit_test(blocks_stay_whole),
        cmocka_unit_test(large_launches_keep_their_blocks),
        cmocka_unit_test(parts_are_apart),
        cmocka_unit_test(what_meets_is_refused),
        cmocka_unit_test(parts_of_warps_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
