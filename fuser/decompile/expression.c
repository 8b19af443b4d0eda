/* SPDX-License-Identifier: Apache-2.0
 * Expressions: what an instruction computes, in C. */
#include "fuser/decompile/code.h"

#include <string.h>

enum operand_class { I, F, P };
enum form { INFIX, PREFIX, CALL };
struct spelling {
    enum ptx_opcode opcode;
    enum operand_class class;
    enum form form;
    const char *text;
    enum precedence precedence;
    const char *rounded;
};
static const struct spelling spellings[] = {
#define SPELLING(opcode, class, form, text, precedence, rounded)                                             \
    {PTX_OP_##opcode, class, form, text, PRECEDENCE_##precedence, rounded},
#include "fuser/decompile/spelling.def"
#undef SPELLING
};

/* Of an operator with these operands. */
static enum text_sign joined_sign(enum text_sign a, enum text_sign b)
{
    return a > b ? a : b;
}

/* By as many bits as the register has, or more: 0 in PTX, undefined in C. */
static bool shifts_all_out(const struct ptx_instruction *instruction)
{
    bool is_shift = instruction->opcode == PTX_OP_SHL || instruction->opcode == PTX_OP_SHR;
    if (!is_shift || instruction->operand_count != 3 || instruction->operands[2].kind != PTX_OPERAND_INTEGER)
        return false;
    uint64_t count = (uint64_t)instruction->operands[2].value;
    return count >= 8 * ptx_type_bytes(instruction->types[0]);
}

static const struct spelling *spelling_of(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->type_count ? instruction->types[0] : PTX_NO_TYPE;
    enum operand_class class = type == PTX_PRED ? P : ptx_type_is_float(type) ? F : I;
    bool is_packed =
        (type != PTX_F32 && type != PTX_F64 && class == F) || type == PTX_U16X2 || type == PTX_S16X2;
    if (is_packed || instruction->type_count != 1) return NULL;
    if (ptx_has_modifier(instruction, PTX_MOD_CC) || ptx_has_modifier(instruction, PTX_MOD_HI) ||
        ptx_has_modifier(instruction, PTX_MOD_SAT) || ptx_has_modifier(instruction, PTX_MOD_NAN) ||
        ptx_has_modifier(instruction, PTX_MOD_RELU) || shifts_all_out(instruction))
        return NULL;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (spellings[i].opcode == instruction->opcode && spellings[i].class == class) return &spellings[i];
    return NULL;
}

static const char *rounding_of(const struct ptx_instruction *instruction)
{
    static const struct {
        enum ptx_modifier modifier;
        const char *text;
    } roundings[] = {{PTX_MOD_RN, "rn"}, {PTX_MOD_RZ, "rz"}, {PTX_MOD_RM, "rd"}, {PTX_MOD_RP, "ru"}};
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        if (ptx_has_modifier(instruction, roundings[i].modifier)) return roundings[i].text;
    return NULL;
}

static const char *arguments_from(struct code *code, uint32_t instruction, uint32_t first)
{
    const char *list = "";
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    for (uint32_t i = first; i < at->operand_count; i++) {
        const char *text = expression_operand(code, instruction, i).string;
        bool is_vector = at->operands[i].kind == PTX_OPERAND_VECTOR; /* in braces */
        int length = (int)strlen(text) - 2 * is_vector;
        list = arena_printf(code->arena, "%s%s%.*s", list, i > first ? ", " : "", length, text + is_vector);
    }
    return list;
}

/* bfe.u32 is bfe_u32; of two results, `r1|p`, the second is an argument. */
struct text expression_by_mnemonic(struct code *code, uint32_t instruction)
{
    const struct ptx_span mnemonic = code->function->instructions[instruction].mnemonic;
    char *name = arena_printf(code->arena, "%.*s", (int)mnemonic.length, mnemonic.text);
    for (char *c = name; c && *c; c++)
        if (*c == '.' || *c == ':') *c = '_';
    const struct ptx_operand *to = &code->function->instructions[instruction].operands[0];
    bool is_pair = to->kind == PTX_OPERAND_PAIR && to->element_count == 2 &&
                   to->elements[1].kind == PTX_OPERAND_REGISTER;
    const char *second =
        is_pair ? arena_printf(code->arena, "&%s, ", expression_register(code, to->elements[1].reg).string)
                : "";
    return text_primary(
        arena_printf(code->arena, "%s(%s%s)", name, second, arguments_from(code, instruction, 1)));
}

static struct text infix(struct code *code, uint32_t instruction, uint32_t first, const char *operator,
                         enum precedence precedence)
{
    struct text left = expression_operand(code, instruction, first),
                right = expression_operand(code, instruction, first + 1);
    bool is_sum = !strcmp(operator, "+") && right.precedence == PRECEDENCE_UNARY && right.string[0] == '-' &&
                  code->function->instructions[instruction].operands[first + 1].kind == PTX_OPERAND_INTEGER;
    const char *left_text = expression_within(code, left, precedence);
    bool is_shift = precedence == PRECEDENCE_SHIFT, is_truth = precedence <= PRECEDENCE_LOGICAL_AND ||
                                                               precedence == PRECEDENCE_EQUALITY ||
                                                               precedence == PRECEDENCE_RELATION;
    enum text_sign sign = is_truth ? SIGN_ANY : is_shift ? left.sign : joined_sign(left.sign, right.sign);
    if (is_sum)
        return (struct text){arena_printf(code->arena, "%s - %s", left_text, right.string + 1), precedence,
                             sign};
    return (struct text){arena_printf(code->arena, "%s %s %s", left_text, operator,
                                      expression_within(code, right, (enum precedence)(precedence + 1))),
                         precedence, sign};
}

/* "__fadd_rn", "__dmul_rz", "__fmaf_rn", "__fma_rn" */
static struct text rounded_call(struct code *code, uint32_t instruction, const struct spelling *spelling)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    bool is_double = at->types[0] == PTX_F64, is_fma = at->opcode == PTX_OP_FMA;
    const char *name = is_fma ? is_double ? "fma" : "fmaf"
                              : arena_printf(code->arena, "%c%s", is_double ? 'd' : 'f', spelling->rounded);
    return text_primary(arena_printf(code->arena, "__%s_%s%s(%s)", name, rounding_of(at),
                                     ptx_has_modifier(at, PTX_MOD_FTZ) ? "_ftz" : "",
                                     arguments_from(code, instruction, 1)));
}

static struct text comparison(struct code *code, uint32_t instruction, bool is_negated)
{
    static const struct {
        enum ptx_modifier modifier;
        const char *text, *contrary; /* of integers */
    } relations[] = {
        {PTX_MOD_EQ, "==", "!="}, {PTX_MOD_NE, "!=", "=="},  {PTX_MOD_LT, "<", ">="},
        {PTX_MOD_LE, "<=", ">"},  {PTX_MOD_GT, ">", "<="},   {PTX_MOD_GE, ">=", "<"},
        {PTX_MOD_LO, "<", ">="},  {PTX_MOD_LS, "<=", ">"},   {PTX_MOD_HI, ">", "<="},
        {PTX_MOD_HS, ">=", "<"},  {PTX_MOD_NEU, "!=", "=="}, {PTX_MOD_LTU, ">=", "<"},
        {PTX_MOD_LEU, ">", "<="}, {PTX_MOD_GTU, "<=", ">"},  {PTX_MOD_GEU, "<", ">="},
    };
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    bool is_float = ptx_type_is_float(at->types[at->type_count - 1]);
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        enum ptx_modifier modifier = relations[i].modifier;
        if (!ptx_has_modifier(at, modifier) || (is_float && modifier == PTX_MOD_NE)) continue;
        bool is_unordered =
            modifier >= PTX_MOD_LTU && modifier <= PTX_MOD_GEU; /* the contrary of an ordered one */
        bool is_equality = is_float && (modifier == PTX_MOD_EQ || modifier == PTX_MOD_NEU);
        const char *operator= relations[i].text;
        bool negate = is_negated != is_unordered;
        if (negate && !is_unordered && (!is_float || is_equality)) {
            operator= relations[i].contrary;
            negate = false;
        }
        enum precedence precedence = operator[0] == '=' || operator[0] == '!' ? PRECEDENCE_EQUALITY
                                                                              : PRECEDENCE_RELATION;
        struct text text = infix(code, instruction, 1, operator, precedence);
        return negate ? (struct text){arena_printf(code->arena, "!(%s)", text.string), PRECEDENCE_UNARY,
                                      SIGN_ANY}
                      : text;
    }
    struct text text = expression_by_mnemonic(code, instruction);
    return is_negated
               ? (struct text){arena_printf(code->arena, "!%s", text.string), PRECEDENCE_UNARY, SIGN_ANY}
               : text;
}

/* The comparison, or its contrary, with the predicate that setp.lt.and and its likes take. */
struct text expression_comparison(struct code *code, uint32_t instruction, bool is_negated)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    struct text left = comparison(code, instruction, is_negated);
    if (at->operand_count < 4) return left;
    bool is_or = ptx_has_modifier(at, PTX_MOD_OR), is_xor = ptx_has_modifier(at, PTX_MOD_XOR);
    const char *operator= is_or ? "||" : is_xor ? "!=" : "&&";
    enum precedence precedence = is_or    ? PRECEDENCE_LOGICAL_OR
                                 : is_xor ? PRECEDENCE_EQUALITY
                                          : PRECEDENCE_LOGICAL_AND;
    enum precedence inner = (enum precedence)(precedence + 1);
    const char *right = expression_within(code, expression_operand(code, instruction, 3), inner);
    return (struct text){
        arena_printf(code->arena, "%s %s %s", expression_within(code, left, inner), operator, right),
        precedence, SIGN_ANY};
}

static bool is_plain_comparison(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_SETP && instruction->operand_count == 3;
}

static struct text conversion(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    if (at->type_count != 2 || at->operand_count != 2) return expression_by_mnemonic(code, instruction);
    enum ptx_type to = at->types[0], from = at->types[1];
    bool from_float = ptx_type_is_float(from), to_float = ptx_type_is_float(to);
    bool is_c = (!from_float && !to_float) ||
                (from_float && !to_float && ptx_has_modifier(at, PTX_MOD_RZI) && ptx_type_bytes(from) >= 4) ||
                (to_float && ptx_type_bytes(to) >= 4 &&
                 (ptx_has_modifier(at, PTX_MOD_RN) || (from == PTX_F32 && to == PTX_F64)));
    if (!is_c || ptx_has_modifier(at, PTX_MOD_SAT) || ptx_has_modifier(at, PTX_MOD_FTZ))
        return expression_by_mnemonic(code, instruction);
    struct text text = expression_operand(code, instruction, 1);
    const struct ptx_operand *operand = &at->operands[1];
    bool is_register = operand->kind == PTX_OPERAND_REGISTER && !from_float;
    if (is_register && ptx_type_bytes(code->registers[operand->reg].type) > ptx_type_bytes(from))
        text = text_cast(code, types_name(types_plain(from)), text);
    return text_with_sign(text_cast(code, types_name(types_plain(to)), text), text_sign_of(types_plain(to)));
}

static struct text product(struct code *code, uint32_t instruction, bool is_wide)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    struct text left = expression_operand(code, instruction, 1),
                right = expression_operand(code, instruction, 2);
    enum text_sign sign = is_wide ? text_sign_of(types_result(at)) : joined_sign(left.sign, right.sign);
    if (is_wide) left = text_cast(code, types_name(types_result(at)), left);
    return (struct text){arena_printf(code->arena, "%s * %s",
                                      expression_within(code, left, PRECEDENCE_PRODUCT),
                                      expression_within(code, right, PRECEDENCE_UNARY)),
                         PRECEDENCE_PRODUCT, sign};
}

/* "__mulhi(a, b)" and its likes; NULL: it has none. */
static const char *high_product_name(const struct ptx_instruction *at)
{
    if (at->opcode != PTX_OP_MUL || !ptx_has_modifier(at, PTX_MOD_HI)) return NULL;
    switch (at->types[0]) {
    case PTX_S32:
        return "__mulhi";
    case PTX_U32:
        return "__umulhi";
    case PTX_S64:
        return "__mul64hi";
    case PTX_U64:
        return "__umul64hi";
    default:
        return NULL;
    }
}

static struct text sum_of_product(struct code *code, uint32_t instruction, bool is_wide)
{
    struct text left = product(code, instruction, is_wide), right = expression_operand(code, instruction, 3);
    return (struct text){
        arena_printf(code->arena, "%s + %s", left.string, expression_within(code, right, PRECEDENCE_PRODUCT)),
        PRECEDENCE_SUM, joined_sign(left.sign, right.sign)};
}

static struct text choice(struct code *code, uint32_t instruction)
{
    const struct ptx_operand *predicate = &code->function->instructions[instruction].operands[3];
    struct text condition = predicate->kind == PTX_OPERAND_REGISTER
                                ? expression_condition(code, predicate->reg, predicate->is_negated)
                                : expression_operand(code, instruction, 3);
    struct text yes = expression_operand(code, instruction, 1), no = expression_operand(code, instruction, 2);
    return (struct text){arena_printf(code->arena, "%s ? %s : %s",
                                      expression_within(code, condition, PRECEDENCE_LOGICAL_OR),
                                      expression_within(code, yes, PRECEDENCE_LOGICAL_OR),
                                      expression_within(code, no, PRECEDENCE_LOGICAL_OR)),
                         PRECEDENCE_CONDITION, joined_sign(yes.sign, no.sign)};
}

static struct text loaded(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    int32_t reg = registers_destination(at);
    enum text_sign sign = reg == CODE_NONE ? SIGN_ANY : text_sign_of(code->registers[reg].type);
    if (!registers_is_parameter(at)) return text_with_sign(address_element(code, instruction), sign);
    uint32_t offset = at->operands[1].variable->offset + (uint32_t)at->operands[1].value;
    if (registers_overlap(code, instruction)) return text_with_sign(address_element(code, instruction), sign);
    struct text text = text_with_sign(text_primary(expression_parameter(code, offset)), sign);
    return code->is_pointer[offset / 4] ? text_cast(code, "char *", text) : text;
}

bool expression_is_known(const struct ptx_instruction *instruction)
{
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    if (info->class != PTX_CLASS_ARITHMETIC || !info->has_destination) return false;
    if (registers_destination(instruction) == CODE_NONE || ptx_has_modifier(instruction, PTX_MOD_CC))
        return false;
    return instruction->opcode != PTX_OP_ADDC && instruction->opcode != PTX_OP_SUBC &&
           instruction->opcode != PTX_OP_MADC;
}

static struct text untruncated(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    bool is_wide = ptx_has_modifier(at, PTX_MOD_WIDE), is_high = ptx_has_modifier(at, PTX_MOD_HI);
    bool is_integer = at->type_count && !ptx_type_is_float(at->types[0]) && at->types[0] != PTX_PRED;
    const struct spelling *spelling = spelling_of(at);
    if (ptx_is_load(at)) return loaded(code, instruction);
    bool packs = at->operand_count == 2 && at->operands[1].kind == PTX_OPERAND_VECTOR;
    if ((at->opcode == PTX_OP_MOV && !packs) || at->opcode == PTX_OP_CVTA)
        return expression_operand(code, instruction, 1);
    if (at->opcode == PTX_OP_SETP) return expression_comparison(code, instruction, false);
    if (at->opcode == PTX_OP_SELP) return choice(code, instruction);
    if (at->opcode == PTX_OP_CVT) return conversion(code, instruction);
    const char *high = high_product_name(at);
    if (high)
        return text_with_sign(
            text_primary(arena_printf(code->arena, "%s(%s)", high, arguments_from(code, instruction, 1))),
            text_sign_of(at->types[0]));
    if (at->opcode == PTX_OP_MUL && is_wide) return product(code, instruction, true);
    if (at->opcode == PTX_OP_MAD && is_integer && !is_high && !ptx_has_modifier(at, PTX_MOD_SAT))
        return sum_of_product(code, instruction, is_wide);
    bool is_approximate = ptx_has_modifier(at, PTX_MOD_APPROX) || ptx_has_modifier(at, PTX_MOD_FULL);
    if (!spelling || is_approximate) return expression_by_mnemonic(code, instruction);
    if (spelling->rounded && rounding_of(at)) return rounded_call(code, instruction, spelling);
    if (ptx_has_modifier(at, PTX_MOD_FTZ)) return expression_by_mnemonic(code, instruction);
    if (spelling->form == INFIX) return infix(code, instruction, 1, spelling->text, spelling->precedence);
    if (spelling->form == CALL)
        return text_with_sign(text_primary(arena_printf(code->arena, "%s%s(%s)", spelling->text,
                                                        !is_integer && at->types[0] == PTX_F32 ? "f" : "",
                                                        arguments_from(code, instruction, 1))),
                              text_sign_of(types_plain(at->types[0])));
    struct text operand = expression_operand(code, instruction, 1);
    const char *inner = expression_within(code, operand, PRECEDENCE_PRIMARY);
    return (struct text){arena_printf(code->arena, "%s%s", spelling->text, inner), PRECEDENCE_UNARY,
                         operand.sign};
}

/* C computes with 32 bits at least. */
struct text expression_of(struct code *code, uint32_t instruction)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    struct text text = untruncated(code, instruction);
    enum ptx_type type = types_result(at);
    bool is_computed = at->opcode != PTX_OP_MOV && at->opcode != PTX_OP_CVT && !ptx_is_load(at);
    if (!is_computed || ptx_type_bytes(type) != 2 || ptx_type_is_float(type)) return text;
    type = types_plain(type);
    return text_with_sign(text_cast(code, types_name(type), text), SIGN_SIGNED);
}

struct text expression_condition(struct code *code, int32_t predicate, bool is_negated)
{
    const struct code_register *info = &code->registers[predicate];
    if (is_negated && info->is_folded && is_plain_comparison(&code->function->instructions[info->definition]))
        return comparison(code, (uint32_t)info->definition, true);
    struct text text = expression_register(code, predicate);
    if (!is_negated) return text;
    return (struct text){arena_printf(code->arena, "!%s", expression_within(code, text, PRECEDENCE_UNARY)),
                         PRECEDENCE_UNARY, SIGN_ANY};
}
