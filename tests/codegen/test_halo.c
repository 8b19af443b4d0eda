/* SPDX-License-Identifier: Apache-2.0
 * Halo fusion: fused kernels leave the same memory as their originals, in every order of blocks and warps;
 * what a block cannot compute for itself is refused, for the right reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/codegen/machine_code.h"
#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 1000 };

#define ROW(blocks, threads) .grid = {blocks, 1, 1}, .block = {threads, 1, 1}
#define BYTES_OF                                                                                             \
    {                                                                                                        \
        SCENE_ARRAY_BYTES, 'b'                                                                               \
    }
#define SIX_FLOATS                                                                                           \
    {                                                                                                        \
        SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS                   \
    }

/* Compares memory, and how many stages and served loads the group has. */
static void expect(struct scene scene, uint32_t stages, uint32_t fetches)
{
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, stages);
    assert_int_equal(run.group->fetch_count, fetches);
    scene_close(&run);
}

static void expect_border(struct scene scene, uint32_t stage, const uint32_t low[3], const uint32_t high[3])
{
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_null(run.group->refusal);
    assert_memory_equal(run.group->stages[stage].low, low, 3 * sizeof *low);
    assert_memory_equal(run.group->stages[stage].high, high, 3 * sizeof *high);
    scene_close(&run);
}

/* How many blocks' cells are written apart from those at the edges, stage by stage. */
static void expect_interior(struct scene scene, const bool *expected)
{
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    struct codegen_request request = {.group = run.group, .name = "fused", .sm = 90};
    struct codegen_result result;
    codegen_write(&request, &result);
    assert_non_null(result.source);
    assert_non_null(result.has_interior);
    for (uint32_t s = 0; s < run.group->stage_count; s++) /* what contracts is counted */
        assert_int_equal(result.has_interior[s], expected[s] && !result.may_contract);
    codegen_result_clear(&result);
    scene_close(&run);
}

/* by_halo: what stands in the way of a halo fusion, of the first and the last launch. */
static void expect_refusal(struct scene scene, const char *by_halo)
{
    struct scene_run run;
    struct conflict conflict;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    conflict_between(&run.memo, &run.members[0], &run.members[run.launch_count - 1], &conflict);
    if (!strstr(run.group->refusal, by_halo)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

#define SCALE(to, from)                                                                                      \
    {                                                                                                        \
        "scale", ROW(8, 128),                                                                                \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N)                                                               \
        }                                                                                                    \
    }
#define STENCIL(kernel, to, from)                                                                            \
    {                                                                                                        \
        kernel, ROW(8, 128),                                                                                 \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N)                                                               \
        }                                                                                                    \
    }

static void the_interior(void **state)
{
    (void)state;
    expect((struct scene){{SCALE(1, 0), STENCIL("middle", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void clamped_edges(void **state)
{
    (void)state;
    struct scene scene = {{SCALE(1, 0), STENCIL("clamped", 2, 1)}, SIX_FLOATS};
    expect(scene, 2, 2);
    expect_border(scene, 0, (uint32_t[]){3, 0, 0}, (uint32_t[]){2, 0, 0});
}

/* From one side or from the other, as the data say; by a selp, by two ways that meet, and in a loop. */
static void chosen_sides(void **state)
{
    (void)state;
    struct scene scene = {{SCALE(1, 0), STENCIL("upwind", 2, 1)}, SIX_FLOATS};
    expect(scene, 2, 3);
    expect_border(scene, 0, (uint32_t[]){1, 0, 0}, (uint32_t[]){1, 0, 0});
    struct scene limited = {{SCALE(1, 0), STENCIL("limited", 2, 1)}, SIX_FLOATS};
    expect(limited, 2, 6);
    expect_border(limited, 0, (uint32_t[]){2, 0, 0}, (uint32_t[]){1, 0, 0});
    struct scene twice = {{STENCIL("upwind", 1, 0), STENCIL("limited", 2, 1), SCALE(3, 2)}, SIX_FLOATS};
    expect(twice, 2, 6);
}

static void periodic_edges(void **state)
{
    (void)state;
    struct scene scene = {{SCALE(1, 0), STENCIL("periodic", 2, 1)}, SIX_FLOATS};
    expect(scene, 2, 2);
    expect_border(scene, 0, (uint32_t[]){1, 0, 0}, (uint32_t[]){1, 0, 0});
}

static void a_launch_of_whole_blocks(void **state)
{
    (void)state;
    expect((struct scene){{{"scale", ROW(8, 128), {POINTER(1), POINTER(0), INT(1024)}},
                           {"periodic", ROW(8, 128), {POINTER(2), POINTER(1), INT(1024)}}},
                          SIX_FLOATS},
           2, 2);
}

static void a_ring_of_three(void **state)
{
    (void)state;
    expect((struct scene){{{"scale", ROW(3, 1), {POINTER(1), POINTER(0), INT(3)}},
                           {"periodic", ROW(3, 1), {POINTER(2), POINTER(1), INT(3)}}},
                          SIX_FLOATS},
           2, 2);
}

/* The first and the last element are not computed by `middle`: those are read from memory. */
static void edges_that_nobody_computes(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("middle", 1, 0), STENCIL("periodic", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void a_chain_of_stencils(void **state)
{
    (void)state;
    struct scene scene = {
        {SCALE(1, 0), STENCIL("periodic", 2, 1), STENCIL("periodic", 3, 2), STENCIL("periodic", 4, 3)},
        SIX_FLOATS};
    expect(scene, 4, 6);
    expect_border(scene, 0, (uint32_t[]){3, 0, 0}, (uint32_t[]){3, 0, 0});
}

/* What follows in the same cell passes in registers. */
static void one_stage_for_those_that_follow(void **state)
{
    (void)state;
    struct scene scene = {
        {SCALE(1, 0), STENCIL("clamped", 2, 1), SCALE(3, 2), {"in_place", ROW(8, 128), {POINTER(3), INT(N)}}},
        SIX_FLOATS};
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 2);
    assert_int_equal(run.group->forward_count, 2);
    assert_int_equal(run.group->drop_count, 1);
    scene_close(&run);
}

/* Both kernels read x at their own cell, the second also what the first made of its neighbours. */
static void other_block_shapes(void **state)
{
    (void)state;
    expect((struct scene){{{"scale", ROW(16, 64), {POINTER(1), POINTER(0), INT(N)}},
                           {"clamped", ROW(4, 256), {POINTER(2), POINTER(1), INT(N)}}},
                          SIX_FLOATS},
           2, 2);
}

static void two_dimensions(void **state)
{
    (void)state;
    struct scene scene = {{{"across", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(77), INT(65)}},
                           {"down", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(77), INT(65)}}},
                          {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    expect(scene, 2, 3);
    expect_border(scene, 0, (uint32_t[]){0, 1, 0}, (uint32_t[]){0, 1, 0});
}

/* The second stage has more cells than threads, and rows that are shorter than its source's and no part of a block. */
static void across_and_down(void **state)
{
    (void)state;
    struct scene scene = {{{"across", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(77), INT(65)}},
                           {"across", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(77), INT(65)}},
                           {"across", SCENE_PLANE(3, 17), {POINTER(3), POINTER(2), INT(77), INT(65)}},
                           {"down", SCENE_PLANE(3, 17), {POINTER(4), POINTER(3), INT(77), INT(65)}}},
                          {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 4);
    assert_int_equal(run.group->stages[2].high[1], 1);
    assert_int_equal(run.group->stages[1].high[0], 1);
    assert_int_equal(run.group->stages[0].high[0], 2);
    scene_close(&run);
}

static void several_arrays_around_a_corner(void **state)
{
    (void)state;
    struct scene scene = {
        {{"fluxes", SCENE_PLANE(3, 17), {POINTER(1), POINTER(2), POINTER(0), INT(77), INT(65)}},
         {"update", SCENE_PLANE(3, 17), {POINTER(3), POINTER(1), POINTER(2), POINTER(0), INT(77), INT(65)}}},
        {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    expect(scene, 2, 4);
    expect_border(scene, 0, (uint32_t[]){0, 0, 0}, (uint32_t[]){1, 1, 0});
}

static void three_dimensions(void **state)
{
    (void)state;
    expect(
        (struct scene){
            {{"square", .grid = {3, 5, 5}, .block = {8, 4, 4}, {POINTER(1), POINTER(0), INT(18)}},
             {"seven_points", .grid = {3, 5, 5}, .block = {8, 4, 4}, {POINTER(2), POINTER(1), INT(18)}}},
            {SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS}},
        2, 7);
}

static void clamped_by_one(void **state)
{
    (void)state;
    expect((struct scene){{SCALE(1, 0), STENCIL("nearly_clamped", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void the_remainder_of_an_index(void **state)
{
    (void)state;
    expect((struct scene){{SCALE(1, 0), STENCIL("modular", 2, 1)}, SIX_FLOATS}, 2, 2);
}

/* Each reads only the other: one thread runs both. */
static void a_ring_of_two(void **state)
{
    (void)state;
    expect((struct scene){{{"scale", ROW(1, 32), {POINTER(1), POINTER(0), INT(2)}},
                           {"periodic", ROW(1, 32), {POINTER(2), POINTER(1), INT(2)}}},
                          SIX_FLOATS},
           0, 0);
}

/* x is read with its neighbours, then changed by its own thread. */
static void what_is_served_may_be_overwritten(void **state)
{
    (void)state;
    expect((struct scene){{SCALE(1, 0),
                           STENCIL("periodic", 2, 1),
                           {"relax", ROW(8, 128), {POINTER(1), POINTER(2), INT(N)}}},
                          SIX_FLOATS},
           2, 3);
}

/* A border's threads keep what is their own. */
static void expect_drops(struct scene scene, uint32_t drops)
{
    struct scene_run run;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_true(run.group->stage_count > 1);
    assert_int_equal(run.group->drop_count, drops);
    scene_close(&run);
}

/* A later stage overwrites it, and what reads it in between has it from the tile. */
static void what_is_overwritten_is_not_stored(void **state)
{
    (void)state;
    expect_drops((struct scene){{SCALE(1, 0), STENCIL("periodic", 2, 1), SCALE(1, 2)}, SIX_FLOATS}, 1);
}

/* A load of another stage reads it in memory before it is overwritten. */
static void what_is_read_in_memory_is_stored(void **state)
{
    (void)state;
    expect_drops(
        (struct scene){{SCALE(3, 0), SCALE(1, 0), STENCIL("periodic", 2, 1), SCALE(4, 3), SCALE(3, 2)},
                       SIX_FLOATS},
        0);
}

static void local_arrays_of_a_border(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("scrambled", 1, 0), STENCIL("periodic", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void stores_of_both_branches(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("two_halves", 1, 0), STENCIL("clamped", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void edges_that_a_small_member_computes(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("middle", 1, 0),
                           {"edges", ROW(1, 128), {POINTER(1), INT(N)}},
                           STENCIL("periodic", 2, 1)},
                          SIX_FLOATS},
           3, 4);
}

/* Its branches are asked of the threads that its cells run, not of the cells' numbers. */
static void edges_far_from_their_threads(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("middle", 1, 0),
                           {"edges_by_others", ROW(1, 128), {POINTER(1), INT(N)}},
                           STENCIL("periodic", 2, 1)},
                          SIX_FLOATS},
           3, 4);
}

/* --- what is refused
 * ---------------------------------------------------------------------------------------------- */

static void no_bounded_distance_is_refused(void **state)
{
    (void)state;
    expect_refusal((struct scene){{SCALE(1, 0), STENCIL("mirror", 2, 1)}, SIX_FLOATS}, "no bounded distance");
}

static void a_store_that_data_decide(void **state)
{
    (void)state;
    expect((struct scene){{STENCIL("where_positive", 1, 0), STENCIL("clamped", 2, 1)}, SIX_FLOATS}, 2, 2);
}

static void a_store_over_another_is_refused(void **state)
{
    (void)state;
    expect_refusal((struct scene){{STENCIL("twice", 1, 0), STENCIL("clamped", 2, 1)}, SIX_FLOATS},
                   "what two stores write");
}

static void two_stores_of_one_element_in_one_thread_are_refused(void **state)
{
    (void)state;
    const struct scene_argument to = POINTER(1), from = POINTER(0), out = POINTER(2), n = INT(N / 4);
    expect_refusal((struct scene){{{"two_places", ROW(2, 128), {to, from, n}},
                                   {"places_beside", ROW(2, 128), {out, to, n}}},
                                  SIX_FLOATS},
                   "what two stores write");
}

static void a_writer_between_that_data_decide_is_refused(void **state)
{
    (void)state;
    expect_refusal(
        (struct scene){{STENCIL("middle", 1, 0), STENCIL("where_positive", 1, 3), STENCIL("periodic", 2, 1)},
                       SIX_FLOATS},
        "what a store may leave as it was is written in the group");
}

static void atomics_are_not_done_twice(void **state)
{
    (void)state;
    expect_refusal((struct scene){{{"count", ROW(8, 128), {POINTER(1), POINTER(0), INT(N)}},
                                   {"neighbours", ROW(8, 128), {POINTER(2), POINTER(1), INT(N / 8)}}},
                                  {SCENE_FLOATS, BYTES_OF, BYTES_OF}},
                   "");
}

/* Away from the edges nothing is asked; in a ring of whole blocks nowhere. */
static void interior_blocks(void **state)
{
    (void)state;
    const bool both[] = {true, true};
    expect_interior((struct scene){{SCALE(1, 0), STENCIL("clamped", 2, 1)}, SIX_FLOATS}, both);
    expect_interior((struct scene){{SCALE(1, 0), STENCIL("periodic", 2, 1)}, SIX_FLOATS}, both);
    expect_interior((struct scene){{{"scale", ROW(8, 128), {POINTER(1), POINTER(0), INT(1024)}},
                                    {"periodic", ROW(8, 128), {POINTER(2), POINTER(1), INT(1024)}}},
                                   SIX_FLOATS},
                    both);
    expect_interior(
        (struct scene){{{"across", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(77), INT(65)}},
                        {"down", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(77), INT(65)}}},
                       {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}},
        both);
}

/* Three elements: each block is at an edge. */
static void no_interior(void **state)
{
    (void)state;
    expect_interior((struct scene){{{"scale", ROW(3, 1), {POINTER(1), POINTER(0), INT(3)}},
                                    {"periodic", ROW(3, 1), {POINTER(2), POINTER(1), INT(3)}}},
                                   SIX_FLOATS},
                    (const bool[]){false, false});
}

/* Products and sums that are counted are written once. */
static void counted_code_has_no_interior(void **state)
{
    (void)state;
    struct scene scene = {
        {{"fluxes", SCENE_PLANE(3, 17), {POINTER(1), POINTER(2), POINTER(0), INT(77), INT(65)}},
         {"update", SCENE_PLANE(3, 17), {POINTER(3), POINTER(1), POINTER(2), POINTER(0), INT(77), INT(65)}}},
        {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    expect_interior(scene, (const bool[]){false, false});
}

/* The interior version has constants where the general one approximates: fewer in all than twice what the members have, and as many
 * as these have once. */
static void approximations_are_counted_in_both_versions(void **state)
{
    (void)state;
    struct scene scene = {{{"approximated", ROW(8, 128), {POINTER(1), POINTER(0), POINTER(3), INT(N)}},
                           {"approximated", ROW(8, 128), {POINTER(2), POINTER(1), POINTER(3), INT(N)}}},
                          SIX_FLOATS};
    struct scene_run run;
    struct codegen_result result;
    struct machine_code_counts counts;
    scene.module = "stencils.ptx";
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    struct codegen_request request = {.group = run.group, .name = "fused", .sm = 90};
    codegen_compile(&request, &result);
    assert_null(result.error);
    assert_null(result.unproven);
    assert_non_null(result.is_twice);
    assert_false(result.is_twice[0] || result.is_twice[1]);
    assert_true(machine_code_count(result.cubin, result.cubin_size, "fused", &counts));
    assert_int_equal(counts.functions, 2);
    codegen_result_clear(&result);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interior),
        cmocka_unit_test(clamped_edges),
        cmocka_unit_test(periodic_edges),
        cmocka_unit_test(chosen_sides),
        cmocka_unit_test(a_launch_of_whole_blocks),
        cmocka_unit_test(a_ring_of_three),
        cmocka_unit_test(edges_that_nobody_computes),
        cmocka_unit_test(a_chain_of_stencils),
        cmocka_unit_test(one_stage_for_those_that_follow),
        cmocka_unit_test(other_block_shapes),
        cmocka_unit_test(two_dimensions),
        cmocka_unit_test(across_and_down),
        cmocka_unit_test(several_arrays_around_a_corner),
        cmocka_unit_test(three_dimensions),
        cmocka_unit_test(clamped_by_one),
        cmocka_unit_test(the_remainder_of_an_index),
        cmocka_unit_test(a_ring_of_two),
        cmocka_unit_test(what_is_served_may_be_overwritten),
        cmocka_unit_test(what_is_overwritten_is_not_stored),
        cmocka_unit_test(what_is_read_in_memory_is_stored),
        cmocka_unit_test(local_arrays_of_a_border),
        cmocka_unit_test(stores_of_both_branches),
        cmocka_unit_test(edges_that_a_small_member_computes),
        cmocka_unit_test(edges_far_from_their_threads),
        cmocka_unit_test(no_bounded_distance_is_refused),
        cmocka_unit_test(a_store_that_data_decide),
        cmocka_unit_test(a_store_over_another_is_refused),
        cmocka_unit_test(two_stores_of_one_element_in_one_thread_are_refused),
        cmocka_unit_test(a_writer_between_that_data_decide_is_refused),
        cmocka_unit_test(atomics_are_not_done_twice),
        cmocka_unit_test(interior_blocks),
        cmocka_unit_test(no_interior),
        cmocka_unit_test(counted_code_has_no_interior),
        cmocka_unit_test(approximations_are_counted_in_both_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
