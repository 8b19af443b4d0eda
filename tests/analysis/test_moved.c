/* SPDX-License-Identifier: Apache-2.0
 * Launches that do the same in other places of their arrays: a row that an argument chooses, and what tells
 * others apart. */
#include "fuser/access/moved.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROW = 256 };

/* Thread x copies word x of row `from` to row `to`, where x is less than `count`. */
static const char text[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 from, .param .u32 to, .param .u32 "
    "count)\n{\n"
    ".reg .u64 %p<8>; .reg .b32 %r<8>; .reg .f32 %f; .reg .pred %q;\n"
    "ld.param.u64 %p1, [p];\nld.param.u64 %p2, [q];\nld.param.u32 %r1, [from];\nld.param.u32 %r2, [to];\n"
    "ld.param.u32 %r4, [count];\nmov.u32 %r3, %tid.x;\nsetp.ge.s32 %q, %r3, %r4;\n@%q bra done;\n"
    "mad.lo.s32 %r1, %r1, 64, %r3;\nmad.lo.s32 %r2, %r2, 64, %r3;\n"
    "mul.wide.s32 %p3, %r1, 4;\nadd.s64 %p1, %p1, %p3;\nmul.wide.s32 %p4, %r2, 4;\nadd.s64 %p2, %p2, %p4;\n"
    "ld.global.f32 %f, [%p1];\nst.global.f32 [%p2], %f;\ndone:\nret;\n}\n";

struct scene {
    isl_ctx *ctx;
    struct ptx_module *module;
};

static int open_scene(void **state)
{
    static struct scene scene;
    const char *error;
    scene.ctx = isl_ctx_alloc();
    isl_options_set_on_error(scene.ctx, ISL_ON_ERROR_CONTINUE);
    scene.module = ptx_parse("case", text, strlen(text), &error);
    *state = &scene;
    return !scene.module;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    ptx_module_free(scene->module);
    isl_ctx_free(scene->ctx);
    return 0;
}

struct launch {
    uint32_t from, to, count, threads;
};

static struct access_summary *analyse(const struct scene *scene, struct launch launch)
{
    const struct launch_pointer pointers[] = {{0}, {8}};
    struct {
        uint64_t p, q;
        uint32_t from, to, count;
    } arguments = {0, 0, launch.from, launch.to, launch.count};
    const struct launch_input input = {.function = ptx_find_function(scene->module, "k"),
                                       .grid = {1, 1, 1},
                                       .block = {launch.threads, 1, 1},
                                       .arguments = (const unsigned char *)&arguments,
                                       .arguments_size = 28,
                                       .pointers = pointers,
                                       .pointer_count = 2};
    struct access_summary *summary = access_analyse(scene->ctx, &input);
    assert_non_null(summary);
    assert_null(summary->refusal);
    assert_int_equal(summary->base_count, 2);
    return summary;
}

static bool compare(void **state, struct launch first, struct launch second, int64_t distances[2])
{
    struct access_summary *here = analyse(*state, first), *there = analyse(*state, second);
    bool is = access_is_moved(here, there, distances);
    access_summary_free(here);
    access_summary_free(there);
    return is;
}

static void another_row(void **state)
{
    int64_t distances[2];
    assert_true(compare(state, (struct launch){1, 2, 60, 64}, (struct launch){4, 3, 60, 64}, distances));
    assert_int_equal(distances[0], 3 * ROW);
    assert_int_equal(distances[1], ROW);
    assert_true(compare(state, (struct launch){4, 2, 60, 64}, (struct launch){1, 2, 60, 64}, distances));
    assert_int_equal(distances[0], -3 * ROW);
    assert_int_equal(distances[1], 0);
}

static void fewer_threads(void **state)
{
    int64_t distances[2];
    assert_false(compare(state, (struct launch){1, 2, 60, 64}, (struct launch){1, 2, 59, 64}, distances));
    assert_false(compare(state, (struct launch){1, 2, 60, 64}, (struct launch){1, 2, 60, 96}, distances));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_row, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(fewer_threads, open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
