/* SPDX-License-Identifier: Apache-2.0
 * Kernels in which the assembler has a choice, assembled as they are: recover.h finds what it chose, and
 * leaves nothing free. With files of PTX as arguments: prints for each of their kernels how far it is
 * recovered. */
#include "fuser/codegen/reference.h"
#include "fuser/codegen/recover.h"
#include "fuser/kernel/product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SM = 90 };

/* Five values come from memory, %x9 goes back. */
#define KERNEL(name, type, bytes, body)                                                                      \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .u64 %p; .reg ." type " %x<16>; .reg .pred %q;\n"      \
    ".reg .u32 %n;\nld.param.u64 %p, [p];\ncvta.to.global.u64 %p, %p;\n"                                     \
    "ld.global." type " %x1, [%p+" #bytes "];\nld.global." type " %x2, [%p+2*" #bytes "];\n"                 \
    "ld.global." type " %x3, [%p+3*" #bytes "];\nld.global." type " %x4, [%p+4*" #bytes "];\n"               \
    "ld.global." type " %x5, [%p+5*" #bytes "];\nld.global.u32 %n, [%p+512];\n" body "\nst.global." type     \
    " [%p], %x9;\nret;\n}\n"
#define LOOP(body)                                                                                           \
    "setp.eq.u32 %q, %n, 0; @%q bra END;\nTURN:\n" body                                                      \
    "\nsub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra TURN;\nEND:"

static const struct {
    const char *name, *text;
    int contracted; /* sums into which a product goes */
    int rounded;    /* products and sums that have no part in that, and products whose sums they are */
} cases[] = {
    /* clang-format off */
    {"sum", KERNEL("sum", "f64", 8, "mul.f64 %x6, %x1, %x2; add.f64 %x9, %x6, %x3;"), 1, 1},
    {"less", KERNEL("less", "f64", 8, "mul.f64 %x6, %x1, %x2; sub.f64 %x9, %x6, %x3;"), 1, 1},
    {"from", KERNEL("from", "f64", 8, "mul.f64 %x6, %x1, %x2; sub.f64 %x9, %x3, %x6;"), 1, 1},
    {"single", KERNEL("single", "f32", 4, "mul.f32 %x6, %x1, %x2; sub.f32 %x9, %x3, %x6;"), 1, 1},
    {"flushed", KERNEL("flushed", "f32", 4, "mul.ftz.f32 %x6, %x1, %x2; add.ftz.f32 %x9, %x3, %x6;"), 1, 1},
    {"constant", KERNEL("constant", "f64", 8, "mul.f64 %x6, %x1, 0d3FD5555555555555; sub.f64 %x9, %x3, %x6;"), 1, 1},
    {"two", KERNEL("two", "f64", 8, "mul.f64 %x6, %x1, %x2; mul.f64 %x7, %x3, %x4; add.f64 %x9, %x6, %x7;"), 1, 2},
    {"two_less", KERNEL("two_less", "f64", 8, "mul.f64 %x6, %x1, %x2; mul.f64 %x7, %x3, %x4; sub.f64 %x9, %x6, %x7;"), 1, 2},
    {"twice", KERNEL("twice", "f32", 4, "mul.f32 %x6, %x1, %x2; add.f32 %x7, %x6, %x3; sub.f32 %x8, %x4, %x6;\n"
                                        "mul.f32 %x9, %x7, %x8;"), 2, 2},
    {"beside_a_division", KERNEL("beside_a_division", "f64", 8, "div.rn.f64 %x7, %x4, %x5; mul.f64 %x6, %x1, %x7;\n"
                                                                "sub.f64 %x9, %x3, %x6;"), 1, 1},
    {"in_a_loop", KERNEL("in_a_loop", "f32", 4, "mov.f32 %x9, %x5;\n"
                                                LOOP("mul.f32 %x6, %x9, %x2; add.f32 %x9, %x6, %x3;")), 1, 1},
    {"nothing_feeds", KERNEL("nothing_feeds", "f64", 8, "add.f64 %x6, %x1, %x2; mul.f64 %x9, %x6, %x3;"), 0, 2},
    {"no_choice", KERNEL("no_choice", "f64", 8, "mul.rn.f64 %x6, %x1, %x2; add.rn.f64 %x9, %x6, %x3;"), 0, 0},
    /* clang-format on */
};

struct recovered {
    struct arena *arena;
    struct ptx_module *module;
    const struct ptx_function *kernel;
    const struct contraction *contractions;
};

static struct ptx_module *parse(const char *name, const char *text)
{
    const char *error;
    struct ptx_module *module = ptx_parse(name, text, strlen(text), &error);
    if (!module || error) fail_msg("%s: %s", name, error ? error : "out of memory");
    return module;
}

static const struct contraction *recover_all(struct arena *arena, const struct ptx_function *kernel,
                                             const struct cubin *loaded)
{
    struct callees callees;
    return callees_find(arena, kernel, &callees) ? recover_contractions(NULL, arena, &callees, loaded, SM, 0)
                                                 : NULL;
}

/* False where there is no compiler. */
static bool assemble(struct arena *arena, const struct ptx_module *module, const struct ptx_function *kernel,
                     struct cubin *cubin)
{
    struct nvrtc_output output;
    reference_compile(NULL, arena, module, &kernel, 1, SM, 0, &output);
    if (output.is_missing) return false;
    if (output.error || !cubin_open(cubin, output.cubin, output.cubin_size))
        fail_msg("%s: %s", kernel->name, output.error ? output.error : "no cubin");
    return true;
}

static struct recovered recover(const char *text, const char *loaded_text)
{
    static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    struct recovered recovered = {.arena = arena_create()};
    struct cubin loaded;
    struct ptx_module *other = parse("loaded", arena_printf(recovered.arena, "%s%s", head, loaded_text));
    recovered.module = parse("kernel", arena_printf(recovered.arena, "%s%s", head, text));
    recovered.kernel = recovered.module->functions[0];
    if (!assemble(recovered.arena, other, other->functions[0], &loaded)) skip();
    recovered.contractions = recover_all(recovered.arena, recovered.kernel, &loaded);
    ptx_module_free(other);
    return recovered;
}

static void release(struct recovered *recovered)
{
    ptx_module_free(recovered->module);
    arena_free(recovered->arena);
}

struct counts {
    int contracted, rounded, free;
};
static struct counts count(const struct recovered *recovered)
{
    struct counts counts = {0};
    for (uint32_t i = 0; i < recovered->kernel->instruction_count; i++) {
        const struct contraction *own = &recovered->contractions[i];
        counts.contracted += own->summand != 0;
        counts.rounded += own->round;
        counts.free +=
            product_may_contract(&recovered->kernel->instructions[i]) && !own->round && !own->summand;
    }
    return counts;
}

static void nothing_is_left_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct recovered recovered = recover(cases[i].text, cases[i].text);
        if (!recovered.contractions) fail_msg("%s: not recovered", cases[i].name);
        struct counts counts = count(&recovered);
        if (counts.free || counts.contracted != cases[i].contracted || counts.rounded != cases[i].rounded)
            fail_msg("%s: %d contracted, %d rounded, %d free", cases[i].name, counts.contracted,
                     counts.rounded, counts.free);
        release(&recovered);
    }
}

/* A program whose compiler contracted nothing, or only one of two. */
static void the_code_decides(void **state)
{
    static const char text[] = KERNEL("k", "f64", 8,
                                      "mul.f64 %x6, %x1, %x2; add.f64 %x7, %x6, %x3;\n"
                                      "mul.f64 %x8, %x7, %x4; add.f64 %x9, %x8, %x5;");
    static const struct {
        const char *loaded;
        struct counts counts;
        bool may_be_missed; /* two choices at once: nothing is claimed, then */
    } programs[] = {
        {KERNEL("k", "f64", 8,
                "mul.rn.f64 %x6, %x1, %x2; add.rn.f64 %x7, %x6, %x3;\n"
                "mul.rn.f64 %x8, %x7, %x4; add.rn.f64 %x9, %x8, %x5;"),
         {0, 4, 0},
         false},
        {KERNEL("k", "f64", 8,
                "fma.rn.f64 %x7, %x1, %x2, %x3;\n"
                "mul.rn.f64 %x8, %x7, %x4; add.rn.f64 %x9, %x8, %x5;"),
         {1, 3, 0},
         true},
        {KERNEL("k", "f64", 8,
                "mul.rn.f64 %x6, %x1, %x2; add.rn.f64 %x7, %x6, %x3;\n"
                "fma.rn.f64 %x9, %x7, %x4, %x5;"),
         {1, 3, 0},
         true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct recovered recovered = recover(text, programs[i].loaded);
        struct counts counts = recovered.contractions ? count(&recovered) : (struct counts){0};
        bool is_right = counts.contracted == programs[i].counts.contracted &&
                        counts.rounded == programs[i].counts.rounded && !counts.free;
        bool is_missed = programs[i].may_be_missed && !counts.contracted && !counts.rounded;
        if (!is_right && !is_missed)
            fail_msg("program %zu: %d contracted, %d rounded, %d free", i, counts.contracted, counts.rounded,
                     counts.free);
        release(&recovered);
    }
}

/* Interpolations with divisions, of four arrays, as a finite-volume code has them: where one choice is taken from the assembler it
 * orders other instructions otherwise, so that the code alone says too little. */
enum { ARRAYS = 4, CONTRACTED = 2 * ARRAYS + 3 };
static const char *large_text(const char *more)
{
    static char text[1 << 14];
    int at = snprintf(text, sizeof text,
                      ".visible .entry k(.param .u64 p)\n{\n.reg .u64 %%p; .reg .f64 %%f<200>;\n"
                      ".reg .pred %%q; .reg .u32 %%n;\nld.param.u64 %%p, [p]; cvta.to.global.u64 %%p, %%p;\n"
                      "ld.global.u32 %%n, [%%p+1024];\n");
    for (int i = 0; i < ARRAYS; i++) {
        int r = 20 * i, from = 64 * i;
        for (int k = 0; k < 4; k++)
            at += snprintf(text + at, sizeof text - at, "ld.global.f64 %%f%d, [%%p+%d];\n", r + k,
                           from + 8 * k);
        at += snprintf(
            text + at, sizeof text - at,
            "div.rn.f64 %%f%d, %%f%d, 0d4028000000000000; mul.f64 %%f%d, %%f%d, 0d401C000000000000;\n"
            "div.rn.f64 %%f%d, %%f%d, 0d4028000000000000; sub.f64 %%f%d, %%f%d, %%f%d;\n"
            "div.rn.f64 %%f%d, %%f%d, 0d4028000000000000; sub.f64 %%f%d, %%f%d, %%f%d;\n",
            r + 4, r, r + 5, r + 1, r + 6, r + 5, r + 7, r + 6, r + 4, r + 8, r + 3, r + 9, r + 7, r + 8);
        at += snprintf(text + at, sizeof text - at,
                       "mul.f64 %%f%d, %%f%d, 0d4008000000000000; sub.f64 %%f%d, %%f%d, %%f%d;\n"
                       "mul.f64 %%f%d, %%f%d, 0d4008000000000000; sub.f64 %%f%d, %%f%d, %%f%d;\n"
                       "add.f64 %%f%d, %%f%d, %%f%d;\n",
                       r + 10, r + 1, r + 11, r + 10, r, r + 12, r + 2, r + 13, r + 11, r + 12, r + 14, r + 3,
                       r + 13);
    }
    snprintf(
        text + at, sizeof text - at,
        "div.rn.f64 %%f190, %%f9, %%f29; div.rn.f64 %%f191, %%f49, %%f69;\n"
        "mul.f64 %%f180, %%f190, %%f9; mul.f64 %%f181, %%f14, %%f3; sub.f64 %%f182, %%f180, %%f181;\n"
        "mul.f64 %%f183, %%f180, %%f191; mul.f64 %%f184, %%f34, %%f3; sub.f64 %%f185, %%f183, %%f184;\n"
        "mul.f64 %%f192, %%f190, %%f180; mul.f64 %%f193, %%f54, %%f3; sub.f64 %%f194, %%f192, %%f193;\n"
        "add.f64 %%f195, %%f190, 0d3FF6678AE3CB2859; add.f64 %%f196, %%f180, %%f74;\n"
        "st.global.f64 [%%p+512], %%f182; st.global.f64 [%%p+520], %%f185; st.global.f64 [%%p+528], %%f194;\n"
        "add.rn.f64 %%f197, %%f180, %%f74; st.global.f64 [%%p+536], %%f195;\n"
        "st.global.f64 [%%p+544], %%f196; st.global.f64 [%%p+552], %%f197;\n%s\nret;\n}\n",
        more);
    return text;
}

static struct counts counts_of_large(const char *more)
{
    const char *text = large_text(more);
    struct recovered recovered = recover(text, text);
    struct counts counts = recovered.contractions ? count(&recovered) : (struct counts){.free = 1};
    release(&recovered);
    return counts;
}

static void large_code_is_settled_by_counts(void **state)
{
    (void)state;
    struct counts counts = counts_of_large("");
    if (counts.free || counts.contracted != CONTRACTED)
        fail_msg("%d contracted, %d rounded, %d free", counts.contracted, counts.rounded, counts.free);
}

/* Where the code may have contracted another product than the one that is seen, or with other factors, counts settle nothing. */
static void counts_do_not_settle_what_they_cannot_see(void **state)
{
    static const char *const more[] = {
        /* a product comes through a selection */
        "setp.eq.u32 %q, %n, 3; mul.f64 %f150, %f0, %f20; selp.f64 %f151, %f150, %f23, %q;\n"
        "mul.f64 %f152, %f40, %f60; add.f64 %f153, %f151, %f152; st.global.f64 [%p+560], %f153;",
        /* a factor is another one at the sum */
        "mov.f64 %f150, %f0; mul.f64 %f151, %f150, %f20; mov.f64 %f150, %f40;\n"
        "add.f64 %f152, %f151, %f60; add.f64 %f153, %f152, %f150; st.global.f64 [%p+560], %f153;",
        /* the product is of the turn before */
        "mul.f64 %f151, %f0, %f20; TURN: ld.global.f64 %f150, [%p+568]; add.f64 %f152, %f151, %f60;\n"
        "mul.f64 %f151, %f150, %f20; st.global.f64 [%p+560], %f152;\n"
        "sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra TURN;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (!counts_of_large(more[i]).free) fail_msg("text %zu is settled", i);
}

/* Code of another kernel recovers nothing. */
static void other_code_recovers_nothing(void **state)
{
    (void)state;
    struct recovered recovered =
        recover(KERNEL("k", "f64", 8, "mul.f64 %x6, %x1, %x2; add.f64 %x9, %x6, %x3;"),
                KERNEL("k", "f64", 8, "mul.f64 %x6, %x1, %x2; add.f64 %x9, %x6, %x4;"));
    struct counts counts = recovered.contractions ? count(&recovered) : (struct counts){0};
    assert_int_equal(counts.contracted + counts.rounded, 0);
    release(&recovered);
}

static void tell(const char *name)
{
    char *text = NULL;
    size_t length;
    FILE *file = fopen(name, "r"), *whole = open_memstream(&text, &length);
    if (!file || !whole) exit(2);
    for (int c; (c = getc(file)) != EOF;) putc(c, whole);
    fclose(file);
    fclose(whole);
    struct ptx_module *module = parse(name, text);
    for (uint32_t k = 0; k < module->function_count; k++) {
        struct recovered recovered = {arena_create(), module, module->functions[k], NULL};
        struct cubin loaded;
        if (!recovered.kernel->is_entry || recovered.kernel->unreadable) continue;
        if (!assemble(recovered.arena, module, recovered.kernel, &loaded)) exit(77);
        recovered.contractions = recover_all(recovered.arena, recovered.kernel, &loaded);
        struct counts counts = recovered.contractions ? count(&recovered) : (struct counts){0};
        printf("%s %s: %d contracted, %d rounded, %d free\n", recovered.kernel->name,
               !recovered.contractions ? "unrecovered"
               : counts.free           ? "in part"
                                       : "whole",
               counts.contracted, counts.rounded, counts.free);
        arena_free(recovered.arena);
    }
    ptx_module_free(module);
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_free),
        cmocka_unit_test(the_code_decides),
        cmocka_unit_test(large_code_is_settled_by_counts),
        cmocka_unit_test(counts_do_not_settle_what_they_cannot_see),
        cmocka_unit_test(other_code_recovers_nothing),
    };
    for (int i = 1; i < argc; i++) tell(argv[i]);
    return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
