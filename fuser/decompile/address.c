/* SPDX-License-Identifier: Apache-2.0
 * Addresses as elements of arrays: the address register is followed back through sums, constant factors and
 * sign extensions to a pointer parameter or a variable plus registers times constants. Where that does not
 * work it is written as it is. */
#include "fuser/decompile/code.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_TERMS = 6, MOST_STEPS = 24 };

enum widening { AS_IT_IS, SIGN_EXTENDED, ZERO_EXTENDED }; /* of 32 bits to an address */
struct term {
    int32_t reg;
    int64_t factor; /* bytes */
    enum widening widening;
};
struct linear {
    struct term terms[MOST_TERMS];
    uint32_t count, steps;
    int64_t constant;
    const char *variable; /* the base: a module's or the function's variable, or NULL */
    int32_t parameter;    /* the base: offset in the parameter buffer, or CODE_NONE */
};

/* The register's value times factor, as it is read at instruction `from`, for an address that is used at
 * code->at. */
static bool add_register(struct code *code, struct linear *linear, int32_t reg, int64_t factor, uint32_t from,
                         enum widening widening);

static bool add_leaf(struct code *code, struct linear *linear, int32_t reg, int64_t factor, uint32_t from,
                     enum widening widening)
{
    if (from != code->at && registers_may_change(code, reg, from, code->at)) return false;
    for (uint32_t i = 0; i < linear->count; i++)
        if (linear->terms[i].reg == reg && linear->terms[i].widening == widening) {
            linear->terms[i].factor += factor;
            return true;
        }
    if (linear->count == MOST_TERMS) return false;
    linear->terms[linear->count++] = (struct term){reg, factor, widening};
    return true;
}

static bool add_operand(struct code *code, struct linear *linear, const struct ptx_operand *operand,
                        int64_t factor, uint32_t from, enum widening widening)
{
    if (operand->kind == PTX_OPERAND_INTEGER) {
        linear->constant += operand->value * factor;
        return true;
    }
    if (operand->kind == PTX_OPERAND_SYMBOL && factor == 1 && !linear->variable &&
        linear->parameter == CODE_NONE && operand->symbol) {
        linear->variable = operand->symbol;
        linear->constant += operand->value;
        return true;
    }
    return operand->kind == PTX_OPERAND_REGISTER && !operand->component && !operand->is_negated &&
           add_register(code, linear, operand->reg, factor, from, widening);
}

static bool is_constant(const struct ptx_operand *operand, int64_t *value)
{
    *value = operand->value;
    return operand->kind == PTX_OPERAND_INTEGER;
}

static bool add_parameter(struct code *code, struct linear *linear, const struct ptx_instruction *load,
                          int64_t factor)
{
    const struct ptx_operand *from = &load->operands[1];
    if (load->space != PTX_PARAM || !from->variable || factor != 1) return false;
    uint32_t offset = from->variable->offset + (uint32_t)from->value;
    bool is_taken = linear->variable || linear->parameter != CODE_NONE;
    if (is_taken || types_result(load) == PTX_NO_TYPE || ptx_access_bytes(load) != 8) return false;
    linear->parameter = (int32_t)offset;
    (void)code;
    return true;
}

static enum widening widening_of(const struct ptx_instruction *instruction, bool is_wide)
{
    if (!is_wide) return AS_IT_IS;
    return instruction->types[0] == PTX_S32 ? SIGN_EXTENDED : ZERO_EXTENDED;
}

/* What the instruction computes, times factor. */
static bool add_result(struct code *code, struct linear *linear, uint32_t at, int64_t factor,
                       enum widening widening)
{
    const struct ptx_instruction *instruction = &code->function->instructions[at];
    const struct ptx_operand *o = instruction->operands;
    bool is_wide = ptx_has_modifier(instruction, PTX_MOD_WIDE);
    bool is_odd = ptx_has_modifier(instruction, PTX_MOD_HI) || ptx_has_modifier(instruction, PTX_MOD_CC) ||
                  ptx_has_modifier(instruction, PTX_MOD_SAT);
    int64_t product, number;
    if (is_odd) return false;
    switch (instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        if (widening == ZERO_EXTENDED) return false;                    /* 32 bits may wrap */
        if (widening && o[2].kind != PTX_OPERAND_INTEGER) return false; /* a sum of its own: it has a name */
        return add_operand(code, linear, &o[1], factor, at, widening) &&
               add_operand(code, linear, &o[2], instruction->opcode == PTX_OP_ADD ? factor : -factor, at,
                           widening);
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        return add_operand(code, linear, &o[1], factor, at, widening);
    case PTX_OP_LD:
        return add_parameter(code, linear, instruction, factor);
    case PTX_OP_SHL:
        return !widening && is_constant(&o[2], &number) && number >= 0 && number < 16 &&
               !__builtin_mul_overflow(factor, (int64_t)1 << number, &product) &&
               add_operand(code, linear, &o[1], product, at, false);
    case PTX_OP_MUL:
        return !widening && is_constant(&o[2], &number) &&
               !__builtin_mul_overflow(factor, number, &product) &&
               add_operand(code, linear, &o[1], product, at, widening_of(instruction, is_wide));
    case PTX_OP_MAD:
        return !widening && is_constant(&o[2], &number) &&
               !__builtin_mul_overflow(factor, number, &product) &&
               add_operand(code, linear, &o[1], product, at, widening_of(instruction, is_wide)) &&
               add_operand(code, linear, &o[3], factor, at, false);
    case PTX_OP_CVT:
        if (widening || instruction->type_count != 2 || ptx_type_bytes(instruction->types[0]) != 8)
            return false;
        if (instruction->types[1] != PTX_S32 && instruction->types[1] != PTX_U32) return false;
        return add_operand(code, linear, &o[1], factor, at,
                           instruction->types[1] == PTX_S32 ? SIGN_EXTENDED : ZERO_EXTENDED);
    default:
        return false;
    }
}

static bool is_float_sum(const struct ptx_instruction *instruction)
{
    return instruction->type_count &&
           (ptx_type_is_float(instruction->types[0]) || instruction->types[0] == PTX_PRED);
}

static bool add_register(struct code *code, struct linear *linear, int32_t reg, int64_t factor, uint32_t from,
                         enum widening widening)
{
    int32_t definition = code->registers[reg].definition;
    if (definition != CODE_NONE && linear->steps < MOST_STEPS &&
        !is_float_sum(&code->function->instructions[definition])) {
        struct linear before = *linear;
        linear->steps++;
        if (add_result(code, linear, (uint32_t)definition, factor, widening)) return true;
        *linear = before;
    }
    return add_leaf(code, linear, reg, factor, from, widening);
}

/* --- as text ---------------------------------------------------------------------------------------------
 */

static const char *add_term(struct code *code, const char *sum, const char *term, int64_t factor)
{
    bool is_negative = factor < 0;
    int64_t size = is_negative ? -factor : factor;
    const char *product = size == 1 ? term : arena_printf(code->arena, "%s * %" PRId64, term, size);
    if (!sum) return is_negative ? arena_printf(code->arena, "-%s", product) : product;
    return arena_printf(code->arena, "%s %c %s", sum, is_negative ? '-' : '+', product);
}

/* Casts where C would extend the register's 32 bits otherwise than the address does. */
static struct text term_text(struct code *code, const struct linear *linear, const struct term *term)
{
    struct text text = expression_register(code, term->reg);
    bool may_be_negative = !registers_is_plain(code, term->reg) || linear->constant < 0;
    const char *type = NULL;
    if (term->widening == SIGN_EXTENDED && text.sign == SIGN_UNSIGNED && may_be_negative) type = "int";
    if (term->widening == ZERO_EXTENDED && text.sign == SIGN_SIGNED) type = "unsigned";
    if (term->widening == ZERO_EXTENDED && linear->constant < 0) type = type ? "long)(unsigned" : "long";
    if (!type) return text;
    const char *value = expression_within(code, text, PRECEDENCE_UNARY);
    return (struct text){arena_printf(code->arena, "(%s)%s", type, value), PRECEDENCE_UNARY, SIGN_ANY};
}

/* The terms and the constant divided by unit, as a sum; in parentheses where one term binds less tightly than
 * least. */
static const char *sum_text(struct code *code, const struct linear *linear, int64_t unit,
                            enum precedence least)
{
    const char *sum = NULL;
    int64_t constant = linear->constant / unit;
    bool is_alone = linear->count == 1 && !constant;
    for (uint32_t i = 0; i < linear->count; i++) {
        int64_t factor = linear->terms[i].factor / unit;
        if (!factor) continue;
        enum precedence bound = factor != 1 ? PRECEDENCE_UNARY
                                : is_alone  ? least
                                : sum       ? PRECEDENCE_PRODUCT
                                            : PRECEDENCE_SUM;
        sum = add_term(code, sum, expression_within(code, term_text(code, linear, &linear->terms[i]), bound),
                       factor);
    }
    if (!sum) return arena_printf(code->arena, "%" PRId64, constant);
    if (!constant) return sum;
    return arena_printf(code->arena, "%s %c %" PRId64, sum, constant < 0 ? '-' : '+',
                        constant < 0 ? -constant : constant);
}

static bool is_divisible(const struct linear *linear, int64_t unit)
{
    for (uint32_t i = 0; i < linear->count; i++)
        if (linear->terms[i].factor % unit) return false;
    return linear->constant % unit == 0;
}

static enum ptx_type element_type(struct code *code, const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->type_count ? instruction->types[instruction->type_count - 1] : PTX_B8;
    uint32_t value = ptx_is_store(instruction) ? 1 : 0;
    if (ptx_type_is_float(type) || instruction->operand_count <= value) return type;
    const struct ptx_operand *operand = &instruction->operands[value];
    while (operand->kind == PTX_OPERAND_VECTOR && operand->element_count) operand = &operand->elements[0];
    if (operand->kind != PTX_OPERAND_REGISTER) return types_plain(type);
    enum ptx_type reg = code->registers[operand->reg].type;
    if (ptx_type_bytes(reg) == ptx_type_bytes(type)) return reg;
    return types_plain(type);
}

static const char *vector_type(struct code *code, enum ptx_type type, unsigned elements)
{
    if (elements <= 1) return types_name(type);
    const char *name = type == PTX_U32   ? "uint"
                       : type == PTX_U64 ? "ulong"
                       : type == PTX_U16 ? "ushort"
                       : type == PTX_U8  ? "uchar"
                                         : types_name(type);
    return arena_printf(code->arena, "%s%u", name, elements);
}

void address_note(struct code *code, uint32_t parameter, const struct ptx_instruction *instruction)
{
    uint32_t word = parameter / 4;
    code->is_pointer[word] = true;
    code->is_written[word] |= !ptx_is_load(instruction);
    if (!code->elements[word]) code->elements[word] = element_type(code, instruction);
}

static const char *base_text(struct code *code, const struct linear *linear)
{
    const char *whole = linear->variable ? expression_whole_parameter(code, linear->variable) : NULL;
    if (whole) return arena_printf(code->arena, "&%s", whole);
    return linear->variable ? expression_symbol(code, linear->variable)
                            : expression_parameter(code, (uint32_t)linear->parameter);
}

/* What no parameter or variable is the base of: "((float *)rd7)[2]", or "*(float *)(rd7 + r1)". */
static struct text through_register(struct code *code, struct linear *linear, int64_t bytes, const char *type)
{
    for (uint32_t i = 0; i < linear->count; i++) {
        int32_t reg = linear->terms[i].reg;
        if (linear->terms[i].factor != 1 || code->registers[reg].pointer == CODE_NONE) continue;
        struct linear rest = *linear;
        rest.terms[i].factor = 0;
        if (!is_divisible(&rest, bytes)) continue;
        const char *base = expression_within(code, expression_register(code, reg), PRECEDENCE_UNARY);
        return (struct text){arena_printf(code->arena, "((%s)%s)[%s]", type, base,
                                          sum_text(code, &rest, bytes, PRECEDENCE_CONDITION)),
                             PRECEDENCE_PRIMARY, SIGN_ANY};
    }
    return (struct text){
        arena_printf(code->arena, "*(%s)(%s)", type, sum_text(code, linear, 1, PRECEDENCE_CONDITION)),
        PRECEDENCE_UNARY, SIGN_ANY};
}

/* The element type of a variable of the function: that of its first access; else as it is declared. */
static enum ptx_type variable_element(struct code *code, const char *symbol, enum ptx_type type)
{
    for (uint32_t i = 0; i < code->function->variable_count; i++) {
        if (strcmp(code->function->variables[i]->name, symbol)) continue;
        if (!code->variable_elements[i]) code->variable_elements[i] = type;
        return code->variable_elements[i];
    }
    return type;
}

/* 0 is the same in all types. */
static bool stores_zero(const struct code *code, const struct ptx_instruction *instruction)
{
    if (!ptx_is_store(instruction) || instruction->operand_count != 2) return false;
    const struct ptx_operand *value = &instruction->operands[1];
    if (value->kind == PTX_OPERAND_REGISTER && registers_is_plain(code, value->reg))
        value = &code->function->instructions[code->registers[value->reg].definition].operands[1];
    return value->kind == PTX_OPERAND_INTEGER && !value->value;
}

struct text address_element(struct code *code, uint32_t at)
{
    const struct ptx_instruction *instruction = &code->function->instructions[at];
    const struct ptx_operand *operand = ptx_address_operand(instruction);
    struct linear linear = {.parameter = CODE_NONE};
    enum ptx_type type = element_type(code, instruction);
    unsigned elements = instruction->vector > 1 ? instruction->vector : 1;
    int64_t bytes = ptx_type_bytes(type) ? ptx_type_bytes(type) : 1;
    const char *wide = vector_type(code, type, elements),
               *volatility = ptx_has_modifier(instruction, PTX_MOD_VOLATILE) ? "volatile " : "";
    if (code->line_count < sizeof code->lines / sizeof *code->lines) code->lines[code->line_count++] = at;
    if (!operand) return (struct text){"?", PRECEDENCE_PRIMARY, SIGN_ANY};
    uint32_t outer = code->at;
    code->at = at; /* what is read here must not have changed since; folding looks at the rest */
    if (operand->variable || operand->symbol) linear.variable = operand->symbol;
    linear.constant = operand->value;
    if (operand->reg >= 0) add_register(code, &linear, operand->reg, 1, at, false);
    code->at = outer;
    if (!linear.variable && linear.parameter == CODE_NONE)
        return through_register(code, &linear, bytes, arena_printf(code->arena, "%s%s *", volatility, wide));
    const char *base = base_text(code, &linear);
    enum ptx_type own = linear.variable ? variable_element(code, linear.variable, type)
                                        : code->elements[linear.parameter / 4];
    bool is_own = ptx_type_bytes(own) == bytes && *base != '&';
    if (!is_own || !is_divisible(&linear, bytes))
        return (struct text){arena_printf(code->arena, "*(%s%s *)((char *)%s + %s)", volatility, wide, base,
                                          sum_text(code, &linear, 1, PRECEDENCE_PRODUCT)),
                             PRECEDENCE_UNARY, SIGN_ANY};
    const char *element =
        arena_printf(code->arena, "%s[%s]", base, sum_text(code, &linear, bytes, PRECEDENCE_CONDITION));
    bool is_other = ptx_type_is_float(own) != ptx_type_is_float(type) && !stores_zero(code, instruction);
    if (elements == 1 && !*volatility && !is_other)
        return (struct text){element, PRECEDENCE_PRIMARY, SIGN_ANY};
    return (struct text){arena_printf(code->arena, "*(%s%s *)&%s", volatility, wide, element),
                         PRECEDENCE_UNARY, SIGN_ANY};
}
