/* SPDX-License-Identifier: Apache-2.0
 * See pointer_use.h: registers that hold the pointer or an address made of it, whatever the path. */
#include "fuser/kernel/pointer_use.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };

struct use {
    const struct ptx_function *function;
    uint32_t offset;
    bool *is_address; /* by register */
    bool has_changed;
};

static const struct ptx_variable *parameter_of(const struct ptx_function *function,
                                               const struct ptx_operand *operand)
{
    for (uint32_t p = 0; operand->symbol && p < function->parameter_count; p++)
        if (!strcmp(function->parameters[p].name, operand->symbol)) return &function->parameters[p];
    return NULL;
}

static bool holds(const struct use *use, const struct ptx_operand *operand)
{
    bool is = (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS) &&
              operand->reg >= 0 && use->is_address[operand->reg];
    for (uint32_t e = 0; !is && e < operand->element_count; e++) is = holds(use, &operand->elements[e]);
    return is;
}

static bool mark(struct use *use, const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPERAND_REGISTER || operand->reg < 0 || operand->component) return false;
    use->has_changed |= !use->is_address[operand->reg];
    use->is_address[operand->reg] = true;
    return true;
}

/* Marks what is loaded of the word. False: it is loaded in parts, or its address is taken. */
static bool note_load(struct use *use, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = &instruction->operands[0], *from = &instruction->operands[1];
    const struct ptx_variable *parameter = parameter_of(use->function, from);
    if (!parameter || from->reg >= 0 || (instruction->vector > 1 && !to->element_count)) return false;
    uint32_t size = ptx_type_bytes(instruction->types[0]), count = to->element_count ? to->element_count : 1;
    for (uint32_t e = 0; e < count; e++) {
        int64_t at = parameter->offset + from->value + (int64_t)e * size;
        if (at >= (int64_t)use->offset + WORD || at + size <= (int64_t)use->offset) continue;
        if (at != use->offset || size != WORD || !mark(use, to->element_count ? &to->elements[e] : to))
            return false;
    }
    return true;
}

static bool takes_address(const struct use *use, const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (parameter_of(use->function, &instruction->operands[i])) return true;
    return false;
}

/* The operands that may be the pointer, a bit each; of these at most one is. */
static uint32_t may_hold(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
    case PTX_OP_SUB:
        return 1u << 1;
    case PTX_OP_ADD:
    case PTX_OP_SELP:
        return 1u << 1 | 1u << 2;
    case PTX_OP_MAD:
        return 1u << 3;
    default:
        return 0;
    }
}

static bool goes_through(const struct ptx_instruction *instruction, uint32_t operand)
{
    bool is_memory = instruction->space == PTX_GLOBAL || instruction->space == PTX_GENERIC;
    return is_memory && operand == (ptx_is_load(instruction) || instruction->opcode == PTX_OP_ATOM ? 1 : 0) &&
           (ptx_is_load(instruction) || ptx_is_store(instruction) || ptx_is_atomic(instruction)) &&
           instruction->operands[operand].kind == PTX_OPERAND_ADDRESS;
}

static bool follow(struct use *use, const struct ptx_instruction *instruction)
{
    bool has_destination = ptx_opcode_info(instruction->opcode)->has_destination;
    uint32_t held = 0, passing = may_hold(instruction), from = 0;
    for (uint32_t i = has_destination; i < instruction->operand_count; i++)
        if (holds(use, &instruction->operands[i])) held |= 1u << i, from = i;
    if (!held) return true;
    if (held & (held - 1)) /* two of them: a choice between the same array's places, else nothing known */
        return instruction->opcode == PTX_OP_SELP && held == passing && mark(use, &instruction->operands[0]);
    if (goes_through(instruction, from)) return true;
    bool is_wide = instruction->type_count && ptx_type_bytes(instruction->types[0]) == WORD;
    bool widens = instruction->opcode == PTX_OP_MAD && ptx_has_modifier(instruction, PTX_MOD_WIDE);
    return (held & passing) && (is_wide || widens) && mark(use, &instruction->operands[0]);
}

static bool look_at(struct use *use, const struct ptx_instruction *instruction)
{
    bool is_load = instruction->opcode == PTX_OP_LD && instruction->space == PTX_PARAM;
    if (is_load ? !note_load(use, instruction) : takes_address(use, instruction)) return false;
    return follow(use, instruction);
}

bool pointer_use_is_address(const struct ptx_function *function, uint32_t offset)
{
    struct use use = {.function = function, .offset = offset, .has_changed = true};
    bool is = true;
    use.is_address = calloc(function->register_count + 1, sizeof *use.is_address);
    if (!use.is_address) return false;
    while (is && use.has_changed) {
        use.has_changed = false;
        for (uint32_t i = 0; is && i < function->instruction_count; i++)
            is = look_at(&use, &function->instructions[i]);
    }
    free(use.is_address);
    return is;
}
