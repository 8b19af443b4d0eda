/* SPDX-License-Identifier: Apache-2.0
 * See staging.h: the phases that barriers part a kernel into. */
#include "fuser/access/staging_finding.h"

uint32_t staging_block_of(const struct finding *finding, uint32_t instruction)
{
    return finding->analysis->cfg->block_of[instruction];
}

static void walk_behind(const struct finding *finding, bool *is_behind, uint32_t from, uint32_t *stack)
{
    const struct ptx_cfg *cfg = finding->analysis->cfg;
    uint32_t depth = 0;
    stack[depth++] = from;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            if (is_behind[block->successors[s]]) continue;
            is_behind[block->successors[s]] = true;
            stack[depth++] = block->successors[s];
        }
    }
}

/* In no loop, and for all threads of the block that are still there. */
static bool is_plain_barrier(const struct finding *finding, uint32_t number)
{
    const struct ptx_instruction *instruction = &finding->function->instructions[number];
    return instruction->guard < 0 && instruction->operand_count == 1 &&
           instruction->operands[0].kind == PTX_OPERAND_INTEGER && instruction->operands[0].value == 0 &&
           !ptx_has_modifier(instruction, PTX_MOD_RED) && !ptx_has_modifier(instruction, PTX_MOD_ARRIVE) &&
           !ptx_has_modifier(instruction, PTX_MOD_CLUSTER) &&
           finding->analysis->forest->loop_of[staging_block_of(finding, number)] == LOOPS_NONE;
}

bool staging_find_barriers(struct finding *finding)
{
    struct analysis *analysis = finding->analysis;
    uint32_t blocks = analysis->cfg->block_count;
    uint32_t *stack = arena_calloc(analysis->arena, blocks + 1, sizeof *stack);
    for (uint32_t i = 0; stack && i < finding->function->instruction_count; i++) {
        if (!ptx_is_block_barrier(&finding->function->instructions[i]) ||
            !dominators_is_reachable(analysis->dominators, staging_block_of(finding, i)))
            continue;
        bool *is_behind = arena_calloc(analysis->arena, blocks + 1, sizeof *is_behind);
        if (!is_behind || finding->barrier_count == STAGING_MOST_BARRIERS || !is_plain_barrier(finding, i))
            return false;
        walk_behind(finding, is_behind, staging_block_of(finding, i), stack);
        finding->is_behind[finding->barrier_count] = is_behind;
        finding->barriers[finding->barrier_count++] = i;
    }
    return stack;
}

bool staging_phase(const struct finding *finding, uint32_t instruction, uint32_t *phase)
{
    uint32_t block = staging_block_of(finding, instruction);
    *phase = 0;
    for (uint32_t b = 0; b < finding->barrier_count; b++) {
        uint32_t barrier = finding->barriers[b], own = staging_block_of(finding, barrier);
        bool comes_before = own == block ? barrier < instruction
                                         : dominators_dominates(finding->analysis->dominators, own, block);
        if (!comes_before && own != block && finding->is_behind[b][block]) return false;
        *phase += comes_before;
    }
    return true;
}
