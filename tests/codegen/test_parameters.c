/* SPDX-License-Identifier: Apache-2.0
 * Members that read a parameter at indices that vary: each gets its own, whatever its size, its alignment, the place in
 * the member's parameters, and the kind of fusion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/codegen/scene.h"

#include <string.h>

enum { N = 1000 };

static const float first[5] = {1.5f, -2, 3, 0.25f, 7}, second[5] = {-1, 0.5f, 9, 2, -0.75f};
static const unsigned char three[4] = {200, 3, 77}, others[4] = {9, 255, 128};
static const struct {
    float of[8];
    short shift[8];
} wide = {{1, 2, 3, 4, -5, 6, -7, 8}, {-1, 300, -20000, 7}};
static const float large[3000] = {[0] = 1, [17] = 2, [999] = 3};

#define ROW                                                                                                  \
    {                                                                                                        \
        20 * N, 'f'                                                                                          \
    }
#define ROWS                                                                                                 \
    {                                                                                                        \
        ROW, ROW, ROW, ROW                                                                                   \
    }
#define SHAPE                                                                                                \
    {8, 1, 1},                                                                                               \
    {                                                                                                        \
        128, 1, 1                                                                                            \
    }
#define MODULE "parameters.ptx"

static const struct scene chain = {
    {{"weighted", SHAPE, {POINTER(1), POINTER(0), BYTES(first), INT(N)}},
     {"odd_ones", SHAPE, {POINTER(2), BYTES(three), POINTER(1), BYTES(others), INT(N)}},
     {"wide_ones", SHAPE, {POINTER(2), BYTES(others), BYTES(&wide), INT(N)}},
     {"weighted_in_place", SHAPE, {BYTES(second), POINTER(2), INT(N)}},
     {"odd_ones", SHAPE, {POINTER(1), BYTES(others), POINTER(2), BYTES(three), INT(N)}},
     {"weighted", SHAPE, {POINTER(0), POINTER(1), BYTES(second), INT(N)}}},
    ROWS,
    MODULE};
static const struct scene halo = {{{"neighbours", SHAPE, {POINTER(1), POINTER(0), BYTES(first), INT(N)}},
                                   {"middle", SHAPE, {POINTER(2), POINTER(1), BYTES(second), INT(N)}}},
                                  ROWS,
                                  MODULE};
static const struct scene joined = {{{"polynomial", SHAPE, {POINTER(1), POINTER(0), BYTES(first), INT(N)}},
                                     {"polynomial", SHAPE, {POINTER(2), POINTER(0), BYTES(second), INT(N)}}},
                                    ROWS,
                                    MODULE};
static const struct scene two_large = {{{"picked", SHAPE, {POINTER(1), POINTER(0), BYTES(large), INT(N)}},
                                        {"picked", SHAPE, {POINTER(2), POINTER(1), BYTES(large), INT(N)}}},
                                       ROWS,
                                       MODULE};
static const struct scene three_large = {{{"picked", SHAPE, {POINTER(1), POINTER(0), BYTES(large), INT(N)}},
                                          {"picked", SHAPE, {POINTER(2), POINTER(1), BYTES(large), INT(N)}},
                                          {"picked", SHAPE, {POINTER(3), POINTER(2), BYTES(large), INT(N)}}},
                                         ROWS,
                                         MODULE};

/* So many whole parameters are passed. */
static void expect_copies(const struct scene *scene, uint32_t copies)
{
    struct scene_run run;
    struct codegen_result result;
    uint32_t found = 0;
    scene_open(&run, scene);
    struct codegen_request request = {.group = run.group, .name = "fused", .sm = 90};
    codegen_write(&request, &result);
    if (result.error) fail_msg("%s", result.error);
    for (uint32_t i = 0; i < result.parameter_count; i++) {
        const struct codegen_parameter *parameter = &result.parameters[i];
        found += parameter->is_copy;
        assert_int_equal(parameter->destination_offset % parameter->alignment, 0);
        assert_true(i == 0 ||
                    parameter->destination_offset >= parameter[-1].destination_offset + parameter[-1].size);
        assert_true(parameter->destination_offset + parameter->size <= result.parameter_bytes);
    }
    assert_int_equal(found, copies);
    codegen_result_clear(&result);
    assert_true(scene_compare(&run, scene));
    scene_close(&run);
}

static void each_member_has_its_own(void **state)
{
    (void)state;
    expect_copies(&chain, 8);
    expect_copies(&two_large, 2);
}

static void members_that_several_blocks_run(void **state)
{
    (void)state;
    expect_copies(&halo, 2);
}

static void members_whose_loops_are_joined(void **state)
{
    (void)state;
    expect_copies(&joined, 2);
}

static void too_many_bytes_are_refused(void **state)
{
    struct scene_run run;
    struct codegen_result result;
    (void)state;
    scene_open(&run, &three_large);
    struct codegen_request request = {.group = run.group, .name = "fused", .sm = 90};
    codegen_write(&request, &result);
    assert_non_null(result.error);
    assert_string_equal(result.error, "its members take 36048 bytes of parameters: a kernel may have 32764");
    codegen_result_clear(&result);
    scene_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_has_its_own),
        cmocka_unit_test(members_that_several_blocks_run),
        cmocka_unit_test(members_whose_loops_are_joined),
        cmocka_unit_test(too_many_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
