/* SPDX-License-Identifier: Apache-2.0
 * Which registers are written in the place of their single use. That is right for a register with one definition: what
 * that reads has not changed at the use, unless it has several definitions itself or lies in memory; then both must
 * stand in one block, with nothing between that may change it. */
#include "fuser/decompile/code.h"

enum { MOST_FOLDED = 14 }; /* in one statement: what still reads well */

static bool is_foldable(const struct code *code, uint32_t at)
{
    const struct ptx_instruction *instruction = &code->function->instructions[at];
    if (ptx_is_load(instruction))
        return !statement_is_placed(code, at) && instruction->vector <= 1 &&
               !registers_is_parameter(instruction) && !ptx_has_modifier(instruction, PTX_MOD_VOLATILE) &&
               !ptx_has_modifier(instruction, PTX_MOD_RELAXED) &&
               !ptx_has_modifier(instruction, PTX_MOD_ACQUIRE);
    return expression_is_known(instruction);
}

static bool may_write_memory(const struct ptx_instruction *instruction)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    return class != PTX_CLASS_ARITHMETIC && class != PTX_CLASS_CONTROL && !ptx_is_load(instruction);
}

static bool memory_may_change(const struct code *code, uint32_t from, uint32_t to)
{
    if (code->cfg->block_of[from] != code->cfg->block_of[to] || from > to) return true;
    for (uint32_t i = from + 1; i < to; i++)
        if (may_write_memory(&code->function->instructions[i])) return true;
    return false;
}

/* Whether what the instruction reads, directly or through what is folded into it, is the same at `to`. */
static bool is_same_at(struct code *code, uint32_t instruction, uint32_t to)
{
    code->at = instruction;
    code->seen_count = 0;
    code->line_count = 0;
    expression_of(code, instruction);
    for (uint32_t i = 0; i < code->seen_count; i++)
        if (registers_may_change(code, code->seen[i], instruction, to)) return false;
    return code->line_count == 0 || !memory_may_change(code, instruction, to);
}

/* Needs references and reference_at of every register that is written as a variable. Statements are taken
 * from the last to the first, so that the place where a use is written is known. */
void fold_registers(struct code *code)
{
    const struct ptx_function *function = code->function;
    uint32_t count = function->instruction_count;
    uint32_t *root = arena_calloc(code->arena, count + 1, sizeof *root);
    uint32_t *folded = arena_calloc(code->arena, count + 1, sizeof *folded);
    code->seen = arena_calloc(code->arena, (size_t)function->register_count + 1, sizeof *code->seen);
    if (!root || !folded || !code->seen) return;
    for (uint32_t i = 0; i < count; i++) root[i] = i;
    for (uint32_t i = count; i-- > 0;) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        int32_t reg = registers_destination(instruction);
        if (reg < 0 || code->registers[reg].definition != (int32_t)i || code->registers[reg].references != 1)
            continue;
        struct code_register *info = &code->registers[reg];
        uint32_t to = info->reference_at > i ? root[info->reference_at] : i;
        if (to == i || folded[to] == MOST_FOLDED || !is_foldable(code, i) || !is_same_at(code, i, to))
            continue;
        info->is_folded = true;
        root[i] = to;
        folded[to]++;
    }
    code->seen = NULL;
}
