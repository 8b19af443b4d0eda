/* SPDX-License-Identifier: Apache-2.0
 * Pointers among parameters that are addresses and nothing else, and what makes them more than that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuser/kernel/pointer_use.h"

#include <stdio.h>
#include <string.h>

static const char head[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 k_p, .param .u64 k_q, .param .align 8 .b8 k_s[24])\n{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<12>;\n";

static const struct {
    const char *body;
    bool is_address;
    uint32_t offset; /* of the pointer that is asked of */
} cases[] = {
    {"ld.param.u64 %rd1, [k_p];\nld.global.f32 %f1, [%rd1+4];\nst.global.f32 [%rd1], %f1;", true, 0},
    {"ld.param.u64 %rd1, [k_p];\ncvta.to.global.u64 %rd2, %rd1;\nmul.wide.s32 %rd3, %r1, 4;\n"
     "add.s64 %rd4, %rd2, %rd3;\nmov.b64 %rd5, %rd4;\nld.global.v2.f32 {%f1, %f2}, [%rd5];",
     true, 0},
    {"ld.param.u64 %rd1, [k_p];\nmad.lo.s64 %rd2, %rd3, 8, %rd1;\nsub.s64 %rd2, %rd2, %rd4;\n"
     "st.f32 [%rd2], %f1;",
     true, 0},
    {"ld.param.u64 %rd1, [k_p];\nmad.wide.s32 %rd2, %r1, 8, %rd1;\natom.global.add.f32 %f1, [%rd2], %f2;\n"
     "red.global.add.f32 [%rd2], %f2;",
     true, 0},
    {"ld.param.u64 %rd1, [k_p];\nadd.s64 %rd2, %rd1, 8;\nselp.b64 %rd3, %rd1, %rd2, %p1;\n"
     "ld.global.f32 %f1, [%rd3];",
     true, 0},
    {"ld.param.v2.u64 {%rd1, %rd2}, [k_s];\nld.global.f32 %f1, [%rd2];\nst.global.u64 [%rd2], %rd3;", true,
     24},
    {"ld.param.u64 %rd1, [k_q];\nst.global.u64 [%rd2], %rd1;", true, 0}, /* another one */
    /* a loop: it goes round in a register */
    {"ld.param.u64 %rd1, [k_p];\nL0:\nld.global.f32 %f1, [%rd1];\nadd.s64 %rd1, %rd1, 4;\n"
     "setp.lt.s32 %p1, %r1, %r2;\n@%p1 bra L0;",
     true, 0},

    {"ld.param.u64 %rd1, [k_p];\nst.global.u64 [%rd2], %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nadd.s64 %rd3, %rd1, 16;\nst.global.v2.u64 [%rd2], {%rd4, %rd3};", false, 0},
    {"ld.param.u64 %rd1, [k_p];\natom.global.exch.b64 %rd3, [%rd2], %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\natom.global.cas.b64 %rd3, [%rd1], %rd2, %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nsetp.eq.s64 %p1, %rd1, %rd2;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nsetp.ne.s64 %p1, %rd1, 0;\nld.global.f32 %f1, [%rd1];", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nand.b64 %rd2, %rd1, 15;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nsub.s64 %rd2, %rd3, %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nadd.s64 %rd2, %rd1, %rd1;\nld.global.f32 %f1, [%rd2];", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nmad.lo.s64 %rd2, %rd1, 8, %rd3;\nld.global.f32 %f1, [%rd2];", false, 0},
    {"ld.param.u64 %rd1, [k_p];\ncvt.u32.u64 %r1, %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nmov.b64 {%r1, %r2}, %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nshr.u64 %rd2, %rd1, 3;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nst.local.u64 [%rd2], %rd1;", false, 0},
    {"ld.param.u64 %rd1, [k_p];\nshfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\nmin.u64 %rd2, %rd1, %rd3;", false,
     0},
    {"ld.param.u32 %r1, [k_p];", false, 0},
    {"ld.param.u32 %r1, [k_p+4];", false, 0},
    {"mov.b64 %rd1, k_p;\nld.param.u64 %rd2, [%rd1];", false, 0},
    {"mov.b64 %rd1, k_s;\nld.param.u64 %rd2, [%rd1+8];", false, 24},
    {"ld.param.u64 %rd1, [k_s+4];", false, 16},
};

static void each_use_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        const char *error = NULL;
        snprintf(text, sizeof text, "%s%s\nret;\n}\n", head, cases[i].body);
        struct ptx_module *module = ptx_parse("test", text, strlen(text), &error);
        assert_non_null(module);
        const struct ptx_function *function = ptx_find_function(module, "k");
        assert_non_null(function);
        assert_null(function->unreadable);
        if (pointer_use_is_address(function, cases[i].offset) != cases[i].is_address)
            fail_msg("%s:\n%s", cases[i].is_address ? "an address alone" : "more than an address",
                     cases[i].body);
        ptx_module_free(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_use_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
