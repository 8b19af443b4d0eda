/* SPDX-License-Identifier: Apache-2.0
 * Halo fusion of lines of threads over the rows of an array (fuser/access/line.h): what could go wrong at rows' ends, in a last
 * row that is not full, with rows of several lengths, and where blocks matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/access/line.h"
#include "tests/codegen/scene.h"

#include <string.h>

enum { NX = 101, NY = 67, N = NX * NY };

#define LINE(blocks, threads) .grid = {blocks, 1, 1}, .block = {threads, 1, 1}
#define FLOATS                                                                                               \
    {                                                                                                        \
        64 << 10, 'f'                                                                                        \
    }
#define SIX_FLOATS                                                                                           \
    {                                                                                                        \
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS                                                       \
    }
#define SCALE(to, from)                                                                                      \
    {                                                                                                        \
        "scale", LINE(53, 128),                                                                              \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N)                                                               \
        }                                                                                                    \
    }
#define FIVE(to, from)                                                                                       \
    {                                                                                                        \
        "five", LINE(53, 128),                                                                               \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT(NY)                                                     \
        }                                                                                                    \
    }
#define BY_NUMBER(to, from, length)                                                                          \
    {                                                                                                        \
        "five_by_number", LINE(53, 128),                                                                     \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT(length)                                                 \
        }                                                                                                    \
    }

/* rows: of each member, 0 where it is as it was. */
static void expect(struct scene scene, uint32_t stages, const uint32_t *rows)
{
    struct scene_run run;
    scene.module = "rows.ptx";
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_int_equal(run.group->stage_count, stages);
    for (uint32_t m = 0; m < run.group->member_count; m++) {
        const struct line_cut *cut = group_cut_of(run.group, m);
        assert_int_equal(cut ? cut->row : 0, rows[m]);
    }
    assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void expect_border(struct scene scene, uint32_t stage, const uint32_t low[3], const uint32_t high[3])
{
    struct scene_run run;
    scene.module = "rows.ptx";
    scene_open(&run, &scene);
    assert_null(run.group->refusal);
    assert_memory_equal(run.group->stages[stage].low, low, 3 * sizeof *low);
    assert_memory_equal(run.group->stages[stage].high, high, 3 * sizeof *high);
    scene_close(&run);
}

static void expect_refusal(struct scene scene, const char *why)
{
    struct scene_run run;
    scene.module = "rows.ptx";
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    if (!strstr(run.group->refusal, why)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

/* --- what neighbours are */

static void by_row_and_column(void **state)
{
    (void)state;
    struct scene scene = {{SCALE(1, 0), FIVE(2, 1)}, SIX_FLOATS};
    expect(scene, 2, (uint32_t[]){NX, NX});
    expect_border(scene, 0, (uint32_t[]){1, 1, 0}, (uint32_t[]){1, 1, 0});
}

/* The first of a row has the last of the row before for a neighbour. */
static void by_number_alone(void **state)
{
    (void)state;
    struct scene scene = {{SCALE(1, 0), BY_NUMBER(2, 1, N)}, SIX_FLOATS};
    expect(scene, 2, (uint32_t[]){NX, NX});
    expect_border(scene, 0, (uint32_t[]){1, 1, 0}, (uint32_t[]){1, 1, 0});
}

static void a_chain_of_three(void **state)
{
    (void)state;
    expect((struct scene){{FIVE(1, 0), FIVE(2, 1), FIVE(3, 2)}, SIX_FLOATS}, 3, (uint32_t[]){NX, NX, NX});
    expect((struct scene){{BY_NUMBER(1, 0, N), BY_NUMBER(2, 1, N)}, SIX_FLOATS}, 2, (uint32_t[]){NX, NX});
}

static void layers(void **state)
{
    (void)state;
    struct scene scene = {{{"scale", LINE(109, 128), {POINTER(1), POINTER(0), INT(37 * 41 * 9)}},
                           {"seven", LINE(109, 128), {POINTER(2), POINTER(1), INT(37), INT(41), INT(9)}}},
                          SIX_FLOATS};
    expect(scene, 2, (uint32_t[]){37, 37});
    expect_border(scene, 0, (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1});
}

static void rows_of_several_lengths(void **state)
{
    (void)state;
    expect(
        (struct scene){{SCALE(1, 0), {"inside", LINE(51, 128), {POINTER(2), POINTER(1), INT(NX), INT(NY)}}},
                       SIX_FLOATS},
        2, (uint32_t[]){NX, NX - 2});
    expect((struct scene){{{"inside", LINE(51, 128), {POINTER(1), POINTER(0), INT(NX), INT(NY)}},
                           {"inside", LINE(50, 128), {POINTER(2), POINTER(1), INT(NX - 2), INT(NY - 2)}}},
                          SIX_FLOATS},
           2, (uint32_t[]){NX - 2, NX - 4});
}

static void no_parts_of_rows(void **state)
{
    (void)state;
    static const int lengths[] = {32, NX};
    for (int k = 0; k < 2; k++)
        expect(
            (struct scene){
                {{"biased", LINE(53, 128), {POINTER(1), POINTER(0), POINTER(5), INT(lengths[k]), INT(N)}},
                 FIVE(2, 1)},
                SIX_FLOATS},
            2, (uint32_t[]){NX, NX});
}

static void threads_that_count_down(void **state)
{
    (void)state;
    expect((struct scene){{{"backward", LINE(53, 128), {POINTER(1), POINTER(0), INT(NX), INT(N)}},
                           {"backward", LINE(53, 128), {POINTER(2), POINTER(1), INT(NX), INT(N)}}},
                          SIX_FLOATS},
           2, (uint32_t[]){NX, NX});
}

/* Beside launches that count rows themselves. */
static void lines_and_planes(void **state)
{
    (void)state;
#define PLANE(to, from)                                                                                      \
    {                                                                                                        \
        "plane", .grid = {4, 17, 1}, .block = {32, 4, 1},                                                    \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT(NY)                                                     \
        }                                                                                                    \
    }
    expect((struct scene){{SCALE(1, 0), PLANE(2, 1)}, SIX_FLOATS}, 2, (uint32_t[]){NX, 0});
    expect((struct scene){{PLANE(1, 0), FIVE(2, 1)}, SIX_FLOATS}, 2, (uint32_t[]){0, NX});
    expect((struct scene){{PLANE(1, 0), SCALE(2, 1), PLANE(3, 2)}, SIX_FLOATS}, 3, (uint32_t[]){0, NX, 0});
}

/* --- where it ends */

static void a_last_row_that_is_not_full(void **state)
{
    (void)state;
    for (int n = N - 3; n <= N + 2; n++)
        expect((struct scene){{SCALE(1, 0), BY_NUMBER(2, 1, n)}, SIX_FLOATS}, 2, (uint32_t[]){NX, NX});
}

/* What cells are threads, the launch alone says; beyond it begins another array. */
static void threads_that_all_have_an_element(void **state)
{
    (void)state;
    expect((struct scene){{{"scale_all", LINE(50, 128), {POINTER(1), POINTER(0)}},
                           {"five_by_number", LINE(50, 128), {POINTER(2), POINTER(1), INT(NX), INT(6400)}},
                           {"scale_all", LINE(50, 128), {POINTER(3), POINTER(2)}}},
                          {FLOATS, FLOATS, FLOATS, {25600, 'f'}}},
           2, (uint32_t[]){NX, NX, NX});
}

static void more_threads_than_elements(void **state)
{
    (void)state;
    expect((struct scene){{{"scale", LINE(60, 128), {POINTER(1), POINTER(0), INT(N)}},
                           {"five", LINE(70, 96), {POINTER(2), POINTER(1), INT(NX), INT(NY)}}},
                          SIX_FLOATS},
           2, (uint32_t[]){NX, NX});
}

/* --- threads and blocks */

static void threads_keep_their_numbers(void **state)
{
    (void)state;
    expect((struct scene){{{"who", LINE(71, 96), {POINTER(1), POINTER(0), INT(N)}}, FIVE(2, 1)}, SIX_FLOATS},
           2, (uint32_t[]){NX, NX});
}

/* What the first one leaves out of each block is read from memory. */
static void parts_of_blocks(void **state)
{
    (void)state;
    expect((struct scene){{{"in_block", LINE(71, 96), {POINTER(1), POINTER(0), INT(N)}}, FIVE(2, 1)},
                          SIX_FLOATS},
           2, (uint32_t[]){NX, NX});
}

/* --- with what else there is */

static void old_and_new_contents(void **state)
{
    (void)state;
    expect((struct scene){{FIVE(1, 0), SCALE(0, 1)}, SIX_FLOATS}, 0, (uint32_t[]){0, 0});
    expect((struct scene){{FIVE(1, 0), FIVE(0, 1)}, SIX_FLOATS}, 2, (uint32_t[]){NX, NX});
}

static void a_row_beside(void **state)
{
    (void)state;
    expect(
        (struct scene){{SCALE(1, 0), {"first_row", LINE(1, 128), {POINTER(1), INT(NX), INT(NY)}}, FIVE(2, 1)},
                       SIX_FLOATS},
        2, (uint32_t[]){NX, 0, NX});
}

static void loops(void **state)
{
    (void)state;
    expect((struct scene){{{"weigh", LINE(53, 128), {POINTER(1), POINTER(0), POINTER(5), INT(N)}},
                           FIVE(2, 1),
                           {"weigh", LINE(53, 128), {POINTER(3), POINTER(2), POINTER(5), INT(N)}}},
                          SIX_FLOATS},
           2, (uint32_t[]){NX, NX, NX});
    expect_refusal(
        (struct scene){
            {SCALE(1, 0), FIVE(2, 1), {"column", LINE(53, 128), {POINTER(3), POINTER(2), INT(NX), INT(N)}}},
            SIX_FLOATS},
        "nor one of rows");
}

static void blocks_that_stay_whole(void **state)
{
    (void)state;
    expect_refusal(
        (struct scene){{{"turned", LINE(53, 128), {POINTER(1), POINTER(0), INT(N)}}, FIVE(2, 1)}, SIX_FLOATS},
        "blocks must stay whole");
}

static void what_must_not_be_done_again(void **state)
{
    (void)state;
    expect_refusal(
        (struct scene){{{"count", LINE(53, 128), {POINTER(1), POINTER(0), POINTER(5), INT(N)}}, FIVE(2, 1)},
                       SIX_FLOATS},
        "an atomic would be done again by other blocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_row_and_column),
        cmocka_unit_test(by_number_alone),
        cmocka_unit_test(a_chain_of_three),
        cmocka_unit_test(layers),
        cmocka_unit_test(rows_of_several_lengths),
        cmocka_unit_test(no_parts_of_rows),
        cmocka_unit_test(threads_that_count_down),
        cmocka_unit_test(lines_and_planes),
        cmocka_unit_test(a_last_row_that_is_not_full),
        cmocka_unit_test(threads_that_all_have_an_element),
        cmocka_unit_test(more_threads_than_elements),
        cmocka_unit_test(threads_keep_their_numbers),
        cmocka_unit_test(parts_of_blocks),
        cmocka_unit_test(old_and_new_contents),
        cmocka_unit_test(a_row_beside),
        cmocka_unit_test(loops),
        cmocka_unit_test(blocks_that_stay_whole),
        cmocka_unit_test(what_must_not_be_done_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
