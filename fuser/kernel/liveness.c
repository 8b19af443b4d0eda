/* SPDX-License-Identifier: Apache-2.0
 * See liveness.h: backward data flow, block by block until nothing changes. */
#include "fuser/kernel/liveness.h"

#include <string.h>

enum { MOST_CELLS = 8 << 20 };

static bool writes_part(const struct ptx_instruction *instruction)
{
    if (instruction->guard >= 0 || !instruction->operand_count) return true;
    const struct ptx_operand *to = &instruction->operands[0];
    bool is_part = to->component != 0;
    for (uint32_t e = 0; e < to->element_count; e++) is_part |= to->elements[e].component != 0;
    return is_part;
}

static bool update_block(struct liveness *liveness, const struct ssa *ssa, uint32_t b, unsigned char *live)
{
    const struct ptx_cfg *cfg = ssa->dominators->cfg;
    const struct ptx_block *block = &cfg->blocks[b];
    uint32_t registers = liveness->registers;
    unsigned char *before = liveness->live + (size_t)b * registers;
    memset(live, 0, registers);
    for (uint32_t s = 0; s < block->successor_count; s++)
        for (uint32_t r = 0; r < registers; r++)
            live[r] |= liveness->live[(size_t)block->successors[s] * registers + r];
    for (uint32_t i = block->first + block->count; i-- > block->first;) {
        const struct ssa_list *written = &ssa->definitions[i], *read = &ssa->uses[i];
        for (uint32_t k = 0; k < written->count && !writes_part(&cfg->function->instructions[i]); k++)
            live[written->items[k].reg] = 0;
        for (uint32_t k = 0; k < read->count; k++) live[read->items[k].reg] = 1;
    }
    if (!memcmp(before, live, registers)) return false;
    memcpy(before, live, registers);
    return true;
}

const char *liveness_compute(struct liveness *liveness, struct arena *arena, const struct ssa *ssa)
{
    const struct ptx_cfg *cfg = ssa->dominators->cfg;
    size_t blocks = cfg->block_count, registers = cfg->function->register_count;
    if (blocks * registers > MOST_CELLS) return "it is too long";
    *liveness = (struct liveness){(uint32_t)registers, arena_calloc(arena, blocks * registers + 1, 1)};
    unsigned char *scratch = arena_calloc(arena, registers + 1, 1);
    if (!liveness->live || !scratch) return "memory is out";
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t b = cfg->block_count; b-- > 0;) changes |= update_block(liveness, ssa, b, scratch);
    }
    return NULL;
}

bool liveness_of(const struct liveness *liveness, uint32_t block, int32_t reg)
{
    return liveness->live[(size_t)block * liveness->registers + (uint32_t)reg];
}
