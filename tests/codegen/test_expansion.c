/* SPDX-License-Identifier: Apache-2.0
 * Halo fusion of members whose threads iterate loops: each iteration is a cell (fuser/access/expansion.h).
 * Fused kernels leave the same memory as their originals, in every order of blocks and warps; what does not
 * come apart is refused, for the right reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/access/expansion.h"
#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 37, M = 9, ARRAY_BYTES = 32 << 10 };

#define FLOATS                                                                                               \
    {                                                                                                        \
        ARRAY_BYTES, 'f'                                                                                     \
    }
#define LAUNCH(kernel, to, from, levels)                                                                     \
    {                                                                                                        \
        kernel, .grid = {3, 3, 1}, .block = {16, 4, 1},                                                      \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(N), INT(M), INT(levels)                                          \
        }                                                                                                    \
    }

static struct scene scene_of(const char *first, const char *second, int levels)
{
    return (struct scene){{LAUNCH(first, 1, 0, levels), LAUNCH(second, 2, 1, levels)},
                          {FLOATS, FLOATS, FLOATS, FLOATS},
                          .module = "expansion.ptx"};
}

/* Compares memory, and the number of iterations of a member, 0: it is not expanded. */
static void expect_scene(const struct scene *scene, uint32_t member, uint32_t iterations,
                         const uint32_t low[3], const uint32_t high[3])
{
    struct scene_run run;
    scene_open(&run, scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, scene));
    assert_int_equal(run.group->stage_count, 2);
    const struct expansion *expansion = group_expansion_of(run.group, member);
    assert_int_equal(expansion ? expansion->iterations : 0, iterations);
    for (int d = 0; d < 3; d++) {
        assert_int_equal(run.group->stages[0].low[d], low[d]);
        assert_int_equal(run.group->stages[0].high[d], high[d]);
    }
    scene_close(&run);
}

static void expect(const char *first, const char *second, int levels, uint32_t iterations,
                   const uint32_t low[3], const uint32_t high[3])
{
    struct scene scene = scene_of(first, second, levels);
    expect_scene(&scene, 1, iterations, low, high);
}

static void expect_refusal(const char *first, const char *second, const char *why)
{
    struct scene scene = scene_of(first, second, 6);
    struct scene_run run;
    scene_open(&run, &scene);
    assert_non_null(run.group->refusal);
    if (!strstr(run.group->refusal, why)) fail_msg("%s", run.group->refusal);
    scene_close(&run);
}

static const uint32_t none[3] = {0, 0, 0}, corner[3] = {1, 1, 0}, left[3] = {1, 0, 0};

static void neighbours_in_each_iteration(void **state)
{
    (void)state;
    expect("make", "corner", 5, 5, corner, none);
    expect("make", "corner", 1, 1, corner, none);
    expect("make", "periodic", 4, 4, left, left);
}

static void levels_above_and_below(void **state)
{
    (void)state;
    expect("make", "levels_around", 6, 4, left, (uint32_t[]){0, 0, 2});
}

static void levels_in_the_other_direction(void **state)
{
    (void)state;
    expect_refusal("downwards", "corner", "they lie at no bounded distance");
    expect("downwards", "corner", 1, 1, corner, none);
}

static void branches_and_loops_in_an_iteration(void **state)
{
    (void)state;
    expect("make", "powers", 5, 5, left, none);
}

static void loops_for_parts_of_the_threads(void **state)
{
    (void)state;
    struct scene scene = scene_of("two_loops", "corner", 3);
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 2);
    assert_int_equal(group_expansion_of(run.group, 0)->iterations, 6);
    scene_close(&run);
}

static void a_loop_behind_a_loop(void **state)
{
    (void)state;
    expect("continued", "corner", 7, 7, corner, none);
    struct scene scene = scene_of("make", "continued", 7);
    scene.launches[1].arguments[1].array = 1;
    scene.launches[2] = (struct scene_launch)LAUNCH("corner", 3, 2, 7);
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 3);
    scene_close(&run);
}

static void a_launch_without_a_loop(void **state)
{
    (void)state;
    struct scene scene = scene_of("flat", "corner", 4);
    scene.launches[0].grid[2] = 4;
    expect_scene(&scene, 0, 0, corner, none);
    expect_scene(&scene, 1, 4, corner, none);
}

static void places_along_z(void **state)
{
    (void)state;
    expect("deep", "corner", 3, 3, corner, none);
}

static void unrolled_loops_and_their_rests(void **state)
{
    (void)state;
    expect("make_levels", "corner_levels", 3, 3, corner, none);
    expect("make_levels", "corner_levels", 8, 2, corner, none);
    expect("make_levels", "corner_levels", 14, 5, corner, none);
}

/* The last copy of an iteration reads what the next iteration writes, or the first of the rest. */
static void across_the_seams_of_unrolled_loops(void **state)
{
    (void)state;
    expect("make_levels", "upper_levels", 8, 4, (uint32_t[]){1, 0, 2}, (uint32_t[]){0, 0, 1});
}

static void a_chain_of_loops(void **state)
{
    (void)state;
    struct scene scene = scene_of("make", "corner", 5);
    scene.launches[2] = (struct scene_launch)LAUNCH("corner", 3, 2, 5);
    struct scene_run run;
    scene_open(&run, &scene);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, 3);
    scene_close(&run);
}

/* --- refused
 * -------------------------------------------------------------------------------------------------- */

static void values_that_pass_from_iteration_to_iteration(void **state)
{
    (void)state;
    expect_refusal("sums", "corner", "that is no counter");
    expect_refusal("doubling", "corner", "that is no counter");
}

static void stores_behind_the_loop(void **state)
{
    (void)state;
    expect_refusal("behind", "corner", "a store outside of the loop");
}

static void loops_of_unequal_length(void **state)
{
    (void)state;
    expect_refusal("triangle", "corner", "how often the loop goes round");
    expect_refusal("two_ends", "corner", "how often the loop goes round");
}

static void bytes_that_iterations_share(void **state)
{
    (void)state;
    expect_refusal("make", "last_wins", "another iteration of the loop touches");
    expect_refusal("make", "rising", "another iteration of the loop touches");
    expect_refusal("make", "first_kept", "another iteration of the loop touches");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_in_each_iteration),
        cmocka_unit_test(levels_above_and_below),
        cmocka_unit_test(levels_in_the_other_direction),
        cmocka_unit_test(branches_and_loops_in_an_iteration),
        cmocka_unit_test(loops_for_parts_of_the_threads),
        cmocka_unit_test(a_loop_behind_a_loop),
        cmocka_unit_test(a_launch_without_a_loop),
        cmocka_unit_test(places_along_z),
        cmocka_unit_test(unrolled_loops_and_their_rests),
        cmocka_unit_test(across_the_seams_of_unrolled_loops),
        cmocka_unit_test(a_chain_of_loops),
        cmocka_unit_test(values_that_pass_from_iteration_to_iteration),
        cmocka_unit_test(stores_behind_the_loop),
        cmocka_unit_test(loops_of_unequal_length),
        cmocka_unit_test(bytes_that_iterations_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
