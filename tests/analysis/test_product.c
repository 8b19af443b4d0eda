/* SPDX-License-Identifier: Apache-2.0
 * Which kernels leave no rounding to the compiler. Each case is the body of a kernel whose %f1 to %f4 come
 * from memory and whose %f9 goes back. */
#include "fuser/kernel/product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char head[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    ".reg .u64 %p; .reg .f32 %f<10>; .reg .f64 %d<10>; .reg .b32 %r<10>; .reg .b16 %h<10>;\n"
    ".reg .pred %q; .local .align 4 .b8 spill[8];\n"
    "ld.param.u64 %p, [p];\nld.global.f32 %f1, [%p];\nld.global.f32 %f2, [%p+4];\n"
    "ld.global.f32 %f3, [%p+8];\nld.global.f32 %f4, [%p+12];\n";
static const char tail[] = "\nst.global.f32 [%p], %f9;\nret;\n}\n";

struct result {
    bool followed, contracts, expands;
};

static struct result examine(const char *body)
{
    char text[4096];
    const char *error;
    struct product_choice choice;
    snprintf(text, sizeof text, "%s%s%s", head, body, tail);
    struct ptx_module *module = ptx_parse("case", text, strlen(text), &error);
    assert_null(error);
    const struct ptx_function *function = ptx_find_function(module, "k");
    if (function->unreadable) fail_msg("%s: %s", body, function->unreadable);
    struct result result = {.followed = product_find_choice(function, &choice)};
    result.contracts = choice.sum != PRODUCT_NOWHERE;
    result.expands = choice.expansion != PRODUCT_NOWHERE;
    assert_int_equal(result.contracts, choice.product != PRODUCT_NOWHERE);
    ptx_module_free(module);
    return result;
}

static void products_that_reach_sums(void **state)
{
    static const char *const bodies[] = {
        "mul.f32 %f5, %f1, %f2; add.f32 %f9, %f5, %f3;",
        "mul.f32 %f5, %f1, %f2; sub.f32 %f9, %f3, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; add.ftz.f32 %f9, %f5, %f3;",
        "mul.f64 %d1, %d2, %d3; add.f64 %d4, %d1, %d2; cvt.rn.f32.f64 %f9, %d4;",
        "mul.f16 %h1, %h2, %h3; add.f16 %h4, %h1, %h2;",
        "mul.f16x2 %r1, %r2, %r3; sub.f16x2 %r4, %r1, %r2;",
        "mul.f32 %f5, %f1, %f2; neg.f32 %f6, %f5; add.f32 %f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; mov.f32 %f6, %f5; mov.f32 %f7, %f6; add.f32 %f9, %f7, %f3;",
        "mul.f32 %f5, %f1, %f2; selp.f32 %f6, %f5, %f4, %q; add.f32 %f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; mov.b32 %r1, %f5; and.b32 %r2, %r1, 2147483647; mov.b32 %f6, %r2; add.f32 "
        "%f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; st.local.f32 [spill], %f5; ld.local.f32 %f6, [spill]; add.f32 %f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; mov.b64 %d1, {%f5, %f4}; mov.b64 {%f6, %f7}, %d1; add.f32 %f9, %f7, %f3;",
        "@%q mul.f32 %f5, %f1, %f2; @!%q mov.f32 %f5, %f3; add.f32 %f9, %f5, %f3;",
        /* around a loop: the sum stands before the product */
        "mov.f32 %f5, %f1; again: add.f32 %f9, %f5, %f3; mul.f32 %f5, %f9, %f2; @%q bra again;",
        "again: ld.local.f32 %f6, [spill]; add.f32 %f9, %f6, %f3; mul.f32 %f5, %f9, %f2; st.local.f32 "
        "[spill], %f5; @%q bra again;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (!examine(bodies[i]).contracts) fail_msg("not found: %s", bodies[i]);
}

static void nothing_to_choose(void **state)
{
    static const char *const bodies[] = {
        "add.f32 %f9, %f1, %f2;",
        "mul.f32 %f9, %f1, %f2;",
        "mul.rn.f32 %f5, %f1, %f2; add.f32 %f9, %f5, %f3;",
        "mul.f32 %f5, %f1, %f2; add.rn.f32 %f9, %f5, %f3;",
        "mul.f32 %f5, %f1, %f2; fma.rn.f32 %f9, %f5, %f3, %f4;",
        "mul.f32 %f5, %f1, %f2; div.rn.f32 %f6, %f5, %f4; add.f32 %f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; setp.lt.f32 %q, %f5, %f3; selp.f32 %f6, %f1, %f2, %q; add.f32 %f9, %f6, %f3;",
        "mul.f32 %f5, %f1, %f2; cvt.rzi.s32.f32 %r1, %f5; cvt.rn.f32.s32 %f6, %r1; add.f32 %f9, %f6, %f3;",
        "add.f32 %f5, %f1, %f2; mul.f32 %f9, %f5, %f3;",
        /* what is stored later cannot be loaded before */
        "ld.local.f32 %f6, [spill]; add.f32 %f9, %f6, %f3; mul.f32 %f5, %f1, %f2; st.local.f32 [spill], %f5;",
        "mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r2; sqrt.rn.f32 %f9, %f1;",
        "rcp.approx.ftz.f32 %f5, %f1; ex2.approx.ftz.f32 %f6, %f5; lg2.approx.ftz.f32 %f7, %f6; "
        "rsqrt.approx.ftz.f32 %f9, %f7;",
        "rcp.approx.ftz.f64 %d1, %d2; tanh.approx.f32 %f9, %f1;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct result result = examine(bodies[i]);
        if (!result.followed || result.contracts || result.expands) fail_msg("a choice: %s", bodies[i]);
    }
}

static void what_compilers_expand(void **state)
{
    static const char *const bodies[] = {
        "div.full.f32 %f9, %f1, %f2;",  "div.approx.f32 %f9, %f1, %f2;",     "ex2.approx.f32 %f9, %f1;",
        "sqrt.approx.f32 %f9, %f1;",    "rcp.approx.f32 %f9, %f1;",          "sin.approx.f32 %f9, %f1;",
        "cos.approx.ftz.f32 %f9, %f1;", "div.approx.ftz.f32 %f9, %f1, %f2;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (!examine(bodies[i]).expands) fail_msg("not expanded: %s", bodies[i]);
}

static void what_cannot_be_followed(void **state)
{
    (void)state;
    assert_false(examine("frobnicate.f32 %f9, %f1;").followed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_reach_sums),
        cmocka_unit_test(nothing_to_choose),
        cmocka_unit_test(what_compilers_expand),
        cmocka_unit_test(what_cannot_be_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
