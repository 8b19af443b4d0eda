/* SPDX-License-Identifier: Apache-2.0
 * Kernels of known operations, assembled for every architecture that NVRTC knows: the opcodes of
 * machine_code.def are found again. And cubins are compared, cut short and damaged. */
#include "fuser/codegen/cubin.h"
#include "fuser/codegen/machine_code.h"
#include "fuser/codegen/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Six values come from memory, one goes back; the body stands in between. */
#define KERNEL(name, type, bytes, body)                                                                      \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .u64 %p; .reg ." type " %x<12>;\n.reg .b32 %r<9>;\n"   \
    "ld.param.u64 %p, [p];\ncvta.to.global.u64 %p, %p;\n"                                                    \
    "ld.volatile.global." type " %x1, [%p+" #bytes "];\nld.volatile.global." type " %x2, [%p+2*" #bytes      \
    "];\n"                                                                                                   \
    "ld.volatile.global." type " %x3, [%p+3*" #bytes "];\nld.volatile.global." type " %x4, [%p+4*" #bytes    \
    "];\n" body "\nst.volatile.global." type " [%p], %x9;\nret;\n}\n"

static const char kernels_text[] = ".version 6.5\n.target sm_75\n.address_size 64\n"
    /* clang-format off */
    KERNEL("f32_rounded", "f32", 4, "mul.rn.f32 %x5, %x1, %x2; mul.rn.f32 %x6, %x5, %x3; add.rn.f32 %x7, %x6, %x4;\n"
                                    "add.rn.f32 %x8, %x7, %x1; sub.rn.f32 %x8, %x8, %x3; fma.rn.f32 %x9, %x8, %x2, %x3;")
    KERNEL("f32_free", "f32", 4, "mul.f32 %x5, %x1, %x2; add.f32 %x9, %x5, %x3;")
    KERNEL("f64_rounded", "f64", 8, "mul.rn.f64 %x5, %x1, %x2; add.rn.f64 %x6, %x5, %x4; mul.rn.f64 %x7, %x6, %x3;\n"
                                    "add.rn.f64 %x7, %x7, %x2; add.rn.f64 %x7, %x7, %x1; fma.rn.f64 %x9, %x7, %x2, %x3;")
    KERNEL("f64_free", "f64", 8, "mul.f64 %x5, %x1, %x2; sub.f64 %x9, %x5, %x3;")
    KERNEL("f64_divided", "f64", 8, "div.rn.f64 %x5, %x1, %x2; add.rn.f64 %x9, %x5, %x3;")
    KERNEL("half_rounded", "b32", 4, "mul.rn.f16x2 %x5, %x1, %x2; add.rn.f16x2 %x6, %x5, %x4; fma.rn.f16x2 %x9, %x6, %x3, %x1;")
    KERNEL("functions", "f32", 4, "ex2.approx.ftz.f32 %x5, %x1; rcp.approx.ftz.f32 %x6, %x2; lg2.approx.ftz.f32 %x7, %x3;\n"
                                  "min.f32 %x8, %x5, %x6; max.f32 %x8, %x8, %x7; tanh.approx.f32 %x8, %x8; rsqrt.approx.ftz.f32 %x9, %x8;")
    KERNEL("f64_function", "f64", 8, "rcp.approx.ftz.f64 %x5, %x1; rsqrt.approx.ftz.f64 %x9, %x5;")
    KERNEL("integers", "u32", 4, "mul.lo.u32 %x5, %x1, %x2; mad.lo.u32 %x6, %x5, %x3, %x4; div.u32 %x7, %x6, %x2; rem.s32 %x8, %x7, %x3;\n"
                                 "shl.b32 %r1, %x8, %x4; and.b32 %r2, %r1, %x1; popc.b32 %r3, %r2; clz.b32 %r4, %x2; min.s32 %r5, %r3, %r4;\n"
                                 "prmt.b32 %r6, %r5, %x1, %x2; brev.b32 %r7, %r6; mul.hi.u32 %r8, %r7, %x3; bar.sync 0;\n"
                                 "shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1; atom.global.add.u32 %r8, [%p+64], %r8; xor.b32 %x9, %r8, %x8;");
/* clang-format on */

static const uint32_t architectures[] = {75, 80, 86, 89, 90, 100, 103, 110, 120, 121};

struct compiled {
    struct arena *arena;
    struct ptx_module *module;
    struct nvrtc_output output;
};

static void compile(struct compiled *compiled, const char *text, uint32_t sm)
{
    const char *error;
    *compiled = (struct compiled){.arena = arena_create()};
    compiled->module = ptx_parse("kernels", text, strlen(text), &error);
    assert_null(error);
    reference_compile(NULL, compiled->arena, compiled->module,
                      (const struct ptx_function *const *)compiled->module->functions,
                      compiled->module->function_count, sm, 0, &compiled->output);
    if (compiled->output.is_missing) skip();
    if (compiled->output.error) fail_msg("%s", compiled->output.error);
}

static void release(struct compiled *compiled)
{
    ptx_module_free(compiled->module);
    arena_free(compiled->arena);
}

static struct machine_code_counts count(const struct compiled *compiled, const char *kernel)
{
    struct machine_code_counts counts;
    if (!machine_code_count(compiled->output.cubin, compiled->output.cubin_size, kernel, &counts))
        fail_msg("no kernel %s", kernel);
    return counts;
}

static void expect_counts(const struct compiled *compiled, uint32_t sm, const char *kernel,
                          const int64_t expected[MACHINE_CODE_CLASSES])
{
    struct machine_code_counts counts = count(compiled, kernel);
    for (int class = 0; class < MACHINE_CODE_CLASSES; class ++)
        if (counts.of[class] != expected[class])
            fail_msg("sm_%u, %s: %d %s, expected %d", sm, kernel, (int)counts.of[class],
                     machine_code_class_name(class), (int)expected[class]);
    if (counts.unknown) fail_msg("sm_%u, %s: opcode 0x%03x is not known", sm, kernel, counts.first_unknown);
}

static void operations_are_found_again(void **state)
{
    static const struct {
        const char *kernel;
        int64_t counts[MACHINE_CODE_CLASSES];
    } cases[] = {
        {"f32_rounded", {[MACHINE_CODE_FMUL] = 2, [MACHINE_CODE_FADD] = 3, [MACHINE_CODE_FFMA] = 1}},
        {"f32_free", {[MACHINE_CODE_FFMA] = 1}},
        {"f64_rounded", {[MACHINE_CODE_DMUL] = 2, [MACHINE_CODE_DADD] = 3, [MACHINE_CODE_DFMA] = 1}},
        {"f64_free", {[MACHINE_CODE_DFMA] = 1}},
        {"half_rounded", {[MACHINE_CODE_HALF] = 3}},
        {"functions", {0}}, /* one instruction each, as fuser/kernel/product.c has it */
        {"f64_function", {0}},
        {"integers", {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
        struct compiled compiled;
        compile(&compiled, kernels_text, architectures[i]);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            expect_counts(&compiled, architectures[i], cases[k].kernel, cases[k].counts);
        release(&compiled);
    }
}

static void an_opcode_outside_the_table_is_unknown(void **state)
{
    struct compiled compiled;
    struct cubin cubin;
    struct cubin_code code;
    struct machine_code_counts counts;
    (void)state;
    compile(&compiled, kernels_text, 90);
    assert_true(cubin_open(&cubin, compiled.output.cubin, compiled.output.cubin_size));
    assert_true(cubin_find_code(&cubin, "f32_free", &code));
    unsigned char *changed = malloc(cubin.size);
    memcpy(changed, cubin.bytes, cubin.size);
    unsigned char *instruction = changed + (code.bytes - cubin.bytes) + 2 * CUBIN_INSTRUCTION_BYTES;
    instruction[0] = 0xff;
    instruction[1] |= 1;
    assert_true(machine_code_count(changed, cubin.size, "f32_free", &counts));
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.first_unknown, 0x1ff);
    free(changed);
    release(&compiled);
}

static void equal_texts_give_equal_code(void **state)
{
    struct compiled first, second;
    struct cubin a, b;
    (void)state;
    compile(&first, kernels_text, 90);
    compile(&second, kernels_text, 90);
    assert_true(cubin_open(&a, first.output.cubin, first.output.cubin_size));
    assert_true(cubin_open(&b, second.output.cubin, second.output.cubin_size));
    assert_null(cubin_difference(first.arena, &a, "f64_divided", &b, "f64_divided")); /* with a slow path */
    assert_null(cubin_difference(first.arena, &a, "f32_free", &b, "f32_free"));
    assert_non_null(cubin_difference(first.arena, &a, "f32_free", &b, "f64_free"));
    assert_non_null(cubin_difference(first.arena, &a, "f32_free", &b, "missing"));
    release(&second);
    release(&first);
}

/* One character of the text: another constant, another rounding. */
static void other_texts_give_other_code(void **state)
{
    static const char text[] = ".version 6.5\n.target sm_75\n.address_size 64\n" KERNEL(
        "changed", "f64", 8, "fma.rn.f64 %x5, %x1, 0d3FF123456789ABCD, %x2; add.rn.f64 %x9, %x5, %x3;");
    static const char *const changes[][2] = {
        {"ABCD", "ABCE"}, {"add.rn", "add.rz"}, {"%x9, %x5", "%x9, %x4"}};
    struct compiled first, second;
    struct cubin a, b;
    (void)state;
    compile(&first, text, 90);
    assert_true(cubin_open(&a, first.output.cubin, first.output.cubin_size));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *changed = strdup(text);
        memcpy(strstr(changed, changes[i][0]), changes[i][1], strlen(changes[i][1]));
        compile(&second, changed, 90);
        assert_true(cubin_open(&b, second.output.cubin, second.output.cubin_size));
        if (!cubin_difference(first.arena, &a, "changed", &b, "changed"))
            fail_msg("%s unseen", changes[i][1]);
        release(&second);
        free(changed);
    }
    release(&first);
}

static void the_assembler_is_named(void **state)
{
    struct compiled compiled;
    struct cubin cubin;
    const char *options;
    (void)state;
    compile(&compiled, kernels_text, 86);
    assert_true(cubin_open(&cubin, compiled.output.cubin, compiled.output.cubin_size));
    const char *version = cubin_assembler(&cubin, &options);
    assert_true(version && options);
    assert_int_equal(version[0], 'V');
    assert_non_null(strstr(options, "-arch sm_86"));
    assert_false(cubin_is_debug(&cubin));
    release(&compiled);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Every question about a cubin that is no cubin has an answer. */
static void ask_everything(struct arena *arena, const unsigned char *bytes, size_t size)
{
    static const char *const kernels[] = {"f64_divided", "half_rounded", "missing"};
    struct machine_code_counts counts;
    struct cubin cubin;
    const char *options;
    if (!cubin_open(&cubin, bytes, size)) return;
    cubin_is_debug(&cubin);
    cubin_assembler(&cubin, &options);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        machine_code_count(bytes, size, kernels[i], &counts);
        cubin_uses_variables(&cubin, kernels[i]);
        cubin_difference(arena, &cubin, kernels[i], &cubin, "f64_divided");
    }
}

static void damage_is_harmless(void **state)
{
    enum { ROUNDS = 2000, STEP = 61 };
    struct compiled compiled;
    uint32_t seed = 1;
    (void)state;
    compile(&compiled, kernels_text, 90);
    size_t size = compiled.output.cubin_size;
    for (size_t cut = 0; cut < size; cut += STEP) {
        unsigned char *copy = malloc(cut + 1); /* exactly as large: the sanitizer sees what lies behind */
        memcpy(copy, compiled.output.cubin, cut);
        ask_everything(compiled.arena, copy, cut);
        free(copy);
    }
    unsigned char *copy = malloc(size);
    for (unsigned round = 0; round < ROUNDS; round++) {
        memcpy(copy, compiled.output.cubin, size);
        uint64_t tables;
        memcpy(&tables, copy + 40, sizeof tables); /* e_shoff: most of what matters stands there */
        for (unsigned flip = 0; flip < 3; flip++) {
            size_t from = flip ? (size_t)tables : 0;
            copy[from + next_random(&seed) % (size - from)] = (unsigned char)next_random(&seed);
        }
        ask_everything(compiled.arena, copy, size);
    }
    free(copy);
    release(&compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_found_again),
        cmocka_unit_test(an_opcode_outside_the_table_is_unknown),
        cmocka_unit_test(equal_texts_give_equal_code),
        cmocka_unit_test(other_texts_give_other_code),
        cmocka_unit_test(the_assembler_is_named),
        cmocka_unit_test(damage_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
