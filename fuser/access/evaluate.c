/* SPDX-License-Identifier: Apache-2.0
 * Instructions to abstract values: the table of what is understood. */
#include "fuser/access/analysis.h"

static evaluate_opcode *const evaluators[PTX_OPCODE_COUNT] = {
    [PTX_OP_ABS] = integer_absolute,   [PTX_OP_ADD] = integer_add,        [PTX_OP_AND] = integer_and,
    [PTX_OP_BFE] = integer_extract,    [PTX_OP_BFI] = integer_insert,     [PTX_OP_CVT] = integer_convert,
    [PTX_OP_CVTA] = integer_move,      [PTX_OP_DIV] = integer_divide,     [PTX_OP_MAD] = integer_multiply_add,
    [PTX_OP_MAX] = integer_maximum,    [PTX_OP_MIN] = integer_minimum,    [PTX_OP_MOV] = integer_move,
    [PTX_OP_MUL] = integer_multiply,   [PTX_OP_NEG] = integer_negate,     [PTX_OP_NOT] = integer_not,
    [PTX_OP_OR] = integer_or,          [PTX_OP_REM] = integer_remainder,  [PTX_OP_SELP] = integer_select,
    [PTX_OP_SETP] = predicate_compare, [PTX_OP_SHL] = integer_shift_left, [PTX_OP_SHR] = integer_shift_right,
    [PTX_OP_SUB] = integer_subtract,   [PTX_OP_XOR] = integer_xor,
};
enum { EVALUATE_OPERANDS = 4 };

/* mov.b64 x, {low, high} */
static const struct value *pack(struct analysis *analysis, const struct ptx_operand *vector, unsigned bits)
{
    unsigned part = vector->element_count ? bits / vector->element_count : 0;
    const struct value *whole = value_number(analysis, bits, 0, NULL);

    for (uint32_t e = 0; part > 0 && e < vector->element_count; e++) {
        const struct value *element = operand_value(analysis, &vector->elements[e], part);
        struct range range;
        isl_pw_aff *form = value_as_unsigned(analysis, element, &range);
        if (!form || !range_scale(range, wide_power(e * part), &range)) {
            isl_pw_aff_free(form);
            return value_give_up(analysis, &element, 1, bits, "packed from something unknown");
        }
        form = affine_scale(analysis, form, wide_power(e * part));
        whole =
            integer_sum(analysis, whole, value_integer(analysis, bits, form, range, element->sources), bits);
    }
    return whole;
}

/* mov.b64 {low, high}, x */
static const struct value *unpack(struct analysis *analysis, const struct value *whole, unsigned element,
                                  unsigned bits)
{
    struct range range;

    if (element == 0 && whole->kind == VALUE_INTEGER)
        return value_integer(analysis, bits, isl_pw_aff_copy(whole->form), whole->range, whole->sources);
    isl_pw_aff *form = value_as_unsigned(analysis, whole, &range);
    if (!form) return value_give_up(analysis, &whole, 1, bits, "part of something unknown");
    wide unit = wide_power(element * bits);
    range = (struct range){wide_floor_divide(range.low, unit), wide_floor_divide(range.high, unit)};
    return value_integer(analysis, bits, affine_floor_divide(analysis, form, unit), range, whole->sources);
}

/* Which element of a vector or pair destination the register is; 0 for a single one. */
static unsigned find_element(const struct ptx_operand *destination, int32_t reg)
{
    for (uint32_t e = 0; e < destination->element_count; e++)
        if (destination->elements[e].kind == PTX_OPERAND_REGISTER && destination->elements[e].reg == reg)
            return e;
    return 0;
}

/* Two numbers in one register, or a result that is cut off where the opcode's own would not be. */
static bool is_packed_or_clamped(const struct ptx_instruction *instruction)
{
    for (unsigned t = 0; t < instruction->type_count; t++)
        if (instruction->types[t] == PTX_S16X2 || instruction->types[t] == PTX_U16X2) return true;
    return ptx_has_modifier(instruction, PTX_MOD_SAT) || ptx_has_modifier(instruction, PTX_MOD_RELU);
}

/* Floating-point arithmetic is never an address; moves and selections carry whatever the register holds. */
static bool is_integer_operation(const struct ptx_instruction *instruction)
{
    if (is_packed_or_clamped(instruction)) return false;
    if (instruction->opcode == PTX_OP_MOV || instruction->opcode == PTX_OP_SELP ||
        instruction->opcode == PTX_OP_CVT || instruction->opcode == PTX_OP_SETP)
        return true;
    return instruction->type_count > 0 && !ptx_type_is_float(instruction->types[0]);
}

bool evaluate_is_followed(const struct ptx_instruction *instruction)
{
    if (ptx_is_load(instruction)) return true;
    if (!evaluators[instruction->opcode] || !is_integer_operation(instruction)) return false;
    /* setp.f32, cvt.s32.f32 */
    for (unsigned t = 0; t < instruction->type_count; t++)
        if (instruction->opcode != PTX_OP_MOV && instruction->opcode != PTX_OP_SELP &&
            ptx_type_is_float(instruction->types[t]))
            return instruction->opcode == PTX_OP_SETP && instruction->operand_count > 3;
    return true;
}

static const struct value *evaluate_arithmetic(struct analysis *analysis,
                                               const struct ptx_instruction *instruction, unsigned element,
                                               unsigned bits)
{
    bool is_setp = instruction->opcode == PTX_OP_SETP;
    bool is_shift = instruction->opcode == PTX_OP_SHL || instruction->opcode == PTX_OP_SHR;
    evaluate_opcode *evaluate =
        is_setp && element == 1 ? predicate_compare_contrary : evaluators[instruction->opcode];
    const struct value *operands[EVALUATE_OPERANDS] = {NULL};
    unsigned operand_bits = instruction->type_count ? 8 * ptx_type_bytes(instruction->types[0]) : bits;
    const struct ptx_operand *source = instruction->operand_count > 1 ? &instruction->operands[1] : NULL;

    if (!evaluate || !source || !is_integer_operation(instruction) ||
        instruction->operand_count > 1 + EVALUATE_OPERANDS)
        return value_give_up(analysis, NULL, 0, bits, "computed in a way that is not followed");
    if (instruction->opcode == PTX_OP_CVT && instruction->type_count > 1)
        operand_bits = 8 * ptx_type_bytes(instruction->types[1]);
    if (is_setp && instruction->type_count > 0)
        operand_bits = 8 * ptx_type_bytes(instruction->types[instruction->type_count - 1]);
    if (instruction->opcode == PTX_OP_MOV && source->kind == PTX_OPERAND_VECTOR)
        return pack(analysis, source, bits);
    if (bits == 1 && !is_setp) operand_bits = 1;
    for (uint32_t o = 1; o < instruction->operand_count; o++) {
        bool is_wide_summand = o == 3 && instruction->opcode == PTX_OP_MAD;
        bool is_position = (is_shift && o == 2) || (instruction->opcode == PTX_OP_BFI && o > 2);
        unsigned own_bits = is_wide_summand ? bits : is_position ? 32 : operand_bits;
        operands[o - 1] = operand_value(analysis, &instruction->operands[o], own_bits);
    }
    if (instruction->opcode == PTX_OP_MOV && instruction->operands[0].kind == PTX_OPERAND_VECTOR)
        return unpack(analysis, operands[0], element, bits);
    const struct value *result = evaluate(analysis, instruction, operands, bits);
    /* also of an operand that left no trace in the form, as in x ^ 0 */
    for (uint32_t o = 0; o + 1 < instruction->operand_count; o++)
        result = value_with_sources(analysis, result, operands[o]->sources);
    return result;
}

const struct value *evaluate_definition(struct analysis *analysis, uint32_t ssa_value)
{
    const struct ssa_value definition = analysis->ssa->values[ssa_value];
    const struct ptx_instruction *instruction = &analysis->function->instructions[definition.instruction];
    unsigned bits = value_register_bits(analysis, definition.reg);
    unsigned element =
        instruction->operand_count ? find_element(&instruction->operands[0], definition.reg) : 0;
    const struct value *result;

    analysis->instruction = definition.instruction;
    affine_begin(analysis);
    if (instruction->operand_count && instruction->operands[0].component != 0)
        return value_give_up(analysis, NULL, 0, bits, "part of a vector register");
    if (ptx_is_load(instruction))
        result = memory_load(analysis, instruction, element, bits);
    else
        result = evaluate_arithmetic(analysis, instruction, element, bits);
    if (result->bits != bits) result = value_give_up(analysis, &result, 1, bits, "of another width");
    if (instruction->guard < 0) return result;
    const struct value *guard = operand_guard(analysis, instruction);
    if (definition.previous == SSA_NO_VALUE || guard->kind != VALUE_PREDICATE)
        return value_give_up(analysis, &result, 1, bits, "set under a condition");
    const struct value *previous =
        exports_value_in(analysis, definition.previous, analysis->forest->loop_of[analysis->block]);
    struct candidate candidates[] = {{guard->when_true, result}, {guard->when_false, previous}};
    return value_with_sources(analysis, value_merge(analysis, candidates, 2), guard->sources);
}
