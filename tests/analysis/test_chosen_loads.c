/* SPDX-License-Identifier: Apache-2.0
 * Loads whose address data choose, in hand-written PTX: which are split, and from where each half loads. */
#include "fuser/kernel/chosen_loads.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "tests/analysis/new_registers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                                 \
    ".version 9.0\n.target sm_90\n.address_size 64\n.func (.param .b64 r) g() { ret; }\n.visible .entry "    \
    "f(.param .u64 a, .param .u32 n)\n{\n"                                                                   \
    ".reg .b64 %rd<20>;\n.reg .b32 %r<20>;\n.reg .f32 %f<8>;\n.reg .pred %p<8>;\n"                           \
    "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"                                \
    "mul.wide.s32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n"                    \
    "setp.gt.f32 %p1, %f1, 0f00000000;\nsetp.lt.s32 %p2, %r2, %r1;\n"
#define ADDRESS "add.s32 %r4, %r2, %r3;\nmul.wide.s32 %rd4, %r4, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
#define TAIL    "st.global.f32 [%rd3], %f2;\nret;\n}\n"

/* expected: the instructions that stand in place of the last load; registers have new names, N and a number, in order. */
static const struct {
    const char *body, *expected;
} cases[] = {
    /* a selp with numbers, and one with registers */
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "ld.global.f32 %f2, [%rd5+8];\n",
     "mov.b32 N0, -1; add.s32 N1, %r2, N0; mul.wide.s32 N2, N1, 4; add.s64 N3, %rd1, N2; "
     "@%p1 ld.global.f32 %f2, [N3+8]; "
     "mov.b32 N4, 0; add.s32 N5, %r2, N4; mul.wide.s32 N6, N5, 4; add.s64 N7, %rd1, N6; "
     "@!%p1 ld.global.f32 %f2, [N7+8]; "},
    {"add.s64 %rd6, %rd3, 4;\nselp.b64 %rd5, %rd6, %rd3, %p1;\nld.global.nc.f32 %f2, [%rd5];\n",
     "@%p1 ld.global.nc.f32 %f2, [%rd6]; @!%p1 ld.global.nc.f32 %f2, [%rd3]; "},
    /* two ways that meet; what one of them computes is computed again */
    {"@%p1 bra L1;\nadd.s32 %r5, %r2, 1;\nmin.s32 %r3, %r5, %r1;\nbra.uni L2;\n"
     "L1:\nmov.u32 %r3, 7;\nL2:\n" ADDRESS "ld.global.f32 %f2, [%rd5];\n",
     "mov.u32 N0, 7; add.s32 N1, %r2, N0; mul.wide.s32 N2, N1, 4; add.s64 N3, %rd1, N2; "
     "@%p1 ld.global.f32 %f2, [N3]; "
     "add.s32 N4, %r2, 1; min.s32 N5, N4, %r1; add.s32 N6, %r2, N5; mul.wide.s32 N7, N6, 4; "
     "add.s64 N8, %rd1, N7; @!%p1 ld.global.f32 %f2, [N8]; "},
    /* addresses of arrays, that each way has from the arguments; what a call returns is no argument */
    {"@%p1 bra L1;\nld.param.u64 %rd6, [a];\nadd.s64 %rd5, %rd6, %rd2;\nbra.uni L2;\n"
     "L1:\nld.param.u64 %rd7, [a];\nadd.s64 %rd5, %rd7, 64;\nL2:\nld.global.f32 %f2, [%rd5];\n",
     "ld.param.u64 N0, [a]; add.s64 N1, N0, 64; @%p1 ld.global.f32 %f2, [N1]; "
     "ld.param.u64 N2, [a]; add.s64 N3, N2, %rd2; @!%p1 ld.global.f32 %f2, [N3]; "},
    {"{\n.param .b64 r;\ncall.uni (r), g, ();\nld.param.u64 %rd6, [r];\n}\n"
     "@%p1 bra L1;\nadd.s64 %rd5, %rd6, %rd2;\nbra.uni L2;\n"
     "L1:\nadd.s64 %rd5, %rd6, 64;\nL2:\nld.global.f32 %f2, [%rd5];\n",
     "add.s64 N0, %rd6, 64; @%p1 ld.global.f32 %f2, [N0]; "
     "add.s64 N1, %rd6, %rd2; @!%p1 ld.global.f32 %f2, [N1]; "},
    {"{\n.param .b64 r;\ncall.uni (r), g, ();\n@%p1 bra L1;\nld.param.u64 %rd6, [r];\n"
     "add.s64 %rd5, %rd6, %rd2;\nbra.uni L2;\n"
     "L1:\nld.param.u64 %rd5, [a];\nL2:\nld.global.f32 %f2, [%rd5];\n}\n",
     NULL},
    /* the way around, under a condition that is negated */
    {"mov.u32 %r3, 0;\n@!%p1 bra L1;\nmov.u32 %r3, 1;\nL1:\n" ADDRESS "ld.global.f32 %f2, [%rd5];\n",
     "mov.u32 N0, 1; add.s32 N1, %r2, N0; mul.wide.s32 N2, N1, 4; add.s64 N3, %rd1, N2; "
     "@%p1 ld.global.f32 %f2, [N3]; "
     "mov.u32 N4, 0; add.s32 N5, %r2, N4; mul.wide.s32 N6, N5, 4; add.s64 N7, %rd1, N6; "
     "@!%p1 ld.global.f32 %f2, [N7]; "},
    /* threads choose, not data; a load under a guard, and a volatile one */
    {"selp.b32 %r3, -1, 0, %p2;\n" ADDRESS "ld.global.f32 %f2, [%rd5];\n", NULL},
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "@%p2 ld.global.f32 %f2, [%rd5];\n", NULL},
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "ld.volatile.global.f32 %f2, [%rd5];\n", NULL},
    /* registers that hold something else by then: the condition, and what the address is made of */
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "setp.lt.f32 %p1, %f1, 0f3f800000;\n"
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
    {"ld.global.u32 %r6, [%rd3];\nadd.s32 %r7, %r6, 1;\nselp.b32 %r3, %r7, 0, %p1;\n" ADDRESS
     "ld.global.u32 %r6, [%rd3+4];\nmov.u32 %r7, 0;\nld.global.f32 %f2, [%rd5];\n",
     NULL},
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "bar.red.or.pred %p1, 0, %p2;\nld.global.f32 %f2, [%rd5];\n",
     NULL},
    /* a rounded sum on the way, and a chosen register of another class */
    {"selp.f32 %f3, %f1, %f4, %p1;\nadd.f32 %f5, %f3, %f1;\ncvt.rzi.s32.f32 %r3, %f5;\n" ADDRESS
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
    {"selp.b32 %r3, %f1, 0, %p1;\n" ADDRESS "ld.global.f32 %f2, [%rd5];\n", NULL},
    /* one of them on one of two ways to the load */
    {"selp.b32 %r3, -1, 0, %p1;\n" ADDRESS "@%p2 bra L1;\nsetp.lt.f32 %p1, %f1, 0f3f800000;\nL1:\n"
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
    /* a loop: what counts it stays where it is, until behind the load */
    {"mov.u32 %r8, 0;\nL3:\nld.global.f32 %f1, [%rd3];\nsetp.gt.f32 %p3, %f1, 0f00000000;\n"
     "selp.b32 %r3, -1, %r8, %p3;\n" ADDRESS "ld.global.f32 %f2, [%rd5];\n"
     "add.s32 %r8, %r8, 1;\nsetp.lt.s32 %p4, %r8, %r1;\n@%p4 bra L3;\n",
     "mov.b32 N0, -1; add.s32 N1, %r2, N0; mul.wide.s32 N2, N1, 4; add.s64 N3, %rd1, N2; "
     "@%p3 ld.global.f32 %f2, [N3]; "
     "add.s32 N4, %r2, %r8; mul.wide.s32 N5, N4, 4; add.s64 N6, %rd1, N5; "
     "@!%p3 ld.global.f32 %f2, [N6]; "},
    {"mov.u32 %r8, 0;\nL3:\nld.global.f32 %f1, [%rd3];\nsetp.gt.f32 %p3, %f1, 0f00000000;\n"
     "selp.b32 %r3, -1, %r8, %p3;\n" ADDRESS "add.s32 %r8, %r8, 1;\nld.global.f32 %f2, [%rd5];\n"
     "setp.lt.s32 %p4, %r8, %r1;\n@%p4 bra L3;\n",
     NULL},
    /* where three ways meet, and where one of the two is entered from elsewhere */
    {"mov.u32 %r3, 0;\n@%p1 bra L1;\nmov.u32 %r3, 1;\n@%p2 bra L1;\nmov.u32 %r3, 2;\nL1:\n" ADDRESS
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
    {"@%p1 bra L4;\nmov.u32 %r3, 1;\n@%p2 bra L4;\nbra.uni L5;\nL4:\nmov.u32 %r3, 2;\nL5:\n" ADDRESS
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
    {"@%p2 bra L4;\n@%p1 bra L4;\nmov.u32 %r3, 1;\nbra.uni L5;\nL4:\nmov.u32 %r3, 2;\nL5:\n" ADDRESS
     "ld.global.f32 %f2, [%rd5];\n",
     NULL},
};

static char *printed(const struct ptx_function *function, uint32_t first, uint32_t end)
{
    const struct ptx_names names = {.reg = name_of};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (uint32_t i = first; i < end; i++) {
        ptx_print_instruction(out, function, &function->instructions[i], &names);
        fputc(' ', out);
    }
    fclose(out);
    return text;
}

static uint32_t last_load(const struct ptx_function *function)
{
    uint32_t at = function->instruction_count;
    while (!ptx_is_load(&function->instructions[at - 1])) at--;
    return at - 1;
}

static void expect_split(const struct ptx_function *split, const char *expected)
{
    uint32_t load = last_load(original), behind = original->instruction_count - load - 1;
    char *text = printed(split, load, split->instruction_count - behind);
    assert_string_equal(text, expected);
    free(text);
    char *before = printed(original, 0, load), *same = printed(split, 0, load);
    assert_string_equal(before, same);
    free(before);
    free(same);
    char *after = printed(original, load + 1, original->instruction_count);
    same = printed(split, split->instruction_count - behind, split->instruction_count);
    assert_string_equal(after, same);
    free(after);
    free(same);
}

static void loads(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct arena *arena = arena_create();
        const char *error = NULL, *text = arena_printf(arena, "%s%s%s", HEAD, cases[c].body, TAIL);
        struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
        assert_null(error);
        original = ptx_find_function(module, "f");
        if (original->unreadable) fail_msg("%zu: %s", c, original->unreadable);
        const struct ptx_function *split = chosen_loads_split(arena, original);
        if ((split != original) != (cases[c].expected != NULL)) fail_msg("case %zu: %s", c, cases[c].body);
        if (cases[c].expected) expect_split(split, cases[c].expected);
        ptx_module_free(module);
        arena_free(arena);
    }
}

/* Labels stand before what replaces the instruction that they stood before. */
static void labels(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const char *error = NULL,
               *text = arena_printf(arena, "%s%s%s%s", HEAD,
                                    "selp.b32 %r3, -1, 0, %p1;\n" ADDRESS
                                    "L1:\nld.global.f32 %f2, [%rd5];\nL2:\n",
                                    "setp.lt.f32 %p5, %f2, %f1;\n@%p5 bra L1;\nbra.uni L2;\n", TAIL);
    struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
    original = ptx_find_function(module, "f");
    const struct ptx_function *split = chosen_loads_split(arena, original);
    uint32_t load = last_load(original), more = split->instruction_count - original->instruction_count;
    assert_true(more > 0);
    assert_int_equal(split->labels[0].instruction, load);
    assert_int_equal(split->labels[1].instruction, load + 1 + more);
    ptx_module_free(module);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loads), cmocka_unit_test(labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
