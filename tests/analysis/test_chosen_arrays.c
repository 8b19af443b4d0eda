/* SPDX-License-Identifier: Apache-2.0
 * Accesses whose array threads choose, in hand-written PTX: what stands in the kernel then. */
#include "fuser/kernel/chosen_arrays.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "tests/analysis/new_registers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                                 \
    ".version 9.0\n.target sm_90\n.address_size 64\n"                                                        \
    ".visible .entry f(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"                     \
    ".reg .b64 %rd<20>;\n.reg .b32 %r<20>;\n.reg .f32 %f<8>;\n.reg .pred %p<8>;\n"                           \
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r2, %tid.x;\n"                               \
    "mul.wide.s32 %rd4, %r2, 4;\nsetp.lt.s32 %p1, %r2, 7;\nsetp.lt.s32 %p2, %r2, 3;\n"
#define STORE "add.s64 %rd5, %rd3, %rd4;\nst.global.f32 [%rd5+4], %f1;\n"
#define TAIL  "ret;\n}\n"

/* expected: all behind the head, in order; labels stand at the instruction before which they are. NULL: nothing is changed. */
static const struct {
    const char *body, *expected;
} cases[] = {
    /* a selection, the address behind it */
    {"selp.b64 %rd3, %rd1, %rd2, %p1;\n" STORE TAIL,
     "selp.b32 N4, 0, 1, %p1; selp.b64 %rd3, %rd1, %rd2, %p1; setp.eq.u32 N5, N4, 0; ld.param.u64 N0, [a]; "
     "setp.eq.u32 N6, N4, 1; ld.param.u64 N1, [b]; add.s64 N2, N0, %rd4; add.s64 N3, N1, %rd4; "
     "add.s64 %rd5, %rd3, %rd4; @N5 st.global.f32 [N2+4], %f1; @N6 st.global.f32 [N3+4], %f1; ret; "},
    /* ways that meet, of which one leaves the register as it was; a conversion before, and a load in the same register */
    {"cvta.to.global.u64 %rd3, %rd1;\n@%p1 bra L1;\ncvta.to.global.u64 %rd3, %rd2;\nL1:\n"
     "ld.global.u64 %rd3, [%rd3];\nst.global.u64 [%rd4], %rd3;\n" TAIL,
     "cvta.to.global.u64 %rd3, %rd1; mov.u32 N2, 0; @%p1 bra L1; cvta.to.global.u64 %rd3, %rd2; "
     "mov.u32 N2, 1; L1: setp.eq.u32 N3, N2, 0; ld.param.u64 N0, [a]; cvta.to.global.u64 N0, N0; "
     "setp.eq.u32 N4, N2, 1; ld.param.u64 N1, [b]; cvta.to.global.u64 N1, N1; "
     "@N3 ld.global.u64 %rd3, [N0]; @N4 ld.global.u64 %rd3, [N1]; st.global.u64 [%rd4], %rd3; ret; "},
    /* choices in a choice: of three */
    {"ld.param.u64 %rd6, [c];\nselp.b64 %rd7, %rd2, %rd6, %p2;\nselp.b64 %rd3, %rd1, %rd7, %p1;\n" STORE TAIL,
     "ld.param.u64 %rd6, [c]; selp.b32 N7, 1, 2, %p2; selp.b64 %rd7, %rd2, %rd6, %p2; selp.b32 N6, 0, N7, "
     "%p1; "
     "selp.b64 %rd3, %rd1, %rd7, %p1; setp.eq.u32 N8, N6, 0; ld.param.u64 N0, [a]; setp.eq.u32 N9, N6, 1; "
     "ld.param.u64 N1, [b]; setp.eq.u32 N10, N6, 2; ld.param.u64 N2, [c]; add.s64 N3, N0, %rd4; "
     "add.s64 N4, N1, %rd4; add.s64 N5, N2, %rd4; add.s64 %rd5, %rd3, %rd4; @N8 st.global.f32 [N3+4], %f1; "
     "@N9 st.global.f32 [N4+4], %f1; @N10 st.global.f32 [N5+4], %f1; ret; "},
    /* one array on both ways; no access; one under a guard; what is no parameter; a sum of two pointers */
    {"mov.u64 %rd3, %rd1;\n@%p1 bra L1;\nmov.u64 %rd3, %rd1;\nL1:\n" STORE TAIL, NULL},
    {"selp.b64 %rd3, %rd1, %rd2, %p1;\nadd.s64 %rd5, %rd3, %rd4;\n" TAIL, NULL},
    {"selp.b64 %rd3, %rd1, %rd2, %p1;\n@%p2 st.global.f32 [%rd3], %f1;\n" TAIL, NULL},
    {"ld.global.u64 %rd6, [%rd1];\nselp.b64 %rd3, %rd6, %rd2, %p1;\n" STORE TAIL, NULL},
    {"add.s64 %rd6, %rd1, 8;\nselp.b64 %rd3, %rd6, %rd2, %p1;\n" STORE TAIL, NULL},
    {"selp.b64 %rd3, %rd1, %rd2, %p1;\nadd.s64 %rd5, %rd3, %rd3;\nst.global.f32 [%rd5], %f1;\n" TAIL, NULL},
    /* one of them is converted, one not; a way around a loop; a register that is set on one way only */
    {"cvta.to.global.u64 %rd3, %rd1;\n@%p1 bra L1;\nmov.u64 %rd3, %rd2;\nL1:\n" STORE TAIL, NULL},
    {"mov.u64 %rd3, %rd1;\nL1:\n" STORE "mov.u64 %rd3, %rd2;\n@%p1 bra L1;\n" TAIL, NULL},
    {"@%p1 bra L1;\nmov.u64 %rd3, %rd2;\nL1:\n" STORE TAIL, NULL},
};

static char *printed(const struct ptx_function *function, uint32_t first)
{
    const struct ptx_names names = {.reg = name_of};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (uint32_t i = first; i < function->instruction_count; i++) {
        for (uint32_t l = 0; l < function->label_count; l++)
            if (function->labels[l].instruction == i) fprintf(out, "%s: ", function->labels[l].name);
        ptx_print_instruction(out, function, &function->instructions[i], &names);
        fputc(' ', out);
    }
    fclose(out);
    return text;
}

static void test_cases(void **state)
{
    enum { HEAD_INSTRUCTIONS = 6 };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_create();
        const char *error = NULL, *text = arena_printf(arena, "%s%s", HEAD, cases[i].body);
        struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
        assert_null(error);
        original = ptx_find_function(module, "f");
        if (original->unreadable) fail_msg("%zu: %s", i, original->unreadable);
        const struct ptx_function *split = chosen_arrays_split(arena, original);
        if (!cases[i].expected) {
            if (split != original) fail_msg("case %zu: %s", i, printed(split, HEAD_INSTRUCTIONS));
        } else {
            char *now = printed(split, HEAD_INSTRUCTIONS);
            assert_string_equal(now, cases[i].expected);
            free(now);
        }
        ptx_module_free(module);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
