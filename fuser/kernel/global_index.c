/* SPDX-License-Identifier: Apache-2.0
 * See global_index.h. A register counts as a coordinate when one move alone writes it. */
#include "fuser/kernel/global_index.h"

#include <stdlib.h>

enum coordinate { NO_COORDINATE, TID, NTID, CTAID, SEVERAL };

static enum coordinate coordinate_of(const struct ptx_operand *operand, int dimension)
{
    if (operand->kind != PTX_OPERAND_SPECIAL) return NO_COORDINATE;
    if ((int)operand->special == PTX_SPECIAL_TID_X + dimension) return TID;
    if ((int)operand->special == PTX_SPECIAL_NTID_X + dimension) return NTID;
    return (int)operand->special == PTX_SPECIAL_CTAID_X + dimension ? CTAID : NO_COORDINATE;
}

static bool is_plain_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && operand->reg >= 0 && !operand->component &&
           !operand->is_negated;
}

static bool has_destination(const struct ptx_instruction *instruction)
{
    return instruction->operand_count && ptx_opcode_info(instruction->opcode)->has_destination;
}

/* The coordinate that the instruction moves to a register, unguarded. */
static enum coordinate moved(const struct ptx_instruction *instruction, int dimension)
{
    bool is_move =
        instruction->opcode == PTX_OP_MOV && instruction->operand_count == 2 && instruction->guard < 0;
    return is_move && is_plain_register(&instruction->operands[0])
               ? coordinate_of(&instruction->operands[1], dimension)
               : NO_COORDINATE;
}

/* Registers that the operand names become SEVERAL, but for one that is given. */
static void write_operand(const struct ptx_operand *operand, enum coordinate given,
                          enum coordinate *registers)
{
    for (uint32_t i = 0; i < operand->element_count; i++)
        write_operand(&operand->elements[i], NO_COORDINATE, registers);
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0) return;
    enum coordinate *at = &registers[operand->reg];
    *at = *at == NO_COORDINATE && given != NO_COORDINATE ? given : SEVERAL;
}

/* The operand has one of the thread's coordinates, in a register or itself. */
static bool is_of_thread(const struct ptx_operand *operand, int dimension, const enum coordinate *registers,
                         const bool *may_be)
{
    enum coordinate itself = coordinate_of(operand, dimension);
    if (itself == TID || itself == CTAID) return true;
    bool has_register = operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS;
    if (has_register && operand->reg >= 0 && (may_be[operand->reg] || registers[operand->reg] == TID))
        return true;
    for (uint32_t i = 0; i < operand->element_count; i++)
        if (is_of_thread(&operand->elements[i], dimension, registers, may_be)) return true;
    return false;
}

static bool holds(const struct ptx_operand *operand, enum coordinate coordinate,
                  const enum coordinate *registers)
{
    return is_plain_register(operand) && registers[operand->reg] == coordinate;
}

static bool is_sum(const struct ptx_instruction *instruction, const enum coordinate *registers)
{
    if (instruction->opcode != PTX_OP_MAD || instruction->operand_count != 4 || !instruction->type_count ||
        ptx_type_bytes(instruction->types[0]) != 4 || !ptx_has_modifier(instruction, PTX_MOD_LO) ||
        ptx_has_modifier(instruction, PTX_MOD_CC)) /* the carry is another */
        return false;
    const struct ptx_operand *factor = &instruction->operands[1], *other = &instruction->operands[2];
    bool is_product = (holds(factor, CTAID, registers) && holds(other, NTID, registers)) ||
                      (holds(factor, NTID, registers) && holds(other, CTAID, registers));
    return is_product && holds(&instruction->operands[3], TID, registers);
}

static bool is_all(const struct ptx_function *function, int dimension, enum coordinate *registers,
                   bool *may_be)
{
    bool has_sum = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum coordinate given = moved(instruction, dimension);
        if (!has_destination(instruction)) continue;
        write_operand(&instruction->operands[0], given, registers);
        if (given == TID || given == CTAID) may_be[instruction->operands[0].reg] = true;
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        if (moved(instruction, dimension) != NO_COORDINATE) continue;
        if (is_sum(instruction, registers)) {
            has_sum = true;
            continue;
        }
        for (uint32_t k = has_destination(instruction); k < instruction->operand_count; k++)
            if (is_of_thread(&instruction->operands[k], dimension, registers, may_be)) return false;
    }
    return has_sum;
}

bool global_index_is_all(const struct ptx_function *function, int dimension)
{
    enum coordinate *registers = calloc(function->register_count + 1, sizeof *registers);
    bool *may_be = calloc(function->register_count + 1, sizeof *may_be);
    bool is = registers && may_be && is_all(function, dimension, registers, may_be);
    free(registers);
    free(may_be);
    return is;
}
