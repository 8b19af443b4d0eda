/* SPDX-License-Identifier: Apache-2.0
 * Finds the loops of each member that can be joined, and runs of members whose loops may be: see join.h. */
#include "fuser/analysis/joining.h"

#include "fuser/analysis/loops.h"

#include <string.h>

enum { JOIN_OPERATIONS = 500000 }; /* of isl, for all joins of a group */

/* The only edge back, or the end of the list. */
static uint32_t latch_of(const struct loop_forest *forest, const struct ptx_cfg *cfg, uint32_t header)
{
    uint32_t latch = UINT32_MAX;
    for (uint32_t p = 0; p < cfg->blocks[header].predecessor_count; p++) {
        uint32_t from = cfg->blocks[header].predecessors[p];
        if (!loops_is_back_edge(forest, from, header)) continue;
        if (latch != UINT32_MAX) return UINT32_MAX;
        latch = from;
    }
    return latch;
}

/* Its last instruction jumps back under a condition, and nothing else leaves the loop. */
static bool is_left_by_latch(const struct loop_forest *forest, const struct ptx_cfg *cfg, int32_t loop,
                             uint32_t latch)
{
    if (latch == UINT32_MAX || forest->loop_of[latch] != loop) return false;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (!loops_contains(forest, loop, forest->loop_of[b])) continue;
        for (uint32_t s = 0; s < cfg->blocks[b].successor_count; s++)
            if (!loops_contains(forest, loop, forest->loop_of[cfg->blocks[b].successors[s]]) &&
                (b != latch || s != 1))
                return false;
    }
    const struct ptx_block *block = &cfg->blocks[latch];
    const struct ptx_instruction *last = &cfg->function->instructions[block->first + block->count - 1];
    return block->count && block->successor_count == 2 &&
           block->successors[0] == forest->loops[loop].header && block->successors[1] == latch + 1 &&
           last->opcode == PTX_OP_BRA && last->guard >= 0;
}

/* Everything that can be reached from loop l, and is in no joined loop, is in segment 2l + 2 or a later one.
 */
static void mark_reached(const struct ptx_cfg *cfg, uint32_t from, uint32_t segment, uint32_t *segments,
                         unsigned char *seen, uint32_t *stack)
{
    memset(seen, 0, cfg->block_count);
    order_walk(cfg, from, UINT32_MAX, NULL, seen, stack);
    for (uint32_t b = 0; b < cfg->block_count; b++)
        if (seen[b] && segments[b] % 2 == 0 && segments[b] < segment) segments[b] = segment;
}

static bool has_indirect_jump(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].opcode == PTX_OP_BRX) return true;
    return false;
}

/* Fills joined and *loop_count; false when the member has no such loop or memory is out. */
static bool find_loops(struct arena *arena, const struct ptx_function *function, struct group_joined *joined,
                       uint32_t *loop_count)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    const struct loop_forest *forest = dominators ? loops_build(arena, dominators, &reason) : NULL;
    *loop_count = 0;
    if (!forest || !forest->loop_count || has_indirect_jump(function)) return false;
    *joined = (struct group_joined){.cfg = cfg,
                                    .segments = arena_calloc(arena, cfg->block_count, sizeof(uint32_t)),
                                    .headers = arena_calloc(arena, forest->loop_count, sizeof(uint32_t)),
                                    .latches = arena_calloc(arena, forest->loop_count, sizeof(uint32_t)),
                                    .lags = arena_calloc(arena, forest->loop_count, sizeof(uint32_t)),
                                    .is_late = arena_calloc(arena, forest->loop_count, sizeof(bool))};
    unsigned char *seen = arena_calloc(arena, cfg->block_count, 1);
    uint32_t *stack = arena_calloc(arena, cfg->block_count + 1, sizeof *stack);
    if (!joined->segments || !joined->headers || !joined->latches || !joined->lags || !joined->is_late ||
        !seen || !stack)
        return false;
    for (int32_t loop = 0; loop < (int32_t)forest->loop_count; loop++) {
        uint32_t header = forest->loops[loop].header, latch = latch_of(forest, cfg, header);
        if (forest->loops[loop].parent != LOOPS_NONE || header == 0) continue; /* nothing leads to block 0 */
        for (uint32_t b = 0; b < cfg->block_count; b++)
            if (loops_contains(forest, loop, forest->loop_of[b])) joined->segments[b] = 2 * *loop_count + 1;
        joined->headers[*loop_count] = header;
        joined->latches[(*loop_count)++] = is_left_by_latch(forest, cfg, loop, latch) ? latch : UINT32_MAX;
    }
    for (uint32_t loop = 0; loop < *loop_count; loop++)
        mark_reached(cfg, joined->headers[loop], 2 * loop + 2, joined->segments, seen, stack);
    return *loop_count > 0;
}

/* Each thread of the group runs one thread of the member, or none, and nothing ties it to others. */
static bool may_join(const struct joining *joining, uint32_t member)
{
    const struct access_summary *summary = joining->frame->members[member].summary;
    enum remap_kind kind = joining->frame->remaps[member].kind;
    return summary->has_loop && !summary->whole_block && kind != REMAP_STRIDE && kind != REMAP_CELLS;
}

static bool extends_join(struct joining *joining, struct group_join *join, uint32_t member)
{
    struct group_joined *joined = &join->members[join->member_count];
    uint32_t loop_count;
    if (!may_join(joining, member) || joining->group->barriers[member]) return false;
    if (!find_loops(joining->arena, joining->frame->members[member].summary->function, joined, &loop_count) ||
        loop_count != join->loop_count || !joining_describe(joining, member, joined))
        return false;
    for (uint32_t loop = 0; loop < loop_count; loop++) joined->lags[loop] = joined[-1].lags[loop];
    for (uint32_t p = join->first_member; p < member; p++)
        if (!joining_settle(joining, join, p, member)) return false;
    join->member_count++;
    return true;
}

/* The longest join that begins with this member. */
static bool find_join(struct joining *joining, uint32_t first, struct group_join *join)
{
    uint32_t count = joining->frame->member_count;
    *join = (struct group_join){.first_member = first, .member_count = 1};
    if (first + 1 >= count || !may_join(joining, first) || !may_join(joining, first + 1)) return false;
    join->members = arena_calloc(joining->arena, count - first, sizeof *join->members);
    if (!join->members || !find_loops(joining->arena, joining->frame->members[first].summary->function,
                                      join->members, &join->loop_count))
        return false;
    if (!joining_describe(joining, first, join->members)) return false;
    while (first + join->member_count < count && extends_join(joining, join, first + join->member_count))
        continue;
    if (join->member_count < 2) return false;
    join->is_even = arena_calloc(joining->arena, join->loop_count, sizeof(bool));
    for (uint32_t loop = 0; join->is_even && loop < join->loop_count; loop++) {
        join->is_even[loop] = true;
        for (uint32_t m = 1; m < join->member_count && join->is_even[loop]; m++)
            join->is_even[loop] = joining_is_even(joining, join, first, first + m, loop);
    }
    return join->is_even;
}

struct joining *join_open(struct group *group, struct frame *frame)
{
    struct joining *joining = arena_calloc(group->arena, 1, sizeof *joining);
    if (!joining) return NULL;
    *joining = (struct joining){.group = group, .frame = frame, .arena = group->arena};
    joining->accesses = arena_calloc(group->arena, frame->member_count, sizeof *joining->accesses);
    group->joins = arena_calloc(group->arena, frame->member_count, sizeof *group->joins);
    if (!joining->accesses || !group->joins) return NULL;
    if (group->stage_count || frame->reach != OVERLAP_SAME) return joining;
    struct quota quota = quota_begin(frame->ctx, JOIN_OPERATIONS);
    for (uint32_t member = 0; member < frame->member_count;) {
        struct group_join *join = &group->joins[group->join_count];
        bool found = find_join(joining, member, join);
        group->join_count += found;
        member += found ? join->member_count : 1;
    }
    quota_end(&quota);
    return joining;
}

void join_close(struct joining *joining)
{
    if (joining) joining_forget(joining);
}

/* A value passes in a loop of the join. */
static bool is_used(const struct group *group, const struct group_join *join)
{
    for (uint32_t i = 0; i < group->forward_count; i++)
        if (group_join_of(group, group->forwards[i].to_member) == join &&
            group_is_repeated(group, &group->forwards[i]))
            return true;
    return false;
}

bool join_prune(struct joining *joining)
{
    struct group *group = joining->group;
    uint32_t kept = 0, count = group->join_count;
    bool *used = arena_calloc(group->arena, count + 1, sizeof *used);
    for (uint32_t i = 0; used && i < count; i++) used[i] = is_used(group, &group->joins[i]);
    for (uint32_t i = 0; used && i < count; i++)
        if (used[i]) group->joins[kept++] = group->joins[i];
    group->join_count = kept;
    return kept < count;
}
