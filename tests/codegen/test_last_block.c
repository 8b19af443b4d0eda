/* SPDX-License-Identifier: Apache-2.0
 * Launches of few threads in the last block of a large one: what all its blocks have written is read, and what they read is
 * overwritten, in one block and in several members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

enum { NX = 37, LARGE = 37 * 350, FEW = 37 * 20, LEVELS = 7 };

#define FLOATS                                                                                               \
    {                                                                                                        \
        64 << 10, 'f'                                                                                        \
    }
#define SIX_FLOATS                                                                                           \
    {                                                                                                        \
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS                                                       \
    }
#define LINE(count) .grid = {((count) + 127) / 128, 1, 1}, .block = {128, 1, 1}
#define FIVE(count, to, from)                                                                                \
    {                                                                                                        \
        "five", LINE(count),                                                                                 \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT((count) / NX)                                           \
        }                                                                                                    \
    }
#define LAST(count, to, from)                                                                                \
    {                                                                                                        \
        "reversed", LINE(count),                                                                             \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(count)                                                           \
        }                                                                                                    \
    }
/* A sum of every column, and of the first ones of those, which reads few of them. */
#define SUMS(blocks, to, from, n, levels)                                                                    \
    {                                                                                                        \
        "block_sums", .grid = {blocks, 1, 1}, .block = {64, 1, 1},                                           \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(n), INT(levels)                                                  \
        }                                                                                                    \
    }

/* first: of those that the last block runs, in so many threads; barriers: before which members. */
static void expect(struct scene scene, uint32_t first, uint32_t threads, const char *barriers)
{
    struct scene_run run;
    scene.last_first = first;
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_int_equal(group_kind(run.group), GROUP_LAST_BLOCK);
    assert_int_equal(run.group->last_first, first);
    assert_int_equal(run.group->last_threads, threads);
    for (uint32_t m = 0; m < run.group->member_count; m++)
        assert_int_equal(run.group->barriers[m], barriers[m] == 'b');
    assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void expect_none(struct scene scene)
{
    struct scene_run run;
    scene.last_first = 1;
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    scene_close(&run);
}

static void all_blocks_have_written(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(LARGE, 1, 0), FIVE(FEW, 2, 1)},
                          .arrays = SIX_FLOATS,
                          .module = "rows.ptx"},
           1, 128, "--");
}

static void all_blocks_have_read(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(LARGE, 1, 0), FIVE(FEW, 2, 1), FIVE(FEW, 0, 2)},
                          .arrays = SIX_FLOATS,
                          .module = "rows.ptx"},
           1, 128, "--b");
}

static void members_wait_for_each_other(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(LARGE, 1, 0), FIVE(FEW, 2, 1), FIVE(FEW, 3, 0), FIVE(FEW, 4, 2)},
                          .arrays = SIX_FLOATS,
                          .module = "rows.ptx"},
           1, 128, "---b");
}

/* What a cache for constant data may have is what was there before. */
static void constant_loads_are_plain(void **state)
{
    (void)state;
    const struct scene scene = {
        .launches = {{"add", LINE(LARGE), {POINTER(1), POINTER(0), POINTER(2), INT(LARGE)}},
                     {"read_only", LINE(FEW), {POINTER(3), POINTER_AT(1, 4096), INT(FEW)}},
                     LAST(FEW, 1, 3)},
        .arrays = SIX_FLOATS};
    struct scene_run run;
    expect(scene, 1, 128, "--b");
    struct scene again = scene;
    again.last_first = 1;
    scene_open(&run, &again);
    assert_int_equal(run.group->demote_count, 1);
    scene_close(&run);
}

/* A sum of partial sums. */
static void blocks_stay_whole(void **state)
{
    (void)state;
    expect((struct scene){.launches = {SUMS(100, 1, 0, 6400, 2), SUMS(1, 2, 1, 0, 1)},
                          .arrays = SIX_FLOATS,
                          .module = "tiles.ptx"},
           1, 64, "--");
}

/* Of a block of 256 threads in two dimensions, 64 go on. */
static void threads_have_their_numbers(void **state)
{
    (void)state;
    struct scene scene = {
        .launches =
            {{"down", .grid = {5, 70, 1}, .block = {16, 16, 1}, {POINTER(1), POINTER(0), INT(70), INT(1100)}},
             {"down", .grid = {1, 10, 1}, .block = {70, 2, 1}, {POINTER(2), POINTER(1), INT(70), INT(21)}},
             {"down", .grid = {7, 2, 1}, .block = {10, 2, 1}, {POINTER(3), POINTER(2), INT(70), INT(100)}}},
        .module = "stencils.ptx"};
    for (int i = 0; i < 6; i++) scene.arrays[i] = (struct scene_array){640 << 10, 'd'};
    expect(scene, 1, 256, "--b");
}

static void threads_are_bounded(void **state)
{
    (void)state;
    /* nine passes; a block of more threads than the head's; none that is small */
    expect_none((struct scene){
        .launches = {FIVE(LARGE, 1, 0), FIVE(37 * 28, 2, 1)}, .arrays = SIX_FLOATS, .module = "rows.ptx"});
    expect_none((struct scene){
        .launches = {FIVE(LARGE, 1, 0), FIVE(LARGE, 2, 1)}, .arrays = SIX_FLOATS, .module = "rows.ptx"});
    expect_none((struct scene){.launches = {{"row_sums",
                                             .grid = {20, 1, 1},
                                             .block = {32, 1, 1},
                                             {POINTER(1), POINTER(0), POINTER(3), INT(640), INT(LEVELS)}},
                                            SUMS(1, 2, 1, 0, 1)},
                               .arrays = SIX_FLOATS,
                               .module = "tiles.ptx"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_blocks_have_written),     cmocka_unit_test(all_blocks_have_read),
        cmocka_unit_test(members_wait_for_each_other), cmocka_unit_test(constant_loads_are_plain),
        cmocka_unit_test(blocks_stay_whole),           cmocka_unit_test(threads_have_their_numbers),
        cmocka_unit_test(threads_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
