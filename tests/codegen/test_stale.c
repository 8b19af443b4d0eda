/* SPDX-License-Identifier: Apache-2.0
 * Which ranges a group may leave stale, and by which rematerialisation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/stale.h"
#include "tests/codegen/scene.h"

enum { N = 1000, ROW_BYTES = 4 * N };

#define ROW                                                                                                  \
    {                                                                                                        \
        ROW_BYTES, 'f'                                                                                       \
    }
#define ROWS                                                                                                 \
    {                                                                                                        \
        ROW, ROW, ROW, ROW                                                                                   \
    }
#define SHAPE .grid = {8, 1, 1}, .block = {128, 1, 1}
#define FROM(name, to, from)                                                                                 \
    {                                                                                                        \
        name, SHAPE,                                                                                         \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N)                                                               \
        }                                                                                                    \
    }
#define IN_PLACE(x)                                                                                          \
    {                                                                                                        \
        "in_place", SHAPE,                                                                                   \
        {                                                                                                    \
            POINTER(x), INT(N)                                                                               \
        }                                                                                                    \
    }

enum { NONE = -1 };
/* array NONE: nothing may be stale; else that one alone, made again by these members. */
static void expect(struct scene scene, int array, uint32_t rematerialisation, bool is_complete)
{
    struct scene_run run;
    struct stale stale;
    uint32_t found = 0;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    stale_collect(&run.memo, run.group, &stale);
    assert_int_equal(stale.rematerialisation, rematerialisation);
    for (uint32_t i = 0; i < stale.count; i++) {
        const struct stale_range *range = &stale.ranges[i];
        if (!range->is_stale) continue;
        found++;
        assert_int_equal(range->range.array, array);
        assert_int_equal(range->is_complete, is_complete);
        if (is_complete) assert_int_equal(range->range.to - range->range.from, ROW_BYTES);
    }
    assert_int_equal(found, array != NONE);
    scene_close(&run);
}

static void what_passes_in_registers(void **state)
{
    (void)state;
    expect((struct scene){{FROM("scale", 1, 0), FROM("square", 2, 1)}, ROWS}, 1, 1, true);
    expect((struct scene){{FROM("scale", 1, 0), IN_PLACE(1), FROM("square", 2, 1)}, ROWS}, 1, 3, true);
}

static void what_passes_in_shared_memory(void **state)
{
    (void)state;
    expect((struct scene){{FROM("scale", 1, 0), FROM("middle", 2, 1)}, ROWS}, 1, 1, true);
}

static void results_are_stored(void **state)
{
    (void)state;
    expect((struct scene){{FROM("scale", 1, 0), FROM("square", 2, 0)}, ROWS}, NONE, 0, false);
}

static void what_is_loaded_from_memory_is_stored(void **state)
{
    (void)state;
    expect((struct scene){{IN_PLACE(1), FROM("square", 2, 1)}, ROWS}, NONE, 0, false);
}

static void what_data_decide_is_stored(void **state)
{
    (void)state;
    expect((struct scene){{FROM("where_positive", 1, 0), IN_PLACE(1)}, ROWS}, NONE, 0, false);
}

static void inputs_of_the_rematerialisation(void **state)
{
    (void)state;
    expect((struct scene){{FROM("scale", 1, 0), IN_PLACE(0), FROM("square", 2, 1)}, ROWS}, NONE, 0, false);
    expect((struct scene){{IN_PLACE(0), FROM("scale", 1, 0), FROM("square", 2, 1)}, ROWS}, 1, 2, true);
}

/* The stores are left out, and nothing else. */
static void the_group_without_the_stores(void **state)
{
    struct scene scene = {{FROM("scale", 1, 0), FROM("square", 2, 1)}, ROWS, "stencils.ptx"};
    struct scene_run run;
    struct stale stale;
    (void)state;
    scene_open(&run, &scene);
    stale_collect(&run.memo, run.group, &stale);
    const struct group *deferred = stale_group(run.group, &stale, run.arena);
    assert_non_null(deferred);
    assert_int_equal(deferred->drop_count, run.group->drop_count + 1);
    assert_int_equal(deferred->drops[deferred->drop_count - 1].member, 0);
    assert_int_equal(deferred->bytes_saved, run.group->bytes_saved + ROW_BYTES);
    assert_true(stale_store(run.group, &stale, 0));
    assert_int_equal(stale.rematerialisation, 0);
    assert_false(stale_store(run.group, &stale, 0));
    scene_close(&run);
}

/* Cells whose bytes are all left stale store nothing. */
static void a_part_of_a_range(void **state)
{
    struct scene scene = {{FROM("scale", 1, 0), FROM("middle", 2, 1)}, ROWS, "stencils.ptx"};
    struct scene_run run;
    struct stale stale;
    (void)state;
    scene_open(&run, &scene);
    stale_collect(&run.memo, run.group, &stale);
    assert_int_equal(stale_left(&stale.ranges[0])->width, ROW_BYTES);
    assert_false(
        stale_narrow(run.group, &stale, 0, &(struct group_box){0, ROW_BYTES, ROW_BYTES, 1, 1, 1})); /* all */
    assert_false(
        stale_narrow(run.group, &stale, 0, &(struct group_box){0, ROW_BYTES / 2, 8, 1, 1, 1})); /* little */
    assert_false(
        stale_narrow(run.group, &stale, 0, &(struct group_box){8, ROW_BYTES, 8, 1, 1, 1})); /* another */
    /* the last byte of an element is stored with the rest of it */
    assert_true(stale_narrow(run.group, &stale, 0, &(struct group_box){8, ROW_BYTES - 11, 8, 1, 1, 1}));
    struct group *deferred = stale_group(run.group, &stale, run.arena);
    assert_non_null(deferred);
    assert_int_equal(deferred->drop_count, run.group->drop_count);
    assert_int_equal(deferred->kept_count, 1);
    isl_set *cells =
        isl_set_read_from_str(run.memo.ctx, "{ F[0, 0, 0, 0, 0, x] : x = 0 or x = 1 or x = 999 }");
    assert_int_equal(isl_set_is_equal(deferred->kept[0].cells, cells), isl_bool_true);
    isl_set_free(cells);
    stale_group_free(deferred);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_in_registers),
        cmocka_unit_test(what_passes_in_shared_memory),
        cmocka_unit_test(results_are_stored),
        cmocka_unit_test(what_is_loaded_from_memory_is_stored),
        cmocka_unit_test(what_data_decide_is_stored),
        cmocka_unit_test(inputs_of_the_rematerialisation),
        cmocka_unit_test(the_group_without_the_stores),
        cmocka_unit_test(a_part_of_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
