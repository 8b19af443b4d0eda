/* SPDX-License-Identifier: Apache-2.0
 * See dead_code.h: backwards, from what has an effect. */
#include "fuser/kernel/dead_code.h"

#include "fuser/kernel/ssa.h"

#include <string.h>

enum { MOST_ROUNDS = 16 };

/* Without an effect but for its results. */
static bool is_pure(const struct ptx_instruction *instruction)
{
    static const enum ptx_modifier kept[] = {PTX_MOD_CC,      PTX_MOD_VOLATILE, PTX_MOD_RELAXED,
                                             PTX_MOD_ACQUIRE, PTX_MOD_MMIO,     PTX_MOD_CV};
    const struct ptx_opcode_info *info = ptx_opcode_info(instruction->opcode);
    bool takes_carry = instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
                       instruction->opcode == PTX_OP_MADC;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (ptx_has_modifier(instruction, kept[i])) return false;
    return info->has_destination && !takes_carry &&
           (info->class == PTX_CLASS_ARITHMETIC || instruction->opcode == PTX_OP_LD);
}

static void push(const struct ssa *ssa, uint32_t value, bool *is_seen, uint32_t *stack, uint32_t *depth)
{
    if (value == SSA_NO_VALUE || is_seen[value] || ssa->values[value].kind == SSA_UNDEFINED) return;
    is_seen[value] = true;
    stack[(*depth)++] = value;
}

static void need(const struct ssa *ssa, uint32_t instruction, bool *is_needed, bool *is_seen, uint32_t *stack,
                 uint32_t *depth)
{
    const struct ssa_list *uses = &ssa->uses[instruction];
    is_needed[instruction] = true;
    for (uint32_t u = 0; u < uses->count; u++) push(ssa, uses->items[u].value, is_seen, stack, depth);
}

static const bool *find_needed(struct arena *arena, const struct ssa *ssa)
{
    const struct ptx_cfg *cfg = ssa->dominators->cfg;
    const struct ptx_function *function = cfg->function;
    bool *is_needed = arena_calloc(arena, function->instruction_count + 1, sizeof *is_needed),
         *is_seen = arena_calloc(arena, ssa->value_count + 1, sizeof *is_seen);
    uint32_t *stack = arena_calloc(arena, ssa->value_count + 1, sizeof *stack), depth = 0;
    if (!is_needed || !is_seen || !stack) return NULL;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (!is_pure(&function->instructions[i])) need(ssa, i, is_needed, is_seen, stack, &depth);
    while (depth) {
        const struct ssa_value *value = &ssa->values[stack[--depth]];
        if (value->kind == SSA_PHI) {
            for (uint32_t p = 0; p < cfg->blocks[value->block].predecessor_count; p++)
                push(ssa, value->arguments[p], is_seen, stack, &depth);
            continue;
        }
        push(ssa, value->previous, is_seen, stack, &depth);
        need(ssa, value->instruction, is_needed, is_seen, stack, &depth);
    }
    return is_needed;
}

static bool leads_on(const struct ptx_function *function, uint32_t i)
{
    const struct ptx_instruction *instruction = &function->instructions[i];
    const struct ptx_operand *to = instruction->operand_count ? &instruction->operands[0] : NULL;
    return instruction->opcode == PTX_OP_BRA && to && to->kind == PTX_OPERAND_LABEL && to->label >= 0 &&
           function->labels[to->label].instruction == i + 1;
}

/* Of the copy; how many instructions went. */
static uint32_t compact(struct ptx_function *copy, const bool *is_needed, uint32_t *places)
{
    uint32_t count = 0, before = copy->instruction_count;
    for (uint32_t i = 0; i < before; i++) {
        places[i] = count;
        if (is_needed[i] && !leads_on(copy, i)) copy->instructions[count++] = copy->instructions[i];
    }
    places[before] = count;
    for (uint32_t l = 0; l < copy->label_count; l++)
        copy->labels[l].instruction = places[copy->labels[l].instruction];
    copy->instruction_count = count;
    return before - count;
}

static bool remove_round(struct arena *arena, struct ptx_function *copy, uint32_t *places, uint32_t *removed)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, copy, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    struct ssa *ssa = dominators ? ssa_build(arena, dominators) : NULL;
    const bool *is_needed = ssa ? find_needed(arena, ssa) : NULL;
    *removed = is_needed ? compact(copy, is_needed, places) : 0;
    return is_needed;
}

const struct ptx_function *dead_code_remove(struct arena *arena, const struct ptx_function *function)
{
    struct ptx_function *copy = arena_alloc(arena, sizeof *copy);
    uint32_t *places = arena_calloc(arena, function->instruction_count + 1, sizeof *places), removed = 1;
    if (!copy || !places) return NULL;
    *copy = *function;
    copy->instructions = arena_calloc(arena, function->instruction_count + 1, sizeof *copy->instructions);
    copy->labels = arena_calloc(arena, function->label_count + 1, sizeof *copy->labels);
    if (!copy->instructions || !copy->labels) return NULL;
    memcpy(copy->instructions, function->instructions,
           function->instruction_count * sizeof *copy->instructions);
    if (function->label_count)
        memcpy(copy->labels, function->labels, function->label_count * sizeof *copy->labels);
    for (uint32_t round = 0; removed && round < MOST_ROUNDS; round++)
        if (!remove_round(arena, copy, places, &removed)) return NULL;
    return copy;
}
