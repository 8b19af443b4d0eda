/* SPDX-License-Identifier: Apache-2.0
 * Renaming: what is overwritten in place goes into a second buffer, whichever of the two holds the old
 * contents; where that would change what is read, the group is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/rename.h"
#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 1000, ROW_BYTES = 4 * N, PLANE_SIDE = 40, PLANE_BYTES = 8 * PLANE_SIDE * PLANE_SIDE };

#define ROW   .grid = {8, 1, 1}, .block = {128, 1, 1}
#define PLANE .grid = {2, 10, 1}, .block = {32, 4, 1}
#define FLOATS(size)                                                                                         \
    {                                                                                                        \
        (size), 'f'                                                                                          \
    }
#define DOUBLES(size)                                                                                        \
    {                                                                                                        \
        (size), 'd'                                                                                          \
    }
#define ROWS                                                                                                 \
    {                                                                                                        \
        FLOATS(ROW_BYTES), FLOATS(ROW_BYTES), FLOATS(ROW_BYTES)                                              \
    }
#define IN_PLACE(x)                                                                                          \
    {                                                                                                        \
        "in_place", ROW,                                                                                     \
        {                                                                                                    \
            POINTER(x), INT(N)                                                                               \
        }                                                                                                    \
    }
#define FROM(name, to, from)                                                                                 \
    {                                                                                                        \
        name, ROW,                                                                                           \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N)                                                               \
        }                                                                                                    \
    }

static struct scene_run decide(struct scene scene)
{
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    return run;
}

/* Compares memory, and how many ranges are renamed, how many of them in part. */
static void expect(struct scene scene, uint32_t renames, uint32_t partial, uint64_t bytes)
{
    struct scene_run run = decide(scene);
    uint32_t found = 0;
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    scene.module = "stencils.ptx";
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->rename_count, renames);
    for (uint32_t i = 0; i < renames; i++) {
        found += run.group->renames[i].is_partial;
        assert_int_equal(run.group->renames[i].bytes, bytes);
    }
    assert_int_equal(found, partial);
    scene_close(&run);
}

static void expect_refusal(struct scene scene, const char *why)
{
    struct scene_run run = decide(scene);
    assert_non_null(run.group->refusal);
    assert_int_equal(run.group->rename_count, 0);
    if (!strstr(run.group->refusal, why)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

static void what_other_blocks_read_again(void **state)
{
    (void)state;
    expect((struct scene){{IN_PLACE(1), FROM("clamped", 2, 1)}, ROWS}, 1, 0, ROW_BYTES);
}

static void what_a_border_reads(void **state)
{
    (void)state;
    expect((struct scene){{FROM("scale", 1, 0), FROM("clamped", 0, 1)}, ROWS}, 1, 0, ROW_BYTES);
}

/* Without a halo: Jacobi's step, and its copy back. */
static void what_neighbours_still_read(void **state)
{
    (void)state;
    expect((struct scene){{FROM("periodic", 1, 0), FROM("scale", 0, 1)}, ROWS}, 1, 0, ROW_BYTES);
}

static void what_is_rewritten_in_part(void **state)
{
    (void)state;
    expect((struct scene){{FROM("middle", 1, 0), FROM("middle", 0, 1)}, ROWS}, 1, 1, ROW_BYTES);
}

static void later_members_read_the_new(void **state)
{
    (void)state;
    expect((struct scene){{FROM("periodic", 1, 0), FROM("scale", 0, 1), FROM("clamped", 2, 0)}, ROWS}, 1, 0,
           ROW_BYTES);
}

static void a_chain_in_place(void **state)
{
    (void)state;
    expect(
        (struct scene){{FROM("periodic", 1, 0), FROM("scale", 0, 1), IN_PLACE(0), FROM("scale", 2, 0)}, ROWS},
        1, 0, ROW_BYTES);
}

/* Two arrays of one allocation. */
static void a_part_of_an_allocation(void **state)
{
    (void)state;
    expect((struct scene){{{"periodic", ROW, {POINTER_AT(0, 8192), POINTER_AT(0, 64), INT(N)}},
                           {"scale", ROW, {POINTER_AT(0, 64), POINTER_AT(0, 8192), INT(N)}}},
                          {FLOATS(16384)}},
           1, 0, ROW_BYTES);
}

static void planes_with_a_wrap(void **state)
{
    (void)state;
    const struct scene_launch fluxes = {
        "fluxes", PLANE, {POINTER(1), POINTER(2), POINTER(0), INT(PLANE_SIDE), INT(PLANE_SIDE)}};
    const struct scene_launch update = {
        "update", PLANE, {POINTER(3), POINTER(1), POINTER(2), POINTER(0), INT(PLANE_SIDE), INT(PLANE_SIDE)}};
    const struct scene_launch again = {
        "update", PLANE, {POINTER(0), POINTER(1), POINTER(2), POINTER(3), INT(PLANE_SIDE), INT(PLANE_SIDE)}};
    expect((struct scene){{fluxes, update, again},
                          {DOUBLES(PLANE_BYTES), DOUBLES(PLANE_BYTES), DOUBLES(PLANE_BYTES),
                           DOUBLES(PLANE_BYTES)}},
           1, 0, PLANE_BYTES);
}

static void the_inside_of_planes(void **state)
{
    (void)state;
    const struct scene_launch forth = {
        "across", PLANE, {POINTER(1), POINTER(0), INT(PLANE_SIDE), INT(PLANE_SIDE)}};
    const struct scene_launch back = {
        "across", PLANE, {POINTER(0), POINTER(1), INT(PLANE_SIDE), INT(PLANE_SIDE)}};
    expect((struct scene){{forth, back}, {DOUBLES(PLANE_BYTES), DOUBLES(PLANE_BYTES)}}, 1, 1, PLANE_BYTES);
}

/* The second writer writes what the first has left as it was. */
static void what_several_write(void **state)
{
    (void)state;
    expect((struct scene){{FROM("clamped", 1, 0), FROM("middle", 0, 1), FROM("scale", 0, 2)}, ROWS}, 1, 0,
           ROW_BYTES);
}

/* --- what is refused --- */

static void a_store_that_data_decide(void **state)
{
    (void)state;
    expect_refusal((struct scene){{FROM("periodic", 1, 0), FROM("where_positive", 0, 1)}, ROWS},
                   "from another");
}

/* The second writer may write more than the first, and than what is known. */
static void a_second_store_that_data_decide(void **state)
{
    (void)state;
    expect_refusal(
        (struct scene){{FROM("clamped", 1, 0), FROM("middle", 0, 1), FROM("where_positive", 0, 2)}, ROWS},
        "");
}

/* The second writer writes what the first has left as it was, and what it reads of that is neither old nor
 * new. */
static void what_is_written_later(void **state)
{
    (void)state;
    expect_refusal(
        (struct scene){
            {FROM("clamped", 1, 0), FROM("middle", 0, 1), FROM("scale", 2, 0), FROM("scale", 0, 2)}, ROWS},
        "");
}

static void a_read_behind_the_write(void **state)
{
    (void)state;
    expect_refusal((struct scene){{FROM("periodic", 1, 0), FROM("write_and_read", 0, 1)}, ROWS},
                   "from another");
}

static void atomics(void **state)
{
    (void)state;
    expect_refusal((struct scene){{FROM("periodic", 1, 0), FROM("add_all", 0, 1)}, ROWS}, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_other_blocks_read_again),
        cmocka_unit_test(what_a_border_reads),
        cmocka_unit_test(what_neighbours_still_read),
        cmocka_unit_test(what_is_rewritten_in_part),
        cmocka_unit_test(later_members_read_the_new),
        cmocka_unit_test(a_chain_in_place),
        cmocka_unit_test(a_part_of_an_allocation),
        cmocka_unit_test(planes_with_a_wrap),
        cmocka_unit_test(the_inside_of_planes),
        cmocka_unit_test(what_several_write),
        cmocka_unit_test(a_store_that_data_decide),
        cmocka_unit_test(a_second_store_that_data_decide),
        cmocka_unit_test(what_is_written_later),
        cmocka_unit_test(a_read_behind_the_write),
        cmocka_unit_test(atomics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
