/* SPDX-License-Identifier: Apache-2.0
 * Questions about one instruction. */
#include "ptx/ptx.h"

bool ptx_is_load(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_LD || instruction->opcode == PTX_OP_LDU;
}

bool ptx_is_store(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_ST;
}

bool ptx_is_atomic(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_ATOM || instruction->opcode == PTX_OP_RED;
}

bool ptx_is_branch(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_BRA || instruction->opcode == PTX_OP_BRX;
}

bool ptx_is_return(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_RET || instruction->opcode == PTX_OP_EXIT;
}

uint32_t ptx_access_bytes(const struct ptx_instruction *instruction)
{
    if (!instruction->type_count) return 0;
    return ptx_type_bytes(instruction->types[instruction->type_count - 1]) * instruction->vector;
}

bool ptx_is_block_barrier(const struct ptx_instruction *instruction)
{
    return ptx_opcode_info(instruction->opcode)->class == PTX_CLASS_BARRIER &&
           !ptx_has_modifier(instruction, PTX_MOD_WARP);
}

const struct ptx_operand *ptx_address_operand(const struct ptx_instruction *instruction)
{
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (instruction->operands[o].kind == PTX_OPERAND_ADDRESS) return &instruction->operands[o];
    return NULL;
}
