/* SPDX-License-Identifier: Apache-2.0
 * Blocks that march: fused kernels leave the same memory as their originals, however many layers a block has, in every order of
 * blocks and warps; rings and turns are as long as they must be, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/fusion/halo_march.h"
#include "tests/codegen/scene.h"

enum { N = 18, ROWS = 65 };

#define CUBE .grid = {3, 5, 5}, .block = {8, 4, 4}

static void march(struct scene_run *run, struct scene *scene, uint32_t layers, int axis)
{
    scene->module = "stencils.ptx";
    scene->march_layers = layers;
    scene_open(run, scene);
    assert_null(run->group->refusal);
    assert_int_equal(run->group->march, axis);
}

/* By chunks of one layer, of several that divide the axis or do not, and of all. */
static void expect(struct scene scene, int axis, uint32_t least)
{
    static const uint32_t layers[] = {1, 2, 5, 9, 64, 1000};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct scene_run run;
        if (layers[i] < least) continue;
        march(&run, &scene, layers[i], axis);
        assert_true(scene_compare(&run, &scene));
        scene_close(&run);
    }
}

static struct scene a_cube(void)
{
    return (struct scene){{{"square", CUBE, {POINTER(1), POINTER(0), INT(N)}},
                           {"seven_points", CUBE, {POINTER(2), POINTER(1), INT(N)}}},
                          {SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS}};
}

static void planes(void **state)
{
    (void)state;
    expect(a_cube(), 2, 1);
}

static struct scene rows_and_columns(void)
{
    return (struct scene){{{"down", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(77), INT(ROWS)}},
                           {"across", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(77), INT(ROWS)}},
                           {"down", SCENE_PLANE(3, 17), {POINTER(3), POINTER(2), INT(77), INT(ROWS)}},
                           {"down", SCENE_PLANE(3, 17), {POINTER(4), POINTER(3), INT(77), INT(ROWS)}}},
                          {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
}

static void rows(void **state)
{
    (void)state;
    expect(rows_and_columns(), 1, 2);
}

/* Borders wrap around both axes: layers before the first one are the last ones. */
static void periodic_rows(void **state)
{
    (void)state;
    expect(
        (struct scene){
            {{"fluxes", SCENE_PLANE(3, 17), {POINTER(1), POINTER(2), POINTER(0), INT(77), INT(ROWS)}},
             {"update",
              SCENE_PLANE(3, 17),
              {POINTER(3), POINTER(1), POINTER(2), POINTER(0), INT(77), INT(ROWS)}}},
            {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}},
        1, 1);
}

/* All layers of the launch are alike; those beside it, that stand for layers at its other end, are not. */
static void alike_up_to_the_ends(void **state)
{
    (void)state;
    expect((struct scene){{{"around", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(96), INT(68)}},
                           {"around", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(96), INT(68)}}},
                          {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}},
           1, 1);
}

/* A layer of the last stage comes a turn behind the one that it reads in front: before that two more are kept, and one is written. */
static void rings_and_turns(void **state)
{
    (void)state;
    struct scene scene = a_cube();
    struct scene_run run;
    march(&run, &scene, 6, 2);
    const struct group_stage *stages = run.group->stages;
    assert_int_equal(run.group->stage_count, 2);
    assert_int_equal(run.group->tile[2], 6);
    assert_int_equal(run.group->grid[2], 3 + (run.group->cells[2] > N));
    assert_int_equal(stages[0].ring, 4);
    assert_int_equal(stages[0].first_turn, 0);
    assert_int_equal(stages[1].first_turn, 3);
    assert_int_equal(halo_march_turns(run.group, 2, 6), 9);
    scene_close(&run);
}

/* What the first stage reads is asked for a layer ahead, up to the last one that it reads. */
static void the_next_layer_is_prefetched(void **state)
{
    (void)state;
    struct scene scene = a_cube();
    struct scene_run run;
    march(&run, &scene, 6, 2);
    assert_int_equal(run.group->prefetch_count, 1);
    assert_int_equal(run.group->prefetches[0].member, 0);
    assert_int_equal(run.group->prefetches[0].stride, 4 * N * N);
    assert_int_equal(run.group->prefetches[0].last, N - 1);
    scene_close(&run);
    scene = rows_and_columns();
    march(&run, &scene, 6, 1);
    assert_int_equal(run.group->prefetch_count, 1); /* of three loads, the foremost */
    assert_int_equal(run.group->prefetches[0].stride, 8 * 77);
    assert_int_equal(run.group->prefetches[0].last, ROWS - 2);
    scene_close(&run);
}

/* Borders along x alone: nothing is recomputed along another axis, and no block marches. */
static void nothing_to_march_for(void **state)
{
    (void)state;
    struct scene scene = {{{"across", SCENE_PLANE(3, 17), {POINTER(1), POINTER(0), INT(77), INT(ROWS)}},
                           {"across", SCENE_PLANE(3, 17), {POINTER(2), POINTER(1), INT(77), INT(ROWS)}}},
                          {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    struct scene_run run;
    march(&run, &scene, 6, 0);
    assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

/* Large launches of three dimensions march, small ones do not, nor those of two. */
static void where_it_pays(void **state)
{
    (void)state;
#define LARGE .grid = {50, 100, 100}, .block = { 8, 4, 4 }
    struct scene scene = {{{"square", LARGE, {POINTER(1), POINTER(0), INT(400)}},
                           {"seven_points", LARGE, {POINTER(2), POINTER(1), INT(400)}}},
                          {SCENE_FLOATS, SCENE_FLOATS, SCENE_FLOATS}};
    struct scene_run run;
    march(&run, &scene, 0, 2);
    assert_in_range(run.group->tile[2], 20, 200);
    assert_in_range((uintmax_t)run.group->tile[0] * run.group->tile[1], 128, 512);
    scene_close(&run);
    march(&run, &scene, UINT32_MAX, 0);
    scene_close(&run);
    scene = (struct scene){{{"down",
                             .grid = {128, 1024, 1},
                             .block = {32, 4, 1},
                             {POINTER(1), POINTER(0), INT(4096), INT(4096)}},
                            {"down",
                             .grid = {128, 1024, 1},
                             .block = {32, 4, 1},
                             {POINTER(2), POINTER(1), INT(4096), INT(4096)}}},
                           {SCENE_DOUBLES, SCENE_DOUBLES, SCENE_DOUBLES}};
    march(&run, &scene, 0, 0);
    scene_close(&run);
    scene = a_cube();
    march(&run, &scene, 0, 0);
    scene_close(&run);
    march(&run, &scene, UINT32_MAX, 0);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes),
        cmocka_unit_test(rows),
        cmocka_unit_test(periodic_rows),
        cmocka_unit_test(alike_up_to_the_ends),
        cmocka_unit_test(rings_and_turns),
        cmocka_unit_test(the_next_layer_is_prefetched),
        cmocka_unit_test(nothing_to_march_for),
        cmocka_unit_test(where_it_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
