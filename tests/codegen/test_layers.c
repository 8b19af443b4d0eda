/* SPDX-License-Identifier: Apache-2.0
 * Halo fusion of fields of a few components with what is computed once for all of them (halo.h, rule 9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

enum { NX = 77, NY = 45, BYTES = 4 * 4 * (NX + 2) * (NY + 1) };

#define FLOATS                                                                                               \
    {                                                                                                        \
        BYTES, 'f'                                                                                           \
    }
#define FIVE_FLOATS                                                                                          \
    {                                                                                                        \
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS                                                               \
    }
#define PLANE(kernel, to, from)                                                                              \
    {                                                                                                        \
        kernel, .grid = {3, 12, 1}, .block = {32, 4, 1},                                                     \
        {                                                                                                    \
            POINTER(to), POINTER(from), INT(NX), INT(NY)                                                     \
        }                                                                                                    \
    }
#define LAYERS(kernel, layers, ...)                                                                          \
    {                                                                                                        \
        kernel, .grid = {3, 12, layers}, .block = {32, 4, 1},                                                \
        {                                                                                                    \
            __VA_ARGS__, INT(NX), INT(NY)                                                                    \
        }                                                                                                    \
    }
#define LINE(kernel, threads, ...)                                                                           \
    {                                                                                                        \
        kernel, .grid = {((threads) + 127) / 128, 1, 1}, .block = {128, 1, 1},                               \
        {                                                                                                    \
            __VA_ARGS__, INT(NX), INT(NY)                                                                    \
        }                                                                                                    \
    }

/* Compares memory, and how many stages the group has, which of them flat (a bit each). */
static void expect(struct scene scene, uint32_t stages, unsigned flat)
{
    struct scene_run run;
    scene.module = "layers.ptx";
    scene_open(&run, &scene);
    if (run.group->refusal) fail_msg("%s", run.group->refusal);
    assert_true(scene_compare(&run, &scene));
    assert_int_equal(run.group->stage_count, stages);
    for (uint32_t s = 0; s < stages; s++) assert_int_equal(run.group->stages[s].is_flat, flat >> s & 1);
    scene_close(&run);
}

#define FLUXES          PLANE("fluxes", 1, 0)
#define DIFFERENCES(to) LAYERS("differences", 4, POINTER(to), POINTER(1))
#define APPLY(to, by)   LAYERS("apply", 4, POINTER(to), POINTER(0), POINTER(by))

static void one_thread_writes_four_components(void **state)
{
    (void)state;
    expect((struct scene){{FLUXES, DIFFERENCES(2)}, FIVE_FLOATS}, 2, 1);
    expect((struct scene){{FLUXES, DIFFERENCES(2), APPLY(3, 2)}, FIVE_FLOATS}, 2, 1);
}

static void one_thread_reads_four_components(void **state)
{
    (void)state;
    expect((struct scene){{DIFFERENCES(2), PLANE("total", 3, 2)}, FIVE_FLOATS}, 2, 2);
    expect((struct scene){{DIFFERENCES(2), PLANE("total", 3, 2), LAYERS("share", 4, POINTER(4), POINTER(3))},
                          FIVE_FLOATS},
           3, 2);
}

/* The next step's fluxes need what this one has made of its own. */
static void a_step_after_another(void **state)
{
    (void)state;
    expect((struct scene){{FLUXES, DIFFERENCES(2), APPLY(3, 2), PLANE("fluxes", 4, 3)}, FIVE_FLOATS}, 4, 9);
}

static void other_numbers_of_components(void **state)
{
    (void)state;
    for (int layers = 2; layers <= 4; layers++)
        expect((struct scene){{PLANE("total", 3, 2), LAYERS("share", layers, POINTER(4), POINTER(3))},
                              FIVE_FLOATS},
               2, 1);
}

/* The last one reads the first one's: its place lies beyond the last. */
static void components_in_a_ring(void **state)
{
    (void)state;
    for (int layers = 2; layers <= 4; layers++)
        expect((struct scene){{PLANE("total", 3, 2),
                               LAYERS("share", layers, POINTER(4), POINTER(3)),
                               {"next_of",
                                .grid = {3, 12, layers},
                                .block = {32, 4, 1},
                                {POINTER(1), POINTER(4), INT(NX), INT(NY), INT(layers)}}},
                              FIVE_FLOATS},
               3, 1);
}

static void one_component_in_place(void **state)
{
    (void)state;
    struct scene scene = {
        {DIFFERENCES(2),
         {"first_of", .grid = {3, 12, 1}, .block = {32, 4, 1}, {POINTER(2), INT(NX), INT(NY)}},
         LAYERS("share", 4, POINTER(4), POINTER(3))},
        FIVE_FLOATS};
    struct scene_run run;
    scene.module = "layers.ptx";
    scene_open(&run, &scene);
    if (!run.group->refusal) assert_true(scene_compare(&run, &scene));
    scene_close(&run);
}

static void what_data_decide(void **state)
{
    (void)state;
    expect(
        (struct scene){{PLANE("total_where", 3, 2), LAYERS("share", 4, POINTER(4), POINTER(3))}, FIVE_FLOATS},
        2, 1);
}

static void lines(void **state)
{
    (void)state;
    expect((struct scene){{LINE("line_fluxes", (NX + 1) * NY, POINTER(1), POINTER(0)),
                           LINE("line_differences", 4 * NX * NY, POINTER(2), POINTER(1)),
                           LINE("line_apply", 4 * NX * NY, POINTER(3), POINTER(0), POINTER(2))},
                          FIVE_FLOATS},
           2, 1);
}

static void lines_of_whole_layers(void **state)
{
    (void)state;
    expect((struct scene){{LINE("line_risings", NX * (NY + 1), POINTER(1), POINTER(0)),
                           LINE("line_climbs", 4 * NX * NY, POINTER(2), POINTER(1)),
                           LINE("line_apply", 4 * NX * NY, POINTER(3), POINTER(0), POINTER(2))},
                          FIVE_FLOATS},
           2, 1);
    expect((struct scene){{LINE("line_risings", NX * (NY + 1), POINTER(1), POINTER(0)),
                           LINE("line_climbs", 4 * NX * NY, POINTER(2), POINTER(1))},
                          FIVE_FLOATS},
           2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_writes_four_components),
        cmocka_unit_test(one_thread_reads_four_components),
        cmocka_unit_test(a_step_after_another),
        cmocka_unit_test(other_numbers_of_components),
        cmocka_unit_test(components_in_a_ring),
        cmocka_unit_test(one_component_in_place),
        cmocka_unit_test(what_data_decide),
        cmocka_unit_test(lines),
        cmocka_unit_test(lines_of_whole_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
