/* SPDX-License-Identifier: Apache-2.0
 * See flow.h. */
#include "fuser/decompile/flow.h"

enum placement { PLACED_NOWHERE, PLACED_IN_BRANCH, PLACED_BEHIND_BLOCK, PLACED_BEHIND_LOOP };

struct surrounding {         /* of the node that is being built */
    uint32_t header, follow; /* of the innermost loop */
    bool is_loop;
    uint32_t next; /* block that control comes to at its end */
};
struct builder {
    struct arena *arena;
    const struct ptx_cfg *cfg;
    const struct dominators *dominators;
    const struct loop_forest *forest; /* NULL: irreducible */
    enum placement *placement;
    uint32_t *behind;
    struct flow *flow;
    bool failed;
};

static uint32_t exit_block(const struct builder *builder)
{
    return builder->cfg->block_count - 1;
}

static bool only_returns(const struct builder *builder, uint32_t block)
{
    const struct ptx_block *info = &builder->cfg->blocks[block];
    const struct ptx_instruction *first = &builder->cfg->function->instructions[info->first];
    return block == exit_block(builder) ||
           (block && info->count == 1 && ptx_is_return(first) && first->guard < 0);
}

/* --- where each block goes --------------------------------------------------------------------------------
 */

static uint32_t count_ways_in(const struct builder *builder, uint32_t block)
{
    const struct ptx_block *info = &builder->cfg->blocks[block];
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->predecessor_count; i++) {
        int32_t from = builder->dominators->position[info->predecessors[i]];
        count += from != DOMINATORS_NONE && from < builder->dominators->position[block];
    }
    return count;
}

/* The outermost loop that holds the dominator and not the block. */
static int32_t loop_left(const struct builder *builder, uint32_t dominator, uint32_t block)
{
    const struct loop_forest *forest = builder->forest;
    int32_t left = LOOPS_NONE;
    for (int32_t loop = forest->loop_of[dominator]; loop != LOOPS_NONE; loop = forest->loops[loop].parent)
        if (!loops_contains_block(forest, loop, block)) left = loop;
    return left;
}

static void place(struct builder *builder, uint32_t block)
{
    uint32_t dominator = (uint32_t)builder->dominators->parent[block];
    builder->placement[block] = PLACED_BEHIND_BLOCK;
    builder->behind[block] = builder->forest ? dominator : 0;
    if (!builder->forest) return;
    int32_t left = loop_left(builder, dominator, block);
    if (left != LOOPS_NONE) {
        builder->placement[block] = PLACED_BEHIND_LOOP;
        builder->behind[block] = builder->forest->loops[left].header;
    } else if (count_ways_in(builder, block) == 1) {
        builder->placement[block] = PLACED_IN_BRANCH;
    }
}

/* The next block, in order, that stands so behind this one; the end of the function where there is none. */
static uint32_t next_behind(const struct builder *builder, uint32_t block, enum placement placement,
                            uint32_t after)
{
    const struct dominators *dominators = builder->dominators;
    for (uint32_t i = (uint32_t)dominators->position[after] + 1; i < dominators->order_count; i++) {
        uint32_t other = dominators->order[i];
        if (builder->placement[other] == placement && builder->behind[other] == block) return other;
    }
    return exit_block(builder);
}

/* --- nodes ------------------------------------------------------------------------------------------------
 */

static struct flow_node **append(struct builder *builder, struct flow_node **end, enum flow_kind kind,
                                 uint32_t block)
{
    struct flow_node *node = arena_calloc(builder->arena, 1, sizeof *node);
    if (!node) {
        builder->failed = true;
        return end;
    }
    node->kind = kind;
    node->block = block;
    *end = node;
    return &node->next;
}

static struct flow_node **build_tree(struct builder *builder, struct flow_node **end, uint32_t block,
                                     struct surrounding around);

/* The way along one edge. */
static struct flow_node **build_edge(struct builder *builder, struct flow_node **end, uint32_t target,
                                     struct surrounding around)
{
    if (target == around.next || (only_returns(builder, target) && only_returns(builder, around.next)))
        return end;
    bool leaves_loop = around.is_loop && only_returns(builder, around.follow);
    if (only_returns(builder, target))
        return append(builder, end, leaves_loop ? FLOW_BREAK : FLOW_RETURN, target);
    if (builder->placement[target] == PLACED_IN_BRANCH) return build_tree(builder, end, target, around);
    if (around.is_loop && target == around.header) return append(builder, end, FLOW_CONTINUE, target);
    if (around.is_loop && target == around.follow) return append(builder, end, FLOW_BREAK, target);
    struct flow_node *node = NULL;
    append(builder, &node, FLOW_GOTO, target);
    if (!node) return end;
    node->target = target;
    builder->flow->is_label[target] = true;
    *end = node;
    return &node->next;
}

static struct flow_node **build_branch(struct builder *builder, struct flow_node **end, uint32_t block,
                                       struct surrounding around)
{
    const struct ptx_block *info = &builder->cfg->blocks[block];
    if (info->successor_count == 0) return end;
    const struct ptx_instruction *last = &builder->cfg->function->instructions[info->first + info->count - 1];
    bool is_table = info->count && last->opcode == PTX_OP_BRX;
    if (info->successor_count == 1 && !is_table) return build_edge(builder, end, info->successors[0], around);
    struct flow_node *node = NULL;
    append(builder, &node, is_table ? FLOW_SWITCH : FLOW_IF, block);
    if (!node) return end;
    *end = node;
    if (!is_table) {
        build_edge(builder, &node->first, info->successors[0], around);
        build_edge(builder, &node->second, info->successors[1], around);
        return &node->next;
    }
    around.is_loop = false; /* break and continue would mean the switch */
    struct flow_node **cases = &node->first;
    for (uint32_t i = 0; i < info->successor_count; i++) {
        struct flow_node *branch = NULL;
        append(builder, &branch, FLOW_CASE, block);
        if (!branch) return end;
        build_edge(builder, &branch->first, info->successors[i], around);
        *cases = branch;
        cases = &branch->next;
    }
    return &node->next;
}

/* The block and what stands behind it in the same loop. */
static struct flow_node **build_body(struct builder *builder, struct flow_node **end, uint32_t block,
                                     struct surrounding around)
{
    uint32_t last = around.next, behind = next_behind(builder, block, PLACED_BEHIND_BLOCK, block);
    around.next = behind == exit_block(builder) ? last : behind;
    end = append(builder, end, FLOW_BLOCK, block);
    end = build_branch(builder, end, block, around);
    while (behind != exit_block(builder)) {
        uint32_t following = next_behind(builder, block, PLACED_BEHIND_BLOCK, behind);
        around.next = following == exit_block(builder) ? last : following;
        end = build_tree(builder, end, behind, around);
        behind = following;
    }
    return end;
}

static bool is_header(const struct builder *builder, uint32_t block)
{
    if (!builder->forest) return false;
    int32_t loop = builder->forest->loop_of[block];
    return loop != LOOPS_NONE && builder->forest->loops[loop].header == block;
}

static struct flow_node **build_tree(struct builder *builder, struct flow_node **end, uint32_t block,
                                     struct surrounding around)
{
    if (builder->failed) return end;
    if (!is_header(builder, block)) return build_body(builder, end, block, around);
    uint32_t last = around.next, behind = next_behind(builder, block, PLACED_BEHIND_LOOP, block);
    uint32_t follow = behind == exit_block(builder) ? last : behind;
    struct flow_node *node = NULL;
    append(builder, &node, FLOW_LOOP, block);
    if (!node) return end;
    *end = node;
    end = &node->next;
    build_body(builder, &node->first, block,
               (struct surrounding){.header = block, .follow = follow, .is_loop = true, .next = block});
    while (behind != exit_block(builder)) {
        uint32_t following = next_behind(builder, block, PLACED_BEHIND_LOOP, behind);
        around.next = following == exit_block(builder) ? last : following;
        end = build_tree(builder, end, behind, around);
        behind = following;
    }
    return end;
}

struct flow *flow_build(struct arena *arena, const struct dominators *dominators)
{
    const char *reason = NULL;
    uint32_t count = dominators->cfg->block_count;
    struct flow *flow = arena_calloc(arena, 1, sizeof *flow);
    struct builder builder = {.arena = arena,
                              .cfg = dominators->cfg,
                              .dominators = dominators,
                              .forest = loops_build(arena, dominators, &reason),
                              .placement = arena_calloc(arena, count, sizeof *builder.placement),
                              .behind = arena_calloc(arena, count, sizeof *builder.behind),
                              .flow = flow};
    if (!flow || !builder.placement || !builder.behind) return NULL;
    flow->is_label = arena_calloc(arena, count, sizeof *flow->is_label);
    if (!flow->is_label) return NULL;
    for (uint32_t i = 1; i < dominators->order_count; i++)
        if (!only_returns(&builder, dominators->order[i])) place(&builder, dominators->order[i]);
    build_tree(&builder, &flow->body, 0, (struct surrounding){.next = exit_block(&builder)});
    return builder.failed ? NULL : flow;
}
