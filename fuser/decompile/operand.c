/* SPDX-License-Identifier: Apache-2.0
 * Operands as C: registers, numbers, special registers, symbols, parameters. */
#include "fuser/decompile/code.h"

#include "common/symbol.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct text text_primary(const char *string)
{
    return (struct text){string ? string : "?", PRECEDENCE_PRIMARY, SIGN_ANY};
}

enum text_sign text_sign_of(enum ptx_type type)
{
    if (ptx_type_is_float(type) || type == PTX_PRED || type == PTX_NO_TYPE) return SIGN_ANY;
    return ptx_type_is_signed(type) ? SIGN_SIGNED : SIGN_UNSIGNED;
}

struct text text_with_sign(struct text text, enum text_sign sign)
{
    text.sign = sign;
    return text;
}

const char *expression_within(struct code *code, struct text text, enum precedence precedence)
{
    return text.precedence >= precedence ? text.string : arena_printf(code->arena, "(%s)", text.string);
}

struct text text_cast(struct code *code, const char *type, struct text text)
{
    return (struct text){
        arena_printf(code->arena, "(%s)%s", type, expression_within(code, text, PRECEDENCE_UNARY)),
        PRECEDENCE_UNARY, SIGN_ANY};
}

/* The shortest decimal that reads back as the same number. */
static struct text float_text(struct code *code, uint64_t bits, bool is_double)
{
    char text[64];
    double value;
    uint32_t low = (uint32_t)bits;
    float single;
    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    if (!is_double) value = (double)single;
    if (!isfinite(value))
        return text_primary(arena_printf(code->arena,
                                         is_double ? "__longlong_as_double(0x%016" PRIx64 ")"
                                                   : "__int_as_float(0x%08" PRIx64 ")",
                                         is_double ? bits : low));
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_double ? strtod(text, NULL) == value : strtof(text, NULL) == single) break;
    }
    bool is_whole = !strpbrk(text, ".e");
    struct text result =
        text_primary(arena_printf(code->arena, "%s%s%s", text, is_whole ? ".0" : "", is_double ? "" : "f"));
    if (text[0] == '-') result.precedence = PRECEDENCE_UNARY;
    return result;
}

static struct text number_text(struct code *code, const struct ptx_operand *operand, enum ptx_type type)
{
    if (type == PTX_F64 || type == PTX_F32) {
        bool is_double = type == PTX_F64;
        uint64_t bits = (uint64_t)operand->value;
        if (operand->kind == PTX_OPERAND_FLOAT && operand->is_float64 && !is_double) {
            double wide;
            memcpy(&wide, &bits, sizeof wide);
            float single = (float)wide;
            uint32_t low;
            memcpy(&low, &single, sizeof low);
            bits = low;
        }
        return float_text(code, bits, is_double);
    }
    if (operand->kind == PTX_OPERAND_FLOAT)
        return float_text(code, (uint64_t)operand->value, operand->is_float64);
    if (type == PTX_PRED) return text_primary(operand->value ? "true" : "false");
    bool is_word = ptx_type_bytes(type) == 4;
    int64_t value = is_word ? (int32_t)operand->value : operand->value;
    if (is_word && ptx_type_is_signed(type) && value == INT32_MIN)
        return text_with_sign(text_primary("(-2147483647 - 1)"), SIGN_SIGNED);
    if (is_word && value < 0 && !ptx_type_is_signed(type))
        return text_with_sign(text_primary(arena_printf(code->arena, "0x%" PRIx32 "u", (uint32_t)value)),
                              SIGN_UNSIGNED);
    bool is_negative = value<0, is_large = value> INT32_MAX || value < INT32_MIN;
    struct text text =
        text_primary(is_large && !is_negative ? arena_printf(code->arena, "0x%" PRIx64, (uint64_t)value)
                                              : arena_printf(code->arena, "%" PRId64, value));
    if (is_negative) text.precedence = PRECEDENCE_UNARY;
    return text;
}

static const char *special_text(struct code *code, const struct ptx_operand *operand)
{
    static const char *const names[PTX_SPECIAL_COUNT] = {
        [PTX_SPECIAL_TID_X] = "threadIdx.x",  [PTX_SPECIAL_TID_Y] = "threadIdx.y",
        [PTX_SPECIAL_TID_Z] = "threadIdx.z",  [PTX_SPECIAL_NTID_X] = "blockDim.x",
        [PTX_SPECIAL_NTID_Y] = "blockDim.y",  [PTX_SPECIAL_NTID_Z] = "blockDim.z",
        [PTX_SPECIAL_CTAID_X] = "blockIdx.x", [PTX_SPECIAL_CTAID_Y] = "blockIdx.y",
        [PTX_SPECIAL_CTAID_Z] = "blockIdx.z", [PTX_SPECIAL_NCTAID_X] = "gridDim.x",
        [PTX_SPECIAL_NCTAID_Y] = "gridDim.y", [PTX_SPECIAL_NCTAID_Z] = "gridDim.z"};
    if (names[operand->special]) return names[operand->special];
    return arena_printf(code->arena, "%.*s", (int)operand->text.length - 1, operand->text.text + 1);
}

/* `step` of `_ZN3app4stepEPf`, `part` of `_ZZ6reducePfPKfiE4part`; else the symbol, as an identifier. */
const char *expression_symbol(struct code *code, const char *symbol)
{
    size_t length;
    const char *name = symbol_last_name(symbol, &length);
    char *text = arena_printf(code->arena, "%.*s", (int)length, name);
    for (char *c = text; c && *c; c++)
        if (strchr("$%.", *c)) *c = '_';
    return text ? text : "?";
}

static const char *parameter_text(struct code *code, const struct ptx_variable *parameter)
{
    const char *number = strstr(parameter->name, "_param_");
    return number ? arena_printf(code->arena, "p%s", number + strlen("_param_"))
                  : expression_symbol(code, parameter->name);
}

const char *expression_whole_parameter(struct code *code, const char *symbol)
{
    for (uint32_t i = 0; i < code->function->parameter_count; i++) {
        const struct ptx_variable *parameter = &code->function->parameters[i];
        if (strcmp(parameter->name, symbol)) continue;
        const struct decompile_names *names = code->options->names;
        return names && names->prefix ? arena_printf(code->arena, "%sp%u", names->prefix, i)
                                      : parameter_text(code, parameter);
    }
    return NULL;
}

const char *expression_parameter(struct code *code, uint32_t offset)
{
    const struct decompile_names *names = code->options->names;
    const char *given = names && names->parameter ? names->parameter(names->context, offset) : NULL;
    if (given) return given;
    for (uint32_t i = 0; i < code->function->parameter_count; i++) {
        const struct ptx_variable *parameter = &code->function->parameters[i];
        if (offset < parameter->offset || offset >= parameter->offset + parameter->size) continue;
        const char *name = parameter_text(code, parameter);
        return parameter->is_array ? arena_printf(code->arena, "%s.at%u", name, offset - parameter->offset)
                                   : name;
    }
    return "?";
}

static void refer(struct code *code, int32_t reg)
{
    struct code_register *info = &code->registers[reg];
    if (code->is_counting) {
        info->references++;
        info->reference_at = code->at;
    }
    if (!code->seen) return;
    for (uint32_t i = 0; i < code->seen_count; i++)
        if (code->seen[i] == reg) return;
    code->seen[code->seen_count++] = reg;
}

struct text expression_register(struct code *code, int32_t reg)
{
    const struct code_register *info = &code->registers[reg];
    if (info->is_folded || registers_is_plain(code, reg))
        return expression_of(code, (uint32_t)info->definition);
    refer(code, reg);
    return text_with_sign(text_primary(info->alias ? info->alias : info->name), text_sign_of(info->type));
}

/* A register's bits read as what the instruction takes them for. */
static struct text converted(struct code *code, struct text text, enum ptx_type from, enum ptx_type to,
                             bool sees_sign)
{
    to = types_plain(to);
    bool is_same_size = ptx_type_bytes(from) == ptx_type_bytes(to);
    if (to == PTX_NO_TYPE || from == PTX_PRED || to == PTX_PRED) return text;
    if (ptx_type_is_float(from) != ptx_type_is_float(to) && is_same_size && ptx_type_bytes(to) >= 4) {
        const char *name = to == PTX_F32     ? "__int_as_float"
                           : to == PTX_F64   ? "__longlong_as_double"
                           : from == PTX_F64 ? "__double_as_longlong"
                                             : "__float_as_int";
        return text_primary(arena_printf(code->arena, "%s(%s)", name, text.string));
    }
    enum text_sign wanted = text_sign_of(to);
    if (sees_sign && is_same_size && wanted && text.sign && text.sign != wanted)
        return text_with_sign(text_cast(code, types_name(to), text), wanted);
    return text;
}

static struct text operand_text(struct code *code, const struct ptx_operand *operand, enum ptx_type type,
                                bool sees_sign)
{
    struct text text;
    const char *name;
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        text = converted(code, expression_register(code, operand->reg), code->registers[operand->reg].type,
                         type, sees_sign);
        if (operand->component)
            return text_primary(arena_printf(code->arena, "%s.%c",
                                             expression_within(code, text, PRECEDENCE_PRIMARY),
                                             "?xyzw?"[operand->component]));
        if (!operand->is_negated) return text;
        return (struct text){arena_printf(code->arena, "%s%s", type == PTX_PRED ? "!" : "-",
                                          expression_within(code, text, PRECEDENCE_UNARY)),
                             PRECEDENCE_UNARY, SIGN_ANY};
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_FLOAT:
        return number_text(code, operand, type);
    case PTX_OPERAND_SPECIAL:
        return text_with_sign(text_primary(special_text(code, operand)), SIGN_UNSIGNED);
    case PTX_OPERAND_SYMBOL:
        name = expression_whole_parameter(code, operand->symbol);
        if (!name) name = expression_symbol(code, operand->symbol);
        text = text_cast(code, "long", text_primary(arena_printf(code->arena, "&%s", name)));
        if (!operand->value) return text;
        return (struct text){arena_printf(code->arena, "%s + %" PRId64, text.string, operand->value),
                             PRECEDENCE_SUM, SIGN_ANY};
    case PTX_OPERAND_VECTOR: {
        const char *list = "";
        for (uint32_t i = 0; i < operand->element_count; i++)
            list = arena_printf(code->arena, "%s%s%s", list, i ? ", " : "",
                                operand_text(code, &operand->elements[i], PTX_NO_TYPE, false).string);
        return text_primary(arena_printf(code->arena, "{%s}", list));
    }
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_LABEL:
        break;
    }
    return text_primary(arena_printf(code->arena, "%.*s", (int)operand->text.length, operand->text.text));
}

/* Bits that are moved or chosen are read as what the destination is. */
static enum ptx_type type_wanted(const struct code *code, const struct ptx_instruction *at, uint32_t operand)
{
    enum ptx_type type = types_operand(at, operand);
    if ((at->opcode != PTX_OP_MOV && at->opcode != PTX_OP_SELP) || type == PTX_PRED) return type;
    int32_t to = registers_destination(at);
    bool is_same_size = to != CODE_NONE && ptx_type_bytes(code->registers[to].type) == ptx_type_bytes(type);
    return is_same_size && code->registers[to].type != PTX_PRED ? code->registers[to].type : type;
}

struct text expression_operand(struct code *code, uint32_t instruction, uint32_t operand)
{
    const struct ptx_instruction *at = &code->function->instructions[instruction];
    return operand_text(code, &at->operands[operand], type_wanted(code, at, operand), types_see_sign(at));
}
