/* SPDX-License-Identifier: Apache-2.0
 * Which registers hold addresses, and into the array of which parameter: those that are computed from one
 * pointer by sums. */
#include "fuser/decompile/code.h"

enum { POINTER_NOT_YET = -3, POINTER_NONE = CODE_NONE };

/* The parameter that a result points into, as far as is known. */
static int32_t pointer_of_operand(const struct code *code, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REGISTER && !operand->component
               ? code->registers[operand->reg].pointer
               : POINTER_NONE;
}

static int32_t pointer_of_result(const struct code *code, const struct ptx_instruction *at)
{
    switch (at->opcode) {
    case PTX_OP_LD:
        return at->space == PTX_PARAM && at->operands[1].variable
                   ? (int32_t)(at->operands[1].variable->offset + (uint32_t)at->operands[1].value)
                   : POINTER_NONE;
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        return pointer_of_operand(code, &at->operands[1]);
    case PTX_OP_ADD:
    case PTX_OP_SUB: {
        int32_t first = pointer_of_operand(code, &at->operands[1]),
                second = pointer_of_operand(code, &at->operands[2]);
        if (second == POINTER_NONE) return first;
        return first == POINTER_NONE                         ? second
               : first == second && first == POINTER_NOT_YET ? first
                                                             : POINTER_NONE;
    }
    case PTX_OP_MAD:
        return pointer_of_operand(code, &at->operands[3]);
    default:
        return POINTER_NONE;
    }
}

static int32_t join(int32_t known, int32_t found)
{
    if (known == POINTER_NOT_YET || known == found) return found;
    return found == POINTER_NOT_YET ? known : POINTER_NONE;
}

/* A parameter is a pointer when it is made a global address, or addresses are computed from it. */
static bool is_address(const struct ptx_instruction *at, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_ADDRESS && operand->reg >= 0 && at->space != PTX_PARAM;
}

bool pointers_infer(struct code *code)
{
    const struct ptx_function *function = code->function;
    bool is_changed = true;
    for (uint32_t r = 0; r < function->register_count; r++)
        code->registers[r].pointer =
            ptx_type_bytes(function->registers[r].type) == 8 ? POINTER_NOT_YET : POINTER_NONE;
    for (int round = 0; is_changed && round < 100; round++) {
        is_changed = false;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_instruction *at = &function->instructions[i];
            int32_t reg = registers_destination(at);
            if (reg < 0 || code->registers[reg].pointer == POINTER_NONE) continue;
            int32_t joined = join(code->registers[reg].pointer, pointer_of_result(code, at));
            is_changed |= joined != code->registers[reg].pointer;
            code->registers[reg].pointer = joined;
        }
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *at = &function->instructions[i];
        for (uint32_t k = 0; k < at->operand_count; k++) {
            if (!is_address(at, &at->operands[k])) continue;
            int32_t pointer = code->registers[at->operands[k].reg].pointer;
            if (pointer >= 0) address_note(code, (uint32_t)pointer, at);
        }
    }
    for (uint32_t r = 0; r < function->register_count; r++) {
        int32_t *pointer = &code->registers[r].pointer;
        if (*pointer < 0 || !code->is_pointer[*pointer / 4]) *pointer = POINTER_NONE;
    }
    return true;
}
