/* SPDX-License-Identifier: Apache-2.0
 * Which loops of unrolled.cu are seen as they were, and that they are not once any copy of the body differs from the others. */
#include "fuser/kernel/reroll.h"

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
} kernels[] = {{"plain", true},       {"read_only", true}, {"ways", true}, {"middle", true},
               {"pairs", true},       {"in_place", true},  {"sum", false}, {"shared_memory", false},
               {"first_only", false}, {"products", true}};

/* In the kernel of this name the n-th such text, from 0, with what is changed. */
static const struct change {
    const char *name, *what, *with;
    int nth;
} changes[] = {
    /* clang-format off */
    {"plain", "0f3F800000", "0f40000000", 0}, /* the value: before the loop, and in each copy */
    {"plain", "0f3F800000", "0f40000000", 1},
    {"plain", "0f3F800000", "0f40000000", 2},
    {"plain", "0f3F800000", "0f40000000", 4},
    {"plain", "add.f32", "add.rz.f32", 3},
    {"plain", "add.f32", "sub.f32", 3},
    {"plain", "st.global.f32", "st.global.u32", 2},
    {"plain", "ld.global.f32", "ld.volatile.global.f32", 2},
    {"plain", "and.b32", "or.b32", 0},              /* how many are left */
    {"plain", ", 3;", ", 7;", 0},
    {"plain", "div.u32", "div.s32", 0},
    {"plain", "add.s32 \t%r21, %r3, 1", "add.s32 \t%r21, %r3, 2", 0},
    {"plain", "setp.lt.u32 \t%p4, %r3, 3", "setp.lt.u32 \t%p4, %r3, 4", 0},
    {"plain", "setp.lt.s32 \t%p5", "setp.le.s32 \t%p5", 0}, /* where it ends */
    {"plain", "setp.lt.s32 \t%p5", "setp.lt.u32 \t%p5", 0},
    {"plain", "setp.ge.s32 \t%p1", "setp.gt.s32 \t%p1", 0},
    {"plain", "setp.ne.s32 \t%p3, %r26, 0", "setp.ne.s32 \t%p3, %r26, 1", 0},
    {"plain", "mul.wide.s32 \t%rd10, %r2, 4", "mul.wide.s32 \t%rd10, %r2, 8", 0}, /* where copies store */
    {"plain", "mul.wide.s32 \t%rd14, %r27, 4", "mul.wide.u32 \t%rd14, %r2, 4", 0},
    {"plain", "add.s32 \t%r27, %r24, %r2", "add.s32 \t%r27, %r23, %r2", 0},
    {"plain", "add.s32 \t%r27, %r27, %r2", "add.s32 \t%r27, %r27, 1", 0},
    /* numbers that are no sums: packed ones, those of another width, what a carry leaves */
    {"plain", "add.s32 \t%r23, %r22, %r2", "add.u16x2 \t%r23, %r22, %r2", 0},
    {"plain", "add.s32 \t%r23, %r22, %r2", "addc.s32 \t%r23, %r22, %r2", 0},
    {"plain", "add.s64 \t%rd20, %rd18, %rd10", "cvt.s64.s32 \t%rd20, %r22", 0},
    {"plain", "add.f32 \t%f8, %f7, 0f3F800000", "shfl.sync.idx.b32 \t%f8, %f7, 0, 31, -1", 0},
    {"pairs", "{%f13, %f14}", "{%f14, %f13}", 0},
    {"pairs", "{%f2, %f1}", "{%f1, %f2}", 0},
    {"ways", "setp.lt.s32", "setp.le.s32", 0},
    {"ways", "setp.lt.s32", "setp.le.s32", 3},
    {"ways", "or.pred", "and.pred", 4},
    {"ways", "div.s32", "rem.s32", 2},
    {"ways", "+8]", "+4]", 3},
    {"middle", "sub.f64", "add.f64", 3},
    {"middle", "+16]", "+24]", 1},
    /* clang-format on */
};

/* One change is not enough for these. */
static const struct change pairs[][2] = {
    /* clang-format off */
    /* a load before the store of the iteration before */
    {{"in_place", "st.global.f32 \t[%rd18], %f6;", "", 0},
     {"in_place", "ld.global.f32 \t%f8, [%rd19];", "ld.global.f32 \t%f8, [%rd19];\n\tst.global.f32 \t[%rd18], %f6;", 0}},
    /* what many turns do */
    {{"plain", "mul.wide.s32 \t%rd10, %r2, 4;", "mul.wide.s32 \t%rd10, %r2, 4;\n\tmov.u32 \t%r28, 0;", 0},
     {"plain", "st.global.f32 \t[%rd22], %f10;", "add.s32 \t%r28, %r28, 1;\n\tsetp.gt.s32 \t%p0, %r28, 9;\n\t"
      "selp.f32 \t%f10, 0f00000000, %f10, %p0;\n\tst.global.f32 \t[%rd22], %f10;", 0}},
    /* what no thread comes to in few turns: the index far behind its first value, and far before the limit */
    {{"plain", "mul.wide.s32 \t%rd10, %r2, 4;",
      "mul.wide.s32 \t%rd10, %r2, 4;\n\tmov.u32 \t%r28, %r27;\n\tshl.b32 \t%r0, %r2, 2;", 0},
     {"plain", "st.global.f32 \t[%rd22], %f10;",
      "sub.s32 \t%r22, %r27, %r28;\n\tsub.s32 \t%r23, %r22, %r0;\n\tsub.s32 \t%r26, %r23, %r0;\n\t"
      "mul.lo.s32 \t%r22, %r22, %r23;\n\tmul.lo.s32 \t%r22, %r22, %r26;\n\tcvt.s64.s32 \t%rd15, %r22;\n\t"
      "add.s64 \t%rd22, %rd22, %rd15;\n\tst.global.f32 \t[%rd22], %f10;", 0}},
    {{"plain", "mul.wide.s32 \t%rd10, %r2, 4;", "mul.wide.s32 \t%rd10, %r2, 4;", 0},
     {"plain", "st.global.f32 \t[%rd22], %f10;", "mad.lo.s32 \t%r28, %r2, 20, %r27;\n\tsetp.lt.s32 \t%p0, %r28, %r12;\n\t"
      "selp.f32 \t%f10, 0f00000000, %f10, %p0;\n\tst.global.f32 \t[%rd22], %f10;", 0}},
    /* where there is no iteration, the count is none */
    {{"plain", "@%p1 bra", "@%p0 bra", 0}, {"plain", "setp.ge.s32 \t%p1", "setp.ne.s32 \t%p0, %r2, %r2;\n\tsetp.ge.s32 \t%p1", 0}},
    /* a turn begins with what the one before it has left */
    {{"plain", "mul.wide.s32 \t%rd10, %r2, 4;", "mul.wide.s32 \t%rd10, %r2, 4;\n\tmov.f32 \t%f0, 0f3F800000;", 0},
     {"plain", "add.f32 \t%f4, %f3, 0f3F800000;", "add.f32 \t%f4, %f3, %f0;\n\tmov.f32 \t%f0, %f3;", 0}},
    /* clang-format on */
};

static char *read_all(void)
{
    const char *top = getenv("top_srcdir");
    char name[4096], *text;
    snprintf(name, sizeof name, "%s/tests/analysis/unrolled.ptx", top ? top : ".");
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    text = calloc(length + 1, 1);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    return text;
}

static bool is_rolled(const char *text, const char *name)
{
    const char *error = NULL;
    struct ptx_module *module = ptx_parse("unrolled.ptx", text, strlen(text), &error);
    struct arena *arena = arena_create();
    assert_null(error);
    const struct ptx_function *function = ptx_find_function(module, name);
    assert_non_null(function);
    assert_null(function->unreadable);
    const struct reroll *rolled = reroll_find(arena, function);
    bool is = rolled;
    if (is) assert_true(rolled->function->instruction_count < function->instruction_count);
    reroll_close(rolled);
    arena_free(arena);
    ptx_module_free(module);
    return is;
}

static void finds_loops(void **state)
{
    (void)state;
    char *text = read_all();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (is_rolled(text, kernels[k].name) != kernels[k].is) fail_msg("%s", kernels[k].name);
    free(text);
}

/* The text with the change, the caller's. */
static char *make_change(const char *text, const struct change *change)
{
    char entry[64], *changed = calloc(strlen(text) + 512, 1);
    snprintf(entry, sizeof entry, ".entry %s(", change->name);
    const char *at = strstr(text, entry), *end = at ? strstr(at, "\n}") : NULL;
    for (int n = 0; at && n <= change->nth; n++) at = strstr(at + 1, change->what);
    if (!at || at > end) fail_msg("%s has no %s of number %d", change->name, change->what, change->nth);
    memcpy(changed, text, (size_t)(at - text));
    strcat(changed, change->with);
    strcat(changed, at + strlen(change->what));
    return changed;
}

static void refuse(const char *text, const struct change *changes_of, int count)
{
    char *changed = make_change(text, &changes_of[0]);
    for (int i = 1; i < count; i++) {
        char *before = changed;
        changed = make_change(before, &changes_of[i]);
        free(before);
    }
    if (is_rolled(changed, changes_of->name))
        fail_msg("%s: %s of number %d is taken for %s", changes_of->name, changes_of->with, changes_of->nth,
                 changes_of->what);
    free(changed);
}

static void sees_differences(void **state)
{
    (void)state;
    char *text = read_all();
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) refuse(text, &changes[c], 1);
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) refuse(text, pairs[p], 2);
    free(text);
}

struct argument {
    uint64_t a, b;
    int32_t width, height;
};

static void holds_where_numbers_do_not_wrap(void **state)
{
    (void)state;
    static const struct {
        int32_t width;
        int64_t greatest;
        bool is;
    } launches[] = {{100, 10000, true},
                    {INT32_MAX - 20000, 10000, true},
                    {INT32_MAX, 10000, false},
                    {INT32_MIN, 10000, false},
                    {100, INT32_MAX, false}};
    char *text = read_all();
    const char *error = NULL;
    struct ptx_module *module = ptx_parse("unrolled.ptx", text, strlen(text), &error);
    struct arena *arena = arena_create();
    const struct reroll *rolled = reroll_find(arena, ptx_find_function(module, "ways"));
    assert_non_null(rolled);
    for (size_t l = 0; l < sizeof launches / sizeof *launches; l++) {
        struct argument argument = {.width = launches[l].width, .height = 50};
        unsigned char uses[sizeof argument] = {0};
        struct reroll_launch launch = {
            (const unsigned char *)&argument, sizeof argument, {4, 1, 1}, {128, 1, 1}, launches[l].greatest};
        if (reroll_holds(rolled, &launch, uses) != launches[l].is) fail_msg("launch %zu", l);
        if (!launches[l].is) continue;
        for (size_t i = 0; i < sizeof uses; i++)
            assert_int_equal(uses[i],
                             i >= offsetof(struct argument, width) && i < offsetof(struct argument, height));
    }
    reroll_close(rolled);
    arena_free(arena);
    ptx_module_free(module);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_loops), cmocka_unit_test(sees_differences),
                                       cmocka_unit_test(holds_where_numbers_do_not_wrap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
