/* SPDX-License-Identifier: Apache-2.0
 * Launches of few threads in one block: whatever conflicts has a barrier between, in one pass and in several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

enum { NX = 37, FEW = 37 * 20, MANY = 37 * 180 };

#define FLOATS                                                                                               \
    {                                                                                                        \
        64 << 10, 'f'                                                                                        \
    }
#define SIX_FLOATS                                                                                           \
    {                                                                                                        \
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS                                                       \
    }
#define LINE(count) .grid = {((count) + 127) / 128, 1, 1}, .block = {128, 1, 1}
#define SCALE(count, to, from)                                                                               \
    {                                                                                                        \
        "scale", LINE(count),                                                                                \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(count)                                                           \
        }                                                                                                    \
    }
#define FIVE(count, to, from)                                                                                \
    {                                                                                                        \
        "five", LINE(count),                                                                                 \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT((count) / NX)                                           \
        }                                                                                                    \
    }

/* barriers: before which members. */
static void expect(struct scene scene, const char *barriers, uint32_t threads)
{
    struct scene_run run;
    scene.module = "rows.ptx";
    scene.in_one_block = true;
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_int_equal(group_kind(run.group), GROUP_ONE_BLOCK);
    assert_int_equal(remap_threads(run.group->grid, run.group->block), threads);
    assert_int_equal(run.group->block[0], threads);
    for (uint32_t m = 0; m < run.group->member_count; m++)
        assert_int_equal(run.group->barriers[m], barriers[m] == 'b');
    assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void neighbours_meet(void **state)
{
    (void)state;
    expect((struct scene){.launches = {SCALE(FEW, 1, 0), FIVE(FEW, 2, 1), FIVE(FEW, 3, 2), FIVE(FEW, 1, 3)},
                          .arrays = SIX_FLOATS},
           "-bbb", 768);
}

/* What others still read is overwritten, seven passes later. */
static void in_several_passes(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(MANY, 1, 0), SCALE(MANY, 0, 1), FIVE(MANY, 2, 0)},
                          .arrays = SIX_FLOATS},
           "-bb", 1024);
}

static void what_is_apart_has_no_barrier(void **state)
{
    (void)state;
    expect((struct scene){.launches = {FIVE(FEW, 1, 0), FIVE(FEW, 3, 2), FIVE(FEW, 4, 1), FIVE(FEW, 5, 3)},
                          .arrays = SIX_FLOATS},
           "--b-", 768);
}

static void threads_are_bounded(void **state)
{
    (void)state;
    struct scene_run run;
    struct scene scene = {.launches = {FIVE(9 * 1024, 1, 0), SCALE(9 * 1024, 0, 1)},
                          .arrays = SIX_FLOATS,
                          .module = "rows.ptx",
                          .in_one_block = true};
    scene_open(&run, &scene);
    assert_true(run.group->refusal || group_kind(run.group) != GROUP_ONE_BLOCK);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_meet),
        cmocka_unit_test(in_several_passes),
        cmocka_unit_test(what_is_apart_has_no_barrier),
        cmocka_unit_test(threads_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
