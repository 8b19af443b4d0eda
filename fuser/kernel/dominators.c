/* SPDX-License-Identifier: Apache-2.0
 * Reverse postorder and dominators. */
#include "fuser/kernel/dominators.h"

bool dominators_is_reachable(const struct dominators *dominators, uint32_t block)
{
    return dominators->position[block] != DOMINATORS_NONE;
}

bool dominators_dominates(const struct dominators *dominators, uint32_t above, uint32_t below)
{
    int32_t block = (int32_t)below;

    while (block != DOMINATORS_NONE && dominators->position[block] > dominators->position[above])
        block = dominators->parent[block];
    return block == (int32_t)above;
}

/* Depth first with a stack of its own: generated kernels have thousands of blocks. */
static bool find_order(struct arena *arena, struct dominators *dominators)
{
    const struct ptx_cfg *cfg = dominators->cfg;
    uint32_t *stack = arena_calloc(arena, cfg->block_count, sizeof *stack);
    uint32_t *next = arena_calloc(arena, cfg->block_count, sizeof *next);
    bool *seen = arena_calloc(arena, cfg->block_count, sizeof *seen);
    uint32_t *postorder = arena_calloc(arena, cfg->block_count, sizeof *postorder);
    uint32_t depth = 0, count = 0;

    if (!stack || !next || !seen || !postorder) return false;
    stack[depth++] = 0;
    seen[0] = true;
    while (depth > 0) {
        uint32_t block = stack[depth - 1];
        const struct ptx_block *info = &cfg->blocks[block];
        if (next[block] == info->successor_count) {
            postorder[count++] = block;
            depth--;
            continue;
        }
        uint32_t successor = info->successors[next[block]++];
        if (!seen[successor]) {
            seen[successor] = true;
            stack[depth++] = successor;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        dominators->order[i] = postorder[count - 1 - i];
        dominators->position[dominators->order[i]] = (int32_t)i;
    }
    dominators->order_count = count;
    return true;
}

static int32_t common_dominator(const struct dominators *dominators, int32_t a, int32_t b)
{
    while (a != b) {
        while (dominators->position[a] > dominators->position[b]) a = dominators->parent[a];
        while (dominators->position[b] > dominators->position[a]) b = dominators->parent[b];
    }
    return a;
}

static bool improve_parents(struct dominators *dominators, bool *known)
{
    bool changed = false;

    for (uint32_t i = 1; i < dominators->order_count; i++) {
        uint32_t block = dominators->order[i];
        const struct ptx_block *info = &dominators->cfg->blocks[block];
        int32_t parent = DOMINATORS_NONE;
        for (uint32_t p = 0; p < info->predecessor_count; p++) {
            int32_t predecessor = (int32_t)info->predecessors[p];
            if (!known[predecessor]) continue;
            parent =
                parent == DOMINATORS_NONE ? predecessor : common_dominator(dominators, parent, predecessor);
        }
        if (!known[block] || dominators->parent[block] != parent) {
            known[block] = true;
            dominators->parent[block] = parent;
            changed = true;
        }
    }
    return changed;
}

struct dominators *dominators_build(struct arena *arena, const struct ptx_cfg *cfg)
{
    struct dominators *dominators = arena_alloc(arena, sizeof *dominators);
    bool *known = arena_calloc(arena, cfg->block_count, sizeof *known);

    if (!dominators || !known) return NULL;
    dominators->cfg = cfg;
    dominators->order = arena_calloc(arena, cfg->block_count, sizeof *dominators->order);
    dominators->position = arena_calloc(arena, cfg->block_count, sizeof *dominators->position);
    dominators->parent = arena_calloc(arena, cfg->block_count, sizeof *dominators->parent);
    if (!dominators->order || !dominators->position || !dominators->parent) return NULL;
    for (uint32_t b = 0; b < cfg->block_count; b++)
        dominators->position[b] = dominators->parent[b] = DOMINATORS_NONE;
    if (!find_order(arena, dominators)) return NULL;
    known[0] = true;
    while (improve_parents(dominators, known)) continue;
    return dominators;
}
