/* SPDX-License-Identifier: Apache-2.0
 * Which kernels of strides.cu have grid-stride loops that any grid may run, and their copies of one iteration. */
#include "fuser/kernel/grid_stride.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool is;
} kernels[] = {
    /* clang-format off */
    {"plain", true},
    {"wide", true},
    {"known_block", true},
    {"unsigned_index", true},
    {"branches", true},
    {"inner_loop", true},
    {"planes", true},
    {"two_loops", true},
    {"two_axes", true},
    {"once_before", true},
    {"by_data", false},        /* data end the loop */
    {"ahead", false},          /* an address follows from the grid */
    {"sum", false},            /* an iteration leaves a sum to the next one */
    {"last_seen", false},      /* or a value to a later loop, */
    {"last_index", false},     /* or its number */
    {"block", false},          /* a value follows from the block, */
    {"warp", false},           /* or from the grid, */
    {"turned", false},         /* along the other axis */
    {"chosen", false},         /* the way to a value does */
    {"outside", false},        /* it stores before the loop, */
    {"own_before", false},     /* or loads there, each thread from elsewhere */
    {"shifted", true},         /* the first number is another one */
    {"twice", false},          /* the step is */
    {"backward", false},
    {"rows_of_blocks", false}, /* blocks have two threads along y */
    {"left", false},           /* the last iteration is half of one */
    {"atomic", false},
    {"clocked", false},
    {"none", false},
    /* clang-format on */
};

static char *read_all(const char *name, size_t *length)
{
    char *text = NULL;
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    text = calloc(*length + 1, 1);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}

/* The copy has no loop, and the same instructions but for one. */
static void expect_once(struct arena *arena, const struct ptx_function *function,
                        const struct ptx_function *once)
{
    const char *reason = NULL;
    uint32_t different = 0;
    assert_int_equal(once->instruction_count, function->instruction_count);
    for (uint32_t i = 0; i < once->instruction_count; i++)
        different +=
            memcmp(&once->instructions[i], &function->instructions[i], sizeof *once->instructions) != 0;
    assert_in_range(different, 1, 4);
    struct ptx_cfg *cfg = ptx_cfg_build(arena, once, &reason);
    struct loop_forest *forest = loops_build(arena, dominators_build(arena, cfg), &reason);
    struct ptx_cfg *before = ptx_cfg_build(arena, function, &reason);
    struct loop_forest *loops = loops_build(arena, dominators_build(arena, before), &reason);
    assert_int_equal(forest->loop_count + different, loops->loop_count);
}

static void finds_loops(void **state)
{
    (void)state;
    static const uint32_t grid[] = {7, 2, 1}, block[] = {128, 2, 1};
    struct arena *arena = arena_create();
    const char *top = getenv("top_srcdir"), *error = NULL;
    const char *name = arena_printf(arena, "%s/tests/analysis/strides.ptx", top ? top : ".");
    size_t length;
    char *text = read_all(name, &length);
    struct ptx_module *module = ptx_parse(name, text, length, &error);
    assert_null(error);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const struct ptx_function *function = ptx_find_function(module, kernels[k].name);
        struct grid_strides found;
        assert_non_null(function);
        if (grid_strides_find(arena, function, grid, block, &found) != kernels[k].is)
            fail_msg("%s", kernels[k].name);
        if (kernels[k].is) expect_once(arena, function, found.of[found.count - 1].once);
    }
    ptx_module_free(module);
    free(text);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
