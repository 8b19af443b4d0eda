/* SPDX-License-Identifier: Apache-2.0
 * Natural loops of a reducible control flow graph. */
#include "fuser/kernel/loops.h"

#include <string.h>

bool loops_contains(const struct loop_forest *forest, int32_t outer, int32_t inner)
{
    if (outer == LOOPS_NONE) return true;
    while (inner != LOOPS_NONE && inner != outer) inner = forest->loops[inner].parent;
    return inner == outer;
}

bool loops_contains_block(const struct loop_forest *forest, int32_t loop, uint32_t block)
{
    return loops_contains(forest, loop, forest->loop_of[block]);
}

int32_t loops_child_towards(const struct loop_forest *forest, int32_t loop, int32_t inner)
{
    if (inner == loop) return LOOPS_NONE;
    while (forest->loops[inner].parent != loop) inner = forest->loops[inner].parent;
    return inner;
}

uint32_t loops_node(const struct loop_forest *forest, int32_t loop, uint32_t block)
{
    int32_t child = loops_child_towards(forest, loop, forest->loop_of[block]);

    return child == LOOPS_NONE ? block : forest->loops[child].header;
}

bool loops_is_back_edge(const struct loop_forest *forest, uint32_t from, uint32_t to)
{
    const int32_t *position = forest->dominators->position;

    return position[from] != DOMINATORS_NONE && position[to] <= position[from];
}

/* The only block that jumps back, or UINT32_MAX. */
static uint32_t only_latch(const struct loop_forest *forest, uint32_t header)
{
    const struct ptx_block *block = &forest->dominators->cfg->blocks[header];
    uint32_t latch = UINT32_MAX;

    for (uint32_t p = 0; p < block->predecessor_count; p++) {
        if (!loops_is_back_edge(forest, block->predecessors[p], header)) continue;
        if (latch != UINT32_MAX) return UINT32_MAX;
        latch = block->predecessors[p];
    }
    return latch;
}

uint32_t loops_latch(const struct loop_forest *forest, int32_t loop)
{
    const struct ptx_cfg *cfg = forest->dominators->cfg;
    uint32_t latch = only_latch(forest, forest->loops[loop].header);

    if (latch == UINT32_MAX || forest->loop_of[latch] != loop) return UINT32_MAX;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (!loops_contains_block(forest, loop, b)) continue;
        for (uint32_t s = 0; s < cfg->blocks[b].successor_count; s++)
            if (!loops_contains(forest, loop, forest->loop_of[cfg->blocks[b].successors[s]]) &&
                (b != latch || s != 1))
                return UINT32_MAX;
    }
    const struct ptx_block *block = &cfg->blocks[latch];
    const struct ptx_instruction *last = &cfg->function->instructions[block->first + block->count - 1];
    bool jumps_back = block->count && block->successor_count == 2 &&
                      block->successors[0] == forest->loops[loop].header &&
                      block->successors[1] == latch + 1 && last->opcode == PTX_OP_BRA && last->guard >= 0;

    return jumps_back ? latch : UINT32_MAX;
}

/* Marks the blocks of the loop with this header; false when it is none. */
static bool find_body(const struct loop_forest *forest, uint32_t header, bool *body, uint32_t *stack)
{
    const struct ptx_cfg *cfg = forest->dominators->cfg;
    uint32_t depth = 0;

    memset(body, 0, cfg->block_count * sizeof *body);
    body[header] = true;
    for (uint32_t p = 0; p < cfg->blocks[header].predecessor_count; p++) {
        uint32_t latch = cfg->blocks[header].predecessors[p];
        if (!loops_is_back_edge(forest, latch, header)) continue;
        if (!body[latch]) stack[depth++] = latch;
        body[latch] = true;
        if (latch == header && depth == 0) stack[depth++] = header;
    }
    if (depth == 0) return false;
    while (depth > 0) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        if (block == &cfg->blocks[header]) continue;
        for (uint32_t p = 0; p < block->predecessor_count; p++) {
            uint32_t predecessor = block->predecessors[p];
            if (body[predecessor] || !dominators_is_reachable(forest->dominators, predecessor)) continue;
            body[predecessor] = true;
            stack[depth++] = predecessor;
        }
    }
    return true;
}

static bool find_loops(struct arena *arena, struct loop_forest *forest)
{
    const struct dominators *dominators = forest->dominators;
    uint32_t block_count = dominators->cfg->block_count;
    bool *body = arena_calloc(arena, block_count, sizeof *body);
    uint32_t *stack = arena_calloc(arena, block_count + 1, sizeof *stack);

    if (!body || !stack) return false;
    /* Outer headers come first in reverse postorder, so inner loops overwrite what outer ones marked. */
    for (uint32_t i = 0; i < dominators->order_count; i++) {
        uint32_t header = dominators->order[i];
        if (!find_body(forest, header, body, stack)) continue;
        int32_t index = (int32_t)forest->loop_count++;
        struct loop *loop = &forest->loops[index];
        loop->header = header;
        loop->parent = forest->loop_of[header];
        loop->depth = loop->parent == LOOPS_NONE ? 1 : forest->loops[loop->parent].depth + 1;
        if (loop->depth > forest->max_depth) forest->max_depth = loop->depth;
        for (uint32_t b = 0; b < block_count; b++)
            if (body[b]) forest->loop_of[b] = index;
    }
    return true;
}

static const char *find_irreducible(struct arena *arena, const struct dominators *dominators)
{
    const struct ptx_cfg *cfg = dominators->cfg;

    for (uint32_t i = 0; i < dominators->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[dominators->order[i]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            uint32_t target = block->successors[s];
            if (dominators->position[target] > (int32_t)i ||
                dominators_dominates(dominators, target, dominators->order[i]))
                continue;
            const struct ptx_instruction *branch =
                &cfg->function->instructions[block->first + block->count - 1];
            return arena_printf(arena, "line %u: %.*s \u2014 jumps into the middle of a loop", branch->line,
                                (int)branch->text.length, branch->text.text);
        }
    }
    return NULL;
}

/* The nearest node at or after both in the acyclic body; nodes are ordered by reverse postorder. */
static int32_t common_postdominator(const struct loop_forest *forest, const int32_t *next, int32_t a,
                                    int32_t b)
{
    const int32_t *position = forest->dominators->position;

    while (a != b) {
        if (a == LOOPS_NONE || b == LOOPS_NONE) return LOOPS_NONE;
        if (position[a] < position[b])
            a = next[a];
        else
            b = next[b];
    }
    return a;
}

/* Joins what an edge from inside `loop`'s body node to target leads to. */
static void join_edge(const struct loop_forest *forest, int32_t loop, uint32_t from, uint32_t target,
                      const int32_t *next, bool *any, int32_t *join)
{
    int32_t node = LOOPS_NONE;

    if (!loops_is_back_edge(forest, from, target) && loops_contains_block(forest, loop, target))
        node = (int32_t)loops_node(forest, loop, target);
    *join = *any ? common_postdominator(forest, next, *join, node) : node;
    *any = true;
}

/* next: node -> its immediate post-dominator in the body of `loop`. */
static void find_postdominators(struct loop_forest *forest, int32_t loop, int32_t *next)
{
    const struct dominators *dominators = forest->dominators;
    const struct ptx_cfg *cfg = dominators->cfg;

    for (uint32_t i = dominators->order_count; i-- > 0;) {
        uint32_t node = dominators->order[i];
        int32_t own = forest->loop_of[node];
        bool is_inner = own != LOOPS_NONE && own != loop && forest->loops[own].header == node &&
                        forest->loops[own].parent == loop;
        bool any = false;
        int32_t join = LOOPS_NONE;
        if (own != loop && !is_inner) continue;
        for (uint32_t k = i; k < dominators->order_count; k++) {
            uint32_t block = dominators->order[k];
            if (!is_inner && block != node) break;
            if (is_inner && !loops_contains_block(forest, own, block)) continue;
            for (uint32_t s = 0; s < cfg->blocks[block].successor_count; s++) {
                uint32_t target = cfg->blocks[block].successors[s];
                if (is_inner && loops_contains_block(forest, own, target)) continue;
                join_edge(forest, loop, block, target, next, &any, &join);
            }
        }
        next[node] = join;
        if (is_inner)
            forest->loops[own].postdominator = join;
        else
            forest->postdominator[node] = join;
    }
}

static bool find_all_postdominators(struct arena *arena, struct loop_forest *forest)
{
    int32_t *next = arena_calloc(arena, forest->dominators->cfg->block_count, sizeof *next);

    if (!next) return false;
    for (int32_t loop = LOOPS_NONE; loop < (int32_t)forest->loop_count; loop++)
        find_postdominators(forest, loop, next);
    return true;
}

struct loop_forest *loops_build(struct arena *arena, const struct dominators *dominators, const char **reason)
{
    uint32_t block_count = dominators->cfg->block_count;
    struct loop_forest *forest = arena_alloc(arena, sizeof *forest);

    *reason = find_irreducible(arena, dominators);
    if (!forest || *reason) return NULL;
    forest->dominators = dominators;
    forest->loops = arena_calloc(arena, block_count, sizeof *forest->loops);
    forest->loop_of = arena_calloc(arena, block_count, sizeof *forest->loop_of);
    forest->postdominator = arena_calloc(arena, block_count, sizeof *forest->postdominator);
    if (!forest->loops || !forest->loop_of || !forest->postdominator) return NULL;
    for (uint32_t b = 0; b < block_count; b++) forest->loop_of[b] = forest->postdominator[b] = LOOPS_NONE;
    if (!find_loops(arena, forest) || !find_all_postdominators(arena, forest)) return NULL;
    return forest;
}
