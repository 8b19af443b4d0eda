/* SPDX-License-Identifier: Apache-2.0
 * Which kernels of tiles.cu are told to stage what others read, and their copies that read it where it lies. */
#include "fuser/access/unstage.h"
#include "tests/analysis/launch_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <isl/options.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t loads, most_pieces; /* 0: it is not told */
} kernels[] = {
    {"edges", 5, 1},   {"clamped", 5, 2},  {"box", 25, 2},     {"periodic", 5, 2},
    {"cleared", 5, 2}, {"row", 4, 2},      {"beside", 1, 1},   {"grey", 5, 2},
    {"late", 1, 1},    {"in_place", 2, 1}, {"refilled", 0, 0}, {"sums", 0, 0},
};

static uint32_t number_of(const char *name)
{
    for (uint32_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name)) return i;
    fail_msg("%s is not in the table", name);
    return 0;
}

/* No shared memory and no barriers, and as many loads from elsewhere as there were from there. */
static void expect_plain(struct arena *arena, const struct ptx_function *function,
                         const struct ptx_function *copy, uint32_t loads)
{
    const bool *was_staged = unstage_loads(arena, function, copy);
    uint32_t count = 0;
    assert_non_null(was_staged);
    for (uint32_t i = 0; i < copy->instruction_count; i++) {
        assert_int_not_equal(copy->instructions[i].space, PTX_SHARED);
        assert_false(ptx_is_block_barrier(&copy->instructions[i]));
        count += was_staged[i];
    }
    assert_int_equal(count, loads);
}

/* What is loaded lies where each thread's sums say, whatever parts them. */
static void expect_pieces(const struct staged_load *load, uint32_t most)
{
    isl_set *all = isl_set_empty(isl_set_get_space(load->threads));
    assert_in_range(load->piece_count, 1, most);
    for (uint32_t p = 0; p < load->piece_count; p++) {
        assert_int_equal(isl_set_is_disjoint(all, load->pieces[p].threads), isl_bool_true);
        all = isl_set_union(all, isl_set_copy(load->pieces[p].threads));
    }
    assert_int_equal(isl_set_is_equal(all, load->threads), isl_bool_true);
    isl_set_free(all);
}

static void expect(isl_ctx *ctx, const struct launch_line *line, const struct ptx_module *module)
{
    uint32_t number = number_of(line->kernel);
    struct launch_input input;
    struct staging staging;
    launch_file_input(line, module, &input);
    struct arena *arena = arena_create();
    bool is = staging_find(ctx, &input, &staging);
    if (is != (kernels[number].loads > 0)) fail_msg("%s: told %d", line->kernel, is);
    if (is) {
        assert_int_equal(staging.load_count, kernels[number].loads);
        for (uint32_t i = 0; i < staging.load_count; i++)
            expect_pieces(&staging.loads[i], kernels[number].most_pieces);
        const struct ptx_function *copy = unstage_function(arena, input.function, &staging);
        if (!copy) fail_msg("%s is not written", line->kernel);
        expect_plain(arena, input.function, copy, staging.load_count);
    }
    staging_close(&staging);
    arena_free(arena);
}

static void tells_of_tiles(void **state)
{
    const char *source = getenv("top_srcdir"), *error = NULL;
    char path[4096];
    (void)state;
    snprintf(path, sizeof path, "%s/tests/analysis/tiles.ptx", source ? source : ".");
    char *text = launch_file_read(path);
    struct ptx_module *module = ptx_parse(path, text, strlen(text), &error);
    assert_non_null(module);
    isl_ctx *ctx = isl_ctx_alloc();
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    struct launch_line *line = malloc(sizeof *line);
    uint32_t count = 0;
    assert_non_null(line);
    for (const char *cursor = text; launch_file_next(&cursor, line); count++) expect(ctx, line, module);
    assert_int_equal(count, sizeof kernels / sizeof *kernels);
    free(line);
    isl_ctx_free(ctx);
    ptx_module_free(module);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_of_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
