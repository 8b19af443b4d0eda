/* SPDX-License-Identifier: Apache-2.0
 * Operands of an instruction to abstract values: registers, special registers, numbers, addresses. */
#include "fuser/access/analysis.h"

#include <string.h>

static const struct ptx_instruction *current(const struct analysis *analysis)
{
    return &analysis->function->instructions[analysis->instruction];
}

static const struct value *thread_dimension(struct analysis *analysis, unsigned position, uint32_t extent)
{
    return value_integer(analysis, 32, affine_dimension(analysis, position),
                         (struct range){0, (wide)(extent ? extent : 1) - 1}, NULL);
}

static const struct value *special_value(struct analysis *analysis, const struct ptx_operand *operand)
{
    const struct launch_input *input = analysis->input;

    switch ((int)operand->special) {
    case PTX_SPECIAL_CTAID_Z:
        return thread_dimension(analysis, 0, input->grid[2]);
    case PTX_SPECIAL_CTAID_Y:
        return thread_dimension(analysis, 1, input->grid[1]);
    case PTX_SPECIAL_CTAID_X:
        return thread_dimension(analysis, 2, input->grid[0]);
    case PTX_SPECIAL_TID_Z:
        return thread_dimension(analysis, 3, input->block[2]);
    case PTX_SPECIAL_TID_Y:
        return thread_dimension(analysis, 4, input->block[1]);
    case PTX_SPECIAL_TID_X:
        return thread_dimension(analysis, 5, input->block[0]);
    case PTX_SPECIAL_NTID_X:
        return value_number(analysis, 32, input->block[0], NULL);
    case PTX_SPECIAL_NTID_Y:
        return value_number(analysis, 32, input->block[1], NULL);
    case PTX_SPECIAL_NTID_Z:
        return value_number(analysis, 32, input->block[2], NULL);
    case PTX_SPECIAL_NCTAID_X:
        return value_number(analysis, 32, input->grid[0], NULL);
    case PTX_SPECIAL_NCTAID_Y:
        return value_number(analysis, 32, input->grid[1], NULL);
    case PTX_SPECIAL_NCTAID_Z:
        return value_number(analysis, 32, input->grid[2], NULL);
    }
    return value_unknown(analysis, 32, false,
                         reason_at(analysis, analysis->instruction, "a special register that varies"));
}

static const struct value *register_value(struct analysis *analysis, const struct ptx_operand *operand)
{
    uint32_t value = ssa_use(analysis->ssa, analysis->instruction, operand->reg);
    unsigned bits = value_register_bits(analysis, operand->reg);
    const char *why = operand->component != 0 ? "part of a vector register" : "never set on some path";

    if (value == SSA_NO_VALUE || operand->component != 0)
        return value_unknown(analysis, bits, true, reason_at(analysis, analysis->instruction, why));
    const struct value *known = exports_value_in(analysis, value, analysis->forest->loop_of[analysis->block]);
    if (!operand->is_negated) return known;
    return bits == 1 ? predicate_not(analysis, current(analysis), &known, 1)
                     : integer_negate(analysis, current(analysis), &known, bits);
}

/* A kernel parameter's place in the buffer; false when the variable is none. */
static bool find_parameter(const struct analysis *analysis, const char *name, uint32_t *offset)
{
    const struct ptx_function *function = analysis->function;

    for (uint32_t p = 0; p < function->parameter_count; p++)
        if (strcmp(function->parameters[p].name, name) == 0) {
            *offset = function->parameters[p].offset;
            return true;
        }
    return false;
}

static const struct value *symbol_address(struct analysis *analysis, const struct ptx_operand *operand)
{
    const struct ptx_variable *variable = operand->variable;
    uint32_t offset;
    struct base base = {.kind = BASE_UNKNOWN};

    if (!variable)
        return value_unknown(analysis, 64, true,
                             reason_at(analysis, analysis->instruction, "address of a function"));
    switch (variable->space) {
    case PTX_PARAM:
        if (find_parameter(analysis, variable->name, &offset))
            return bases_pointer(analysis, (struct base){.kind = BASE_PARAMETER}, offset + operand->value);
        break;
    case PTX_LOCAL:
        base.kind = BASE_LOCAL;
        break;
    case PTX_SHARED:
        base.kind = BASE_SHARED;
        break;
    case PTX_GLOBAL:
    case PTX_CONST:
        base = (struct base){.kind = BASE_VARIABLE, .variable = variable->name, .space = variable->space};
        break;
    case PTX_GENERIC:
    case PTX_SPACE_COUNT:
        break;
    }
    if (base.kind == BASE_UNKNOWN)
        return value_unknown(analysis, 64, true,
                             reason_at(analysis, analysis->instruction, "an unknown address"));
    return bases_pointer(analysis, base, operand->value);
}

const struct value *operand_value(struct analysis *analysis, const struct ptx_operand *operand, unsigned bits)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        return register_value(analysis, operand);
    case PTX_OPERAND_INTEGER:
        if (bits == 1) return value_truth(analysis, operand->value != 0, NULL);
        return value_number(analysis, bits, operand->value, NULL);
    case PTX_OPERAND_SPECIAL:
        return special_value(analysis, operand);
    case PTX_OPERAND_SYMBOL:
        return operand_address(analysis, operand);
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_FLOAT:
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_LABEL:
        break;
    }
    return value_unknown(analysis, bits, false,
                         reason_at(analysis, analysis->instruction, "an operand that is not an integer"));
}

const struct value *operand_guard(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    struct ptx_operand operand = {
        .kind = PTX_OPERAND_REGISTER, .reg = instruction->guard, .is_negated = instruction->guard_negated};

    return operand_value(analysis, &operand, 1);
}

const struct value *operand_address(struct analysis *analysis, const struct ptx_operand *operand)
{
    if (operand->reg < 0 && operand->symbol) return symbol_address(analysis, operand);
    if (operand->reg < 0) return value_number(analysis, 64, operand->value, NULL);
    struct ptx_operand reg = {
        .kind = PTX_OPERAND_REGISTER, .reg = operand->reg, .component = operand->component};
    const struct value *address = operand_value(analysis, &reg, 64);
    if (operand->value == 0 || address->bits != 64) return address;
    return integer_sum(analysis, address, value_number(analysis, 64, operand->value, NULL), 64);
}
