/* SPDX-License-Identifier: Apache-2.0
 * The parser by example: what each form of PTX becomes. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEADER ".version 9.0\n.target sm_90\n.address_size 64\n"

static struct ptx_module *parse(const char *text)
{
    const char *error;
    struct ptx_module *module = ptx_parse("example", text, strlen(text), &error);
    assert_non_null(module);
    if (error) fail_msg("%s", error);
    return module;
}

/* A kernel `k` around these statements, which must be readable. */
static const struct ptx_function *parse_body(const char *body, struct ptx_module **module)
{
    char text[4096];
    snprintf(text, sizeof text,
             HEADER ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
                    ".reg .pred %%p<4>;\n.reg .b32 %%r<20>;\n.reg .b64 %%rd<9>;\n.reg .f32 %%f<4>;\n%s\n}\n",
             body);
    *module = parse(text);
    const struct ptx_function *function = ptx_find_function(*module, "k");
    assert_non_null(function);
    if (function->unreadable) fail_msg("%s", function->unreadable);
    return function;
}

static const struct ptx_instruction *first(const struct ptx_function *function)
{
    assert_true(function->instruction_count > 0);
    return &function->instructions[0];
}

static const char *register_name(const struct ptx_function *function, int32_t reg)
{
    assert_in_range(reg, 0, function->register_count - 1);
    return function->registers[reg].name;
}

static void reads_mnemonic(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_function *function =
        parse_body("@!%p1 ld.global.nc.L1::evict_last.v4.f32 {%f0,%f1,%f2,%f3}, "
                   "[%rd2+-16];",
                   &module);
    const struct ptx_instruction *load = first(function);
    assert_int_equal(load->opcode, PTX_OP_LD);
    assert_int_equal(load->space, PTX_GLOBAL);
    assert_int_equal(load->vector, 4);
    assert_int_equal(load->type_count, 1);
    assert_int_equal(load->types[0], PTX_F32);
    assert_true(ptx_has_modifier(load, PTX_MOD_NC));
    assert_true(ptx_has_modifier(load, PTX_MOD_L1_EVICT_LAST));
    assert_false(ptx_has_modifier(load, PTX_MOD_VOLATILE));
    assert_string_equal(register_name(function, load->guard), "%p1");
    assert_true(load->guard_negated);
    assert_int_equal(load->operand_count, 2);
    assert_int_equal(load->operands[0].kind, PTX_OPERAND_VECTOR);
    assert_int_equal(load->operands[0].element_count, 4);
    assert_string_equal(register_name(function, load->operands[0].elements[3].reg), "%f3");
    assert_int_equal(load->operands[1].kind, PTX_OPERAND_ADDRESS);
    assert_int_equal(load->operands[1].value, -16);
    assert_true(ptx_is_load(load));
    assert_int_equal(ptx_access_bytes(load), 16);
    ptx_module_free(module);
}

static void reads_conversion_types_in_order(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_instruction *convert = first(parse_body("cvt.rzi.s32.f32 %r1, %f1;", &module));
    assert_int_equal(convert->type_count, 2);
    assert_int_equal(convert->types[0], PTX_S32);
    assert_int_equal(convert->types[1], PTX_F32);
    assert_true(ptx_has_modifier(convert, PTX_MOD_RZI));
    ptx_module_free(module);
}

/* The value of the second operand of `mov.b64 %rd1, LITERAL;` */
static struct ptx_operand literal(const char *text)
{
    char body[256];
    struct ptx_module *module;
    snprintf(body, sizeof body, "mov.b64 %%rd1, %s;", text);
    const struct ptx_instruction *move = first(parse_body(body, &module));
    assert_int_equal(move->operand_count, 2);
    struct ptx_operand operand = move->operands[1];
    ptx_module_free(module);
    return operand;
}

static void reads_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } examples[] = {
        {"0", 0},
        {"-1", -1},
        {"017", 15},
        {"0b101", 5},
        {"0xFFFFFFFFFFFFFFFF", -1},
        {"0xffU", 255},
        {"18446744073709551615", -1},
        {"WARP_SZ", 32},
        {"(1 + 2) * 3 - 4 / 2", 7},
        {"1 << 4 | 3", 19},
        {"~0", -1},
        {"!5", 0},
        {"-7 / 2", -3},
        {"-7 % 4", -3},
        {"-1 > 0", 0},
        {"-1 > 0U", 1},
        {"3 > 2 ? 10 : 20", 10},
        {"(.s64) 5", 5},
        {"-8 >> 1", -4},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct ptx_operand operand = literal(examples[i].text);
        assert_int_equal(operand.kind, PTX_OPERAND_INTEGER);
        if (operand.value != examples[i].value)
            fail_msg("%s is %lld", examples[i].text, (long long)operand.value);
    }
}

static void reads_floats(void **state)
{
    (void)state;
    struct ptx_operand single = literal("0f3F800000"), wide = literal("0dBFF0000000000000"),
                       decimal = literal("-2.5e1");
    double number = -25;
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    assert_int_equal(single.kind, PTX_OPERAND_FLOAT);
    assert_false(single.is_float64);
    assert_int_equal(single.value, 0x3F800000);
    assert_true(wide.is_float64);
    assert_true((uint64_t)wide.value == 0xBFF0000000000000);
    assert_true(decimal.is_float64);
    assert_true(decimal.value == bits);
}

static void reads_specials_and_symbols(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_function *function = parse_body(
        ".shared .align 8 .b8 tile[64];\nmov.u32 %r1, %ctaid.y;\nmov.u32 %r1, %envreg7;\n"
        "mov.u64 %rd1, tile+8;\nld.param.u32 %r2, [n];\nld.shared.u32 %r2, [tile+4];\nld.u32 %r1, [64];",
        &module);
    const struct ptx_instruction *at = function->instructions;
    assert_int_equal(at[0].operands[1].special, PTX_SPECIAL_CTAID_Y);
    assert_int_equal(at[1].operands[1].kind, PTX_OPERAND_SPECIAL);
    assert_int_equal(at[1].operands[1].special, PTX_SPECIAL_OTHER);
    assert_int_equal(at[2].operands[1].kind, PTX_OPERAND_SYMBOL);
    assert_string_equal(at[2].operands[1].symbol, "tile");
    assert_int_equal(at[2].operands[1].value, 8);
    assert_ptr_equal(at[2].operands[1].variable, function->variables[0]);
    assert_int_equal(at[3].space, PTX_PARAM);
    assert_ptr_equal(at[3].operands[1].variable, &function->parameters[1]);
    assert_int_equal(at[3].operands[1].variable->offset, 8);
    assert_int_equal(at[3].operands[1].reg, -1);
    assert_int_equal(at[4].operands[1].value, 4);
    assert_int_equal(at[5].space, PTX_GENERIC);
    assert_int_equal(at[5].operands[1].value, 64);
    assert_null(at[5].operands[1].symbol);
    ptx_module_free(module);
}

static void reads_pairs_and_negations(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_function *function = parse_body("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;\n"
                                                     "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;\n"
                                                     "setp.eq.s32 _|%p2, %r1, 0;",
                                                     &module);
    const struct ptx_instruction *at = function->instructions;
    assert_int_equal(at[0].operands[0].kind, PTX_OPERAND_PAIR);
    assert_string_equal(register_name(function, at[0].operands[0].elements[1].reg), "%p2");
    assert_true(at[0].operands[3].is_negated);
    assert_false(at[0].operands[1].is_negated);
    assert_int_equal(at[1].operand_count, 5);
    assert_int_equal(at[1].operands[4].value, -1);
    assert_int_equal(at[2].operands[0].elements[0].kind, PTX_OPERAND_NONE);
    ptx_module_free(module);
}

static void keeps_inner_scopes_apart(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_function *function =
        parse_body("{\n.reg .b32 %r1, x;\nmov.b32 %r1, 1;\n@%p1 bra L;\nbra M;\nL:\n}\n"
                   "{\n.reg .b64 x;\n.param .b32 q;\nmov.b64 x, 2;\nL:\nbra L;\n}\n"
                   "mov.b32 %r1, 3;\nM:\n",
                   &module);
    const struct ptx_instruction *at = function->instructions;
    int32_t inner = at[0].operands[0].reg, outer = at[5].operands[0].reg;
    assert_int_not_equal(inner, outer);
    assert_string_equal(register_name(function, inner), register_name(function, outer));
    assert_int_equal(function->registers[at[3].operands[0].reg].type, PTX_B64);
    assert_int_equal(function->label_count, 3);
    assert_string_equal(function->labels[at[1].operands[0].label].name, "L");
    assert_int_equal(function->labels[at[1].operands[0].label].instruction, 3);
    assert_string_equal(function->labels[at[4].operands[0].label].name, "L$2");
    assert_int_equal(function->labels[at[2].operands[0].label].instruction, 6);
    ptx_module_free(module);
}

static void reads_calls(void **state)
{
    (void)state;
    struct ptx_module *module = parse(
        HEADER
        ".func (.param .b64 r) callee(.param .b64 x);\n"
        ".visible .entry k()\n{\n.reg .b64 %rd<3>;\n{ // callseq\n.param .b64 param0;\n.param .b64 retval0;\n"
        "st.param.b64 [param0+0], %rd1;\ncall.uni (retval0), callee, (param0);\nld.param.b64 %rd2, "
        "[retval0+0];\n}\n"
        "{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\n"
        "proto : .callprototype ()_ (.param .b64 _);\ncall %rd1, (param0), proto;\n}\nret;\n}\n");
    const struct ptx_function *function = ptx_find_function(module, "k");
    assert_null(function->unreadable);
    const struct ptx_instruction *call = &function->instructions[1], *indirect = &function->instructions[4];
    assert_int_equal(call->operand_count, 3);
    assert_int_equal(call->operands[0].kind, PTX_OPERAND_LIST);
    assert_string_equal(call->operands[1].symbol, "callee");
    assert_string_equal(call->operands[2].elements[0].symbol, "param0");
    assert_string_equal(indirect->operands[1].elements[0].symbol, "param0$2");
    assert_string_equal(indirect->operands[2].symbol, "proto");
    assert_int_equal(function->table_count, 1);
    assert_true(ptx_find_function(module, "callee")->is_declaration);
    ptx_module_free(module);
}

static void lays_out_parameters(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse(HEADER ".visible .entry k(.param .u8 a, .param .u32 b, .param .align 16 .b8 c[20],\n"
                     ".param .u64 .ptr .global .align 256 d, .param .f32 e)\n"
                     ".maxntid 32, 4\n.minnctapersm 2\n.maxnreg 40\n.reqntid 8\n{\nret;\n}\n");
    const struct ptx_function *function = ptx_find_function(module, "k");
    static const uint32_t offsets[] = {0, 4, 16, 40, 48};
    assert_int_equal(function->parameter_count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(function->parameters[i].offset, offsets[i]);
    assert_int_equal(function->parameter_bytes, 52);
    assert_int_equal(function->maxntid[0], 32);
    assert_int_equal(function->maxntid[1], 4);
    assert_int_equal(function->maxntid[2], 1);
    assert_int_equal(function->reqntid[0], 8);
    assert_int_equal(function->minnctapersm, 2);
    assert_int_equal(function->maxnreg, 40);
    assert_memory_equal(function->directives.text, ".maxntid", 8);
    ptx_module_free(module);
}

static void reads_initial_values(void **state)
{
    (void)state;
    struct ptx_module *module = parse(
        HEADER ".global .align 2 .u16 m[2][3] = {{1, 2}, {-1}};\n"
               ".const .f32 f[] = {0f3F800000, 2.0, -1};\n.global .f64 d = -0.5;\n.global .u8 target[8];\n"
               ".visible .global .align 8 .u64 p[3] = {generic(target)+4, 7, target};\n"
               ".global .align 8 .b8 bytes[9] = {1, 0xFF(target), 0xFF00(target), 0xFF0000(target)};\n"
               ".extern .shared .align 16 .b8 dynamic[];\n.global .v4 .f32 v = {1.0, 2.0};\n"
               ".global .attribute(.managed) .u32 managed;\n");
    static const int16_t m[] = {1, 2, 0, -1, 0, 0};
    static const float f[] = {1, 2, -1}, v[] = {1, 2, 0, 0};
    double d = -0.5;
    const struct ptx_variable *p = ptx_find_variable(module, "p"),
                              *bytes = ptx_find_variable(module, "bytes");
    assert_int_equal(ptx_find_variable(module, "m")->size, sizeof m);
    assert_memory_equal(ptx_find_variable(module, "m")->initial, m, sizeof m);
    assert_int_equal(ptx_find_variable(module, "f")->size, sizeof f);
    assert_memory_equal(ptx_find_variable(module, "f")->initial, f, sizeof f);
    assert_memory_equal(ptx_find_variable(module, "d")->initial, &d, sizeof d);
    assert_memory_equal(ptx_find_variable(module, "v")->initial, v, sizeof v);
    assert_null(ptx_find_variable(module, "target")->initial);
    assert_true(p->is_visible);
    assert_int_equal(p->relocation_count, 2);
    assert_string_equal(p->relocations[0].symbol, "target");
    assert_int_equal(p->relocations[0].addend, 4);
    assert_true(p->relocations[0].is_generic);
    assert_int_equal(p->relocations[1].offset, 16);
    assert_false(p->relocations[1].is_generic);
    assert_int_equal(bytes->relocation_count, 1);
    assert_int_equal(bytes->relocations[0].offset, 1);
    assert_int_equal(ptx_find_variable(module, "dynamic")->size, 0);
    assert_int_equal(ptx_find_variable(module, "dynamic")->alignment, 16);
    assert_true(ptx_find_variable(module, "dynamic")->is_extern);
    assert_true(ptx_find_variable(module, "managed")->is_managed);
    ptx_module_free(module);
}

static void keeps_unknown_instructions(void **state)
{
    (void)state;
    struct ptx_module *module;
    const struct ptx_function *function = parse_body(
        "frobnicate.b32 %r1, [%rd1];\nadd.sparkling.u32 %r1, %r2, 3;\nweird <1> [2;\nmov.u32 %r1, 1;",
        &module);
    assert_int_equal(function->instruction_count, 4);
    assert_int_equal(function->instructions[0].opcode, PTX_OP_UNKNOWN);
    assert_int_equal(function->instructions[0].operand_count, 2);
    assert_int_equal(function->instructions[1].opcode, PTX_OP_UNKNOWN);
    assert_int_equal(function->instructions[2].operand_count, 0);
    assert_memory_equal(function->instructions[2].text.text, "weird <1> [2;", 13);
    assert_int_equal(function->instructions[3].opcode, PTX_OP_MOV);
    ptx_module_free(module);
}

static void goes_on_after_broken_functions(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse(HEADER ".visible .entry a()\n{\nmov.u32 %r1, 1;\n}\n"
                     ".visible .entry b()\n{\n.reg .b32 %r<2>;\nbra NOWHERE;\n}\n"
                     ".visible .entry c(.param .nonsense x)\n{\nret;\n}\n"
                     ".visible .entry d()\n{\n{ ret;\n"
                     ".visible .entry e()\n{\nret;\n}\n"
                     ".func (.reg .u32 r) f(.reg .u32 x)\n{\nmov.u32 r, x;\nret;\n}\n");
    static const char *const expected[] = {
        "example:6: %r1 is not declared", "example:11: there is no label NOWHERE",
        "example:13: not part of a declaration", "example:18: the body has no"};
    assert_int_equal(module->function_count, 6);
    for (int i = 0; i < 4; i++) {
        const char *actual = module->functions[i]->unreadable;
        assert_non_null(actual);
        if (strncmp(actual, expected[i], strlen(expected[i]))) fail_msg("%s", actual);
        assert_int_equal(module->functions[i]->instruction_count, 0);
    }
    assert_string_equal(module->functions[5]->name, "f");
    assert_non_null(module->functions[5]->unreadable);
    assert_null(module->functions[4]->unreadable);
    assert_int_equal(module->functions[4]->line, 20);
    assert_int_equal(module->functions[4]->instruction_count, 1);
    ptx_module_free(module);
}

static void reports_module_errors_and_goes_on(void **state)
{
    (void)state;
    const char *error,
        *text = HEADER ".global .b32 x = {;\n.global .u32 y = 1 +;\n.visible .entry k()\n{\nret;\n}\n";
    struct ptx_module *module = ptx_parse("file.ptx", text, strlen(text), &error);
    assert_non_null(error);
    assert_memory_equal(error, "file.ptx:4: ", 12);
    assert_non_null(ptx_find_function(module, "k"));
    ptx_module_free(module);
    module = ptx_parse("none", "hello", 5, &error);
    assert_non_null(error);
    ptx_module_free(module);
    module = ptx_parse("empty", "", 0, &error);
    assert_string_equal(error, "empty:1: no .version: this is no PTX near ``");
    ptx_module_free(module);
}

static void skips_debug_information(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse(".version 9.0\n.target sm_90, debug\n.address_size 64\n"
              ".visible .entry k()\n{\n.reg .b32 %r<2>;\n.loc 1 7 3\nmov.u32 %r1, 1;\n"
              ".loc 2 9 0, function_name $L__info+7, inlined_at 1 7 3\nret;\n}\n"
              ".file 1 \"a {.cu\", 12, 34\n.section .debug_str\n{\n.b8 1,2\n$L__info:\n}\n"
              ".alias f, g;\n");
    const struct ptx_function *function = ptx_find_function(module, "k");
    assert_true(module->is_debug);
    assert_int_equal(module->sm, 90);
    assert_int_equal(function->instructions[0].source_line, 7);
    assert_int_equal(function->instructions[0].line, 8);
    assert_int_equal(function->instructions[1].source_file, 2);
    assert_int_equal(function->instructions[1].source_line, 9);
    assert_int_equal(module->extra_count, 1);
    ptx_module_free(module);
}

static void refuses_what_would_cost_too_much(void **state)
{
    (void)state;
    size_t length = 200000;
    char *deep = malloc(length + 200);
    assert_non_null(deep);
    static const char *const openings[] = {"{", "mov.b32 x, ((((", "mov.b32 x, {", "mov.b32 x, [", "- ",
                                           "1?"};
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        size_t at = (size_t)sprintf(deep, HEADER ".entry k()\n{\n.reg .b32 x; mov.b32 x, ");
        while (at < length) at += (size_t)sprintf(deep + at, "%s", openings[i]);
        const char *error;
        struct ptx_module *module = ptx_parse("deep", deep, at, &error);
        assert_non_null(module);
        assert_non_null(module->functions[0]->unreadable);
        ptx_module_free(module);
    }
    free(deep);
    struct ptx_module *module = parse(HEADER ".entry k()\n{\n.reg .b32 %r<4000000000>;\n}\n");
    assert_non_null(module->functions[0]->unreadable);
    ptx_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_mnemonic),
        cmocka_unit_test(reads_conversion_types_in_order),
        cmocka_unit_test(reads_integers),
        cmocka_unit_test(reads_floats),
        cmocka_unit_test(reads_specials_and_symbols),
        cmocka_unit_test(reads_pairs_and_negations),
        cmocka_unit_test(keeps_inner_scopes_apart),
        cmocka_unit_test(reads_calls),
        cmocka_unit_test(lays_out_parameters),
        cmocka_unit_test(reads_initial_values),
        cmocka_unit_test(keeps_unknown_instructions),
        cmocka_unit_test(goes_on_after_broken_functions),
        cmocka_unit_test(reports_module_errors_and_goes_on),
        cmocka_unit_test(skips_debug_information),
        cmocka_unit_test(refuses_what_would_cost_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
