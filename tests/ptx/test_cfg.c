/* SPDX-License-Identifier: Apache-2.0
 * Blocks and edges by example. Each expectation is one line a block: `first+count > successors <
 * predecessors`. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct ptx_module *parse(const char *body)
{
    char text[2048];
    const char *error;
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .pred %%p<4>;\n.reg .b32 "
             "%%r<4>;\n%s}\n",
             body);
    struct ptx_module *module = ptx_parse("example", text, strlen(text), &error);
    assert_non_null(module);
    assert_null(error);
    if (module->functions[0]->unreadable) fail_msg("%s", module->functions[0]->unreadable);
    return module;
}

static void print_list(FILE *out, const char *mark, const uint32_t *list, uint32_t count)
{
    fputs(mark, out);
    for (uint32_t i = 0; i < count; i++) fprintf(out, " %u", list[i]);
}

static void expect_cfg(const char *body, const char *expected)
{
    char actual[2048] = "";
    const char *reason;
    struct ptx_module *module = parse(body);
    struct ptx_cfg *cfg = ptx_cfg_build(module->arena, module->functions[0], &reason);
    if (!cfg) fail_msg("%s", reason);
    FILE *out = fmemopen(actual, sizeof actual, "w");
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        const struct ptx_block *block = &cfg->blocks[i];
        fprintf(out, "%u+%u", block->first, block->count);
        print_list(out, " >", block->successors, block->successor_count);
        print_list(out, " <", block->predecessors, block->predecessor_count);
        fputc('\n', out);
        for (uint32_t j = 0; j < block->count; j++) assert_int_equal(cfg->block_of[block->first + j], i);
    }
    fclose(out);
    assert_string_equal(actual, expected);
    ptx_module_free(module);
}

static void straight(void **state)
{
    (void)state;
    expect_cfg("mov.u32 %r1, 1;\nret;\n", "0+2 > 1 <\n2+0 > < 0\n");
}

static void empty(void **state)
{
    (void)state;
    expect_cfg("", "0+0 > 1 <\n0+0 > < 0\n");
}

static void guarded_return_and_loop(void **state)
{
    (void)state;
    expect_cfg("mov.u32 %r1, 1;\n@%p1 ret;\nmov.u32 %r2, 0;\n"
               "LOOP:\n@%p2 add.u32 %r2, %r2, 1;\n@%p3 bra LOOP;\nst.shared.u32 [0], %r2;\nexit;\n",
               "0+2 > 4 1 <\n2+1 > 2 < 0\n3+2 > 2 3 < 1 2\n5+2 > 4 < 2\n7+0 > < 0 3\n");
}

static void taken_branch_comes_first(void **state)
{
    (void)state;
    expect_cfg("@%p1 bra B;\nmov.u32 %r1, 1;\nbra C;\nB:\nmov.u32 %r1, 2;\nC:\nret;\n",
               "0+1 > 2 1 <\n1+2 > 3 < 0\n3+1 > 3 < 0\n4+1 > 4 < 1 2\n5+0 > < 3\n");
}

static void label_at_the_end_is_the_exit(void **state)
{
    (void)state;
    expect_cfg("@%p1 bra END;\nmov.u32 %r1, 1;\nEND:\n", "0+1 > 2 1 <\n1+1 > 2 < 0\n2+0 > < 0 1\n");
}

static void table_names_each_block_once(void **state)
{
    (void)state;
    expect_cfg("T: .branchtargets A, B, A;\n@%p1 brx.idx %r1, T;\nret;\nA:\nmov.u32 %r1, 1;\nB:\nret;\n",
               "0+1 > 2 3 1 <\n1+1 > 4 < 0\n2+1 > 3 < 0\n3+1 > 4 < 0 2\n4+0 > < 1 3\n");
}

static void refuses_unknown_targets(void **state)
{
    (void)state;
    const char *reason;
    struct ptx_module *module = parse("brx.idx %r1, nothing;\nret;\n");
    assert_null(ptx_cfg_build(module->arena, module->functions[0], &reason));
    assert_string_equal(reason, "example:8: a branch whose targets are not known: brx.idx %r1, nothing;");
    ptx_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight),
        cmocka_unit_test(empty),
        cmocka_unit_test(guarded_return_and_loop),
        cmocka_unit_test(taken_branch_comes_first),
        cmocka_unit_test(label_at_the_end_is_the_exit),
        cmocka_unit_test(table_names_each_block_once),
        cmocka_unit_test(refuses_unknown_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
