/* SPDX-License-Identifier: Apache-2.0
 * Kernels in plain form: what each line of hand-written PTX becomes. "//= TEXT" behind a line is what it must become;
 * a line without must stay. "//! WHY" behind a line: that is the obstacle, there. */
#include "fuser/kernel/plain.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                                 \
    ".version 9.0\n.target sm_90\n.address_size 64\n"                                                        \
    ".visible .entry f(.param .u32 n, .param .align 8 .b8 a[40], .param .align 8 .b8 b[16])\n{\n"            \
    ".reg .b64 %rd<20>;\n.reg .b32 %r<20>;\n.reg .b16 %h<8>;\n.reg .f64 %f<8>;\n.reg .pred %p<4>;\n"         \
    ".local .align 8 .b8 depot[64];\n"
#define TAIL "ret;\n}\n"

static const char *const cases[] = {
    /* sums of constants, on both ways; the address that is left is none */
    "mov.b64 %rd1, a; //= mov.b64 %rd1, 0;\n"
    "add.s64 %rd2, %rd1, 16; //= mov.b64 %rd2, 0;\n"
    "ld.param.f64 %f1, [%rd2+8]; //= ld.param.f64 %f1, [a+24];\n"
    "mov.u64 %rd3, 12;\n"
    "sub.s64 %rd4, %rd2, %rd3; //= mov.b64 %rd4, 0;\n"
    "ld.param.u32 %r1, [%rd4]; //= ld.param.u32 %r1, [a+4];\n"
    "ld.param.b64 %rd5, [%rd1]; //= ld.param.b64 %rd5, [a];\n"
    "st.global.u32 [%rd5], %r1;\n",
    /* widths, vectors, generic addresses, and back */
    "mov.b64 %rd1, a+8; //= mov.b64 %rd1, 0;\n"
    "cvta.param.u64 %rd2, %rd1; //= mov.b64 %rd2, 0;\n"
    "ld.s8 %h1, [%rd2+3]; //= ld.param.s8 %h1, [a+11];\n"
    "ld.v4.u16 {%h1, %h2, %h3, %h4}, [%rd2+8]; //= ld.param.v4.u16 {%h1, %h2, %h3, %h4}, [a+16];\n"
    "cvta.to.param.u64 %rd3, %rd2; //= mov.b64 %rd3, 0;\n"
    "ld.param.v2.b32 {%r1, %r2}, [%rd3+-8]; //= ld.param.v2.b32 {%r1, %r2}, [a];\n"
    "ld.weak.u32 %r3, [%rd2]; //= ld.param.u32 %r3, [a+8];\n",
    /* an index: all in the parameter space */
    "ld.param.u32 %r1, [n];\n"
    "mov.b64 %rd1, b;\n"
    "cvta.param.u64 %rd2, %rd1; //= mov.b64 %rd2, %rd1;\n"
    "mad.wide.u32 %rd3, %r1, 4, %rd2;\n"
    "ld.u32 %r2, [%rd3+4]; //= ld.param.u32 %r2, [%rd3+4];\n"
    "ld.u32 %r3, [%rd2+4]; //= ld.param.u32 %r3, [b+4];\n",
    /* one of two places, under a guard; one of two parameters */
    "ld.param.u32 %r1, [n];\n"
    "setp.eq.u32 %p1, %r1, 0;\n"
    "mov.b64 %rd1, a;\n"
    "@%p1 mov.b64 %rd1, a+8;\n"
    "ld.param.u32 %r2, [%rd1];\n"
    "mov.b64 %rd2, b;\n"
    "selp.b64 %rd3, %rd1, %rd2, %p1;\n"
    "ld.param.u32 %r3, [%rd3+4];\n",
    /* outside of the parameter, and volatile */
    "mov.b64 %rd1, b;\n"
    "ld.param.u64 %rd2, [%rd1+16];\n"
    "ld.param.u64 %rd3, [%rd1+-8];\n"
    "ld.param.u64 %rd4, [%rd1+12];\n",
    "mov.b64 %rd1, b;\n"
    "cvta.param.u64 %rd2, %rd1;\n"
    "ld.volatile.u32 %r1, [%rd2]; //! uses the address of a parameter for another space\n",
    /* more than to load */
    "mov.b64 %rd1, b;\n"
    "cvta.param.u64 %rd2, %rd1;\n"
    "st.u32 [%rd2], 1; //! writes to a parameter\n",
    "mov.b64 %rd1, b;\n"
    "ld.param.u64 %rd2, [a];\n"
    "st.global.u64 [%rd2], %rd1; //! uses the address of a parameter for more than to load\n",
    "mov.b64 %rd1, b;\n"
    "and.b64 %rd2, %rd1, 15; //! uses the address of a parameter for more than to load\n",
    "mov.b64 %rd1, b;\n"
    "ld.u32 %r1, [%rd1]; //! uses the address of a parameter for another space\n",
    "mov.b64 %rd1, b;\n"
    "ld.param.u64 %rd2, [a];\n"
    "setp.eq.u64 %p1, %rd2, 0;\n"
    "cvta.param.u64 %rd3, %rd1;\n"
    "selp.b64 %rd4, %rd2, %rd3, %p1; //! an address that may be a parameter's or another\n"
    "ld.u32 %r1, [%rd4];\n",
    "mov.b64 %rd1, b;\n"
    "ld.param.u64 %rd2, [a];\n"
    "setp.eq.u64 %p1, %rd2, 0;\n"
    "cvta.param.u64 %rd3, %rd1;\n"
    "selp.b64 %rd4, %rd3, %rd2, %p1; //! an address that may be a parameter's or another\n"
    "ld.u32 %r1, [%rd4];\n",
    "ld.param.u64 %rd2, [a];\n"
    "ld.param.u32 %r1, [%rd2]; //! reads a parameter in a way that no other place has\n",
    /* a copy in local memory; what is read of it in other pieces */
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.v2.u32 {%r1, %r2}, [a+16];\n"
    "mov.u64 %rd2, depot;\n"
    "st.local.u64 [%rd2+16], %rd1;\n"
    "mov.b32 %r3, %r2;\n"
    "st.local.v2.u32 [%rd2+24], {%r1, %r3};\n"
    "cvta.local.u64 %rd3, %rd2;\n"
    "ld.u64 %rd4, [%rd3+16]; //= ld.param.u64 %rd4, [a+8];\n"
    "ld.u64 %rd5, [%rd3+24]; //= ld.param.u64 %rd5, [a+16];\n"
    "ld.local.s16 %h1, [%rd2+30]; //= ld.param.s16 %h1, [a+22];\n"
    "ld.local.u64 %rd6, [%rd2+20];\n"
    "ld.local.u32 %r4, [%rd2+12];\n"
    "st.local.u32 [%rd2+48], 7;\n",
    /* that is nothing else: an index reads the parameter itself */
    "ld.param.u32 %r1, [n];\n"
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.v2.u32 {%r2, %r3}, [a+16];\n"
    "mov.u64 %rd2, depot; //= mov.b64 %rd2, a+8;\n"
    "cvta.local.u64 %rd3, %rd2; //= mov.b64 %rd3, %rd2;\n"
    "st.local.u64 [%rd2], %rd1; //= mov.b64 %dropped, 0;\n"
    "add.s64 %rd4, %rd3, 8;\n"
    "st.v2.u32 [%rd4], {%r2, %r3}; //= mov.b64 %dropped, 0;\n"
    "mad.wide.u32 %rd5, %r1, 4, %rd4;\n"
    "ld.u32 %r4, [%rd5+4]; //= ld.param.u32 %r4, [%rd5+4];\n"
    "ld.local.u32 %r5, [%rd2+24]; //= ld.param.u32 %r5, [a+32];\n",
    /* of which a part is another parameter's, lies elsewhere, is read before, or is read as another width would lie */
    "ld.param.u32 %r1, [n];\n"
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.u64 %rd2, [b];\n"
    "mov.u64 %rd3, depot;\n"
    "st.local.u64 [%rd3], %rd1;\n"
    "st.local.u64 [%rd3+8], %rd2;\n"
    "mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
    "ld.local.u32 %r2, [%rd4];\n",
    "ld.param.u32 %r1, [n];\n"
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.u64 %rd2, [a+24];\n"
    "mov.u64 %rd3, depot;\n"
    "st.local.u64 [%rd3], %rd1;\n"
    "st.local.u64 [%rd3+8], %rd2;\n"
    "mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
    "ld.local.u32 %r2, [%rd4];\n",
    "ld.param.u32 %r1, [n];\n"
    "ld.param.u64 %rd1, [a+8];\n"
    "mov.u64 %rd3, depot;\n"
    "mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
    "ld.local.u32 %r2, [%rd4];\n"
    "st.local.u64 [%rd3], %rd1;\n",
    "ld.param.u32 %r1, [n];\n"
    "ld.param.u32 %r2, [a+4];\n"
    "mov.u64 %rd3, depot;\n"
    "st.local.u32 [%rd3], %r2;\n"
    "mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
    "ld.local.u32 %r3, [%rd4];\n",
    "ld.param.u32 %r1, [n];\n"
    "setp.eq.u32 %p1, %r1, 0;\n"
    "ld.param.u64 %rd1, [a+8];\n"
    "mov.u64 %rd3, depot;\n"
    "@%p1 st.local.u64 [%rd3], %rd1;\n"
    "mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
    "ld.local.u32 %r2, [%rd4];\n",
    /* that was changed: by part, under a guard, by a later store, from two parameters */
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.u32 %r1, [n];\n"
    "setp.eq.u32 %p1, %r1, 0;\n"
    "mov.u64 %rd2, depot;\n"
    "st.local.u64 [%rd2], %rd1;\n"
    "st.local.u16 [%rd2+2], %r1;\n"
    "ld.local.u64 %rd3, [%rd2];\n"
    "ld.local.u32 %r2, [%rd2+4]; //= ld.param.u32 %r2, [a+12];\n"
    "@%p1 st.local.u64 [%rd2+8], %rd1;\n"
    "ld.local.u64 %rd4, [%rd2+8];\n"
    "ld.local.u64 %rd5, [%rd2+16];\n"
    "st.local.u64 [%rd2+16], %rd1;\n"
    "ld.param.u32 %r3, [b];\n"
    "st.local.u32 [%rd2+24], %r1;\n"
    "st.local.u32 [%rd2+28], %r3;\n"
    "ld.local.u64 %rd6, [%rd2+24];\n",
    /* at an index; where its address goes elsewhere */
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.u32 %r1, [n];\n"
    "mov.u64 %rd2, depot;\n"
    "st.local.u64 [%rd2], %rd1;\n"
    "mad.wide.u32 %rd3, %r1, 4, %rd2;\n"
    "st.local.u32 [%rd3+8], %r1;\n"
    "ld.local.u64 %rd4, [%rd2];\n",
    "ld.param.u64 %rd1, [a+8];\n"
    "mov.u64 %rd2, depot;\n"
    "st.local.u64 [%rd2], %rd1;\n"
    "cvta.local.u64 %rd3, %rd2;\n"
    "st.u64 [%rd1], %rd3;\n"
    "ld.local.u64 %rd4, [%rd2];\n",
    /* in a loop: the store comes after the load of the first iteration; the register is another one by then */
    "ld.param.u64 %rd1, [a+8];\n"
    "ld.param.u32 %r1, [n];\n"
    "mov.u64 %rd2, depot;\n"
    "again: ld.local.u64 %rd4, [%rd2];\n"
    "st.local.u64 [%rd2], %rd1;\n"
    "ld.local.u64 %rd5, [%rd2]; //= ld.param.u64 %rd5, [a+8];\n"
    "st.local.u32 [%rd2+8], %r1;\n"
    "ld.local.u32 %r2, [%rd2+8];\n"
    "sub.u32 %r1, %r1, 1;\n"
    "setp.ne.u32 %p1, %r1, 0;\n"
    "@%p1 bra again;\n",
};

static char *line_of(const char *text, uint32_t number)
{
    while (--number) text = strchr(text, '\n') + 1;
    return strndup(text, strcspn(text, "\n"));
}

static char *printed(const struct ptx_function *function, uint32_t instruction)
{
    const struct ptx_names names = {0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    ptx_print_instruction(out, function, &function->instructions[instruction], &names);
    fclose(out);
    return text;
}

static void expect_line(const struct ptx_function *original, const struct ptx_function *plain, uint32_t at,
                        const char *line)
{
    const char *mark = strstr(line, "//= ");
    char *is = printed(plain, at), *was = printed(original, at);
    assert_string_equal(is, mark ? mark + strlen("//= ") : was);
    free(is);
    free(was);
}

static void expect_obstacle(struct arena *arena, const struct ptx_function *plain, const char *text)
{
    const char *reason = NULL, *expected = strstr(text, "//! ");
    uint32_t at = 0;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, plain, &reason);
    const char *why = plain_obstacle(arena, ssa_build(arena, dominators_build(arena, cfg)), &at);
    if (!expected) {
        assert_null(why);
        return;
    }
    assert_non_null(why);
    char *line = line_of(text, plain->instructions[at].line);
    assert_non_null(strstr(line, "//! "));
    assert_string_equal(why, strstr(line, "//! ") + strlen("//! "));
    free(line);
}

static void lines(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct arena *arena = arena_create();
        const char *error = NULL, *text = arena_printf(arena, "%s%s%s", HEAD, cases[c], TAIL);
        struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
        assert_null(error);
        const struct ptx_function *original = ptx_find_function(module, "f");
        const struct ptx_function *plain = plain_function(arena, original);
        assert_null(original->unreadable);
        assert_int_equal(original->instruction_count, plain->instruction_count);
        for (uint32_t i = 0; i < plain->instruction_count; i++) {
            char *line = line_of(text, original->instructions[i].line);
            expect_line(original, plain, i, line);
            free(line);
        }
        expect_obstacle(arena, plain, text);
        ptx_module_free(module);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
