/* SPDX-License-Identifier: Apache-2.0
 * Cuts the iterations of joined loops into chunks that alternate, as a loop that nvcc unrolled has several of
 * the program's iterations in one. What passes between members then lives for a chunk only: three kernels
 * unrolled by 4 needed 146 registers otherwise, alone 52 at most. And finds which values need no register of
 * their own. */
#include "fuser/fusion/joining.h"

static const struct ptx_block *body_of(const struct group_joined *joined, uint32_t loop)
{
    return &joined->cfg->blocks[joined->headers[loop]];
}

static bool is_mark(const struct ptx_instruction *instruction, bool of_stores)
{
    if (instruction->space != PTX_GLOBAL && instruction->space != PTX_GENERIC) return false;
    return of_stores ? ptx_is_store(instruction) : ptx_is_load(instruction);
}

/* Stores of the body, or loads where it has none. */
static uint32_t count_marks(const struct group_joined *joined, uint32_t loop, bool *of_stores)
{
    const struct ptx_block *body = body_of(joined, loop);
    uint32_t count[2] = {0, 0};
    for (uint32_t i = body->first; i < body->first + body->count; i++)
        for (int stores = 0; stores < 2; stores++)
            count[stores] += is_mark(&joined->cfg->function->instructions[i], stores);
    *of_stores = count[true] > 0;
    return count[*of_stores];
}

/* Ends of the chunks, as many marks in each: behind a store, before a load. */
static uint32_t *find_cuts(struct arena *arena, const struct group_joined *joined, uint32_t loop,
                           uint32_t chunks)
{
    const struct ptx_block *body = body_of(joined, loop);
    uint32_t *cuts = arena_calloc(arena, chunks, sizeof *cuts), chunk = 0, seen = 0,
             end = body->first + body->count;
    bool of_stores;
    uint32_t each = count_marks(joined, loop, &of_stores) / chunks;
    for (uint32_t i = body->first; cuts && i < end && chunk + 1 < chunks; i++) {
        if (!is_mark(&joined->cfg->function->instructions[i], of_stores)) continue;
        if (!of_stores && seen == (chunk + 1) * each) cuts[chunk++] = i;
        seen++;
        if (of_stores && seen == (chunk + 1) * each) cuts[chunk++] = i + 1;
    }
    if (cuts) cuts[chunks - 1] = end;
    return cuts;
}

static uint32_t part_of(const struct group_joined *joined, uint32_t loop, uint32_t instruction)
{
    uint32_t chunk = 0;
    while (instruction >= joined->cuts[loop][chunk]) chunk++;
    return chunk;
}

static bool is_in_loop(const struct group_joined *joined, uint32_t loop, uint32_t instruction)
{
    return joined->segments[joined->cfg->block_of[instruction]] == 2 * loop + 1;
}

/* Of one iteration of both members, the chunks of q that come before later chunks of p touch nothing of
 * theirs. */
static bool keeps_conflicts(struct joining *joining, const struct group_join *join, uint32_t loop, uint32_t p,
                            uint32_t q)
{
    struct space *space = joining->space;
    const struct group_joined *first = &join->members[p - join->first_member];
    const struct group_joined *second = &join->members[q - join->first_member];
    for (uint32_t i = 0; i < space->members[p].summary->access_count; i++)
        for (uint32_t j = 0; j < space->members[q].summary->access_count; j++) {
            const struct placed_access *a = &space->accesses[p][i], *b = &space->accesses[q][j];
            if (!placed_writes(a) && !placed_writes(b)) continue;
            if (!is_in_loop(first, loop, a->access->instruction) ||
                !is_in_loop(second, loop, b->access->instruction))
                continue;
            if (part_of(first, loop, a->access->instruction) <= part_of(second, loop, b->access->instruction))
                continue;
            if (space_overlap(space, a, b) != OVERLAP_NONE && joining_meet_in_iteration(joining, a, b))
                return false;
        }
    return true;
}

static bool keeps_forwards(const struct group *group, const struct group_join *join, uint32_t loop)
{
    for (uint32_t i = 0; i < group->forward_count; i++) {
        const struct group_forward *forward = &group->forwards[i];
        if (group_join_of(group, forward->to_member) != join || !group_is_repeated(group, forward)) continue;
        const struct group_joined *from = &join->members[forward->from_member - join->first_member];
        const struct group_joined *to = &join->members[forward->to_member - join->first_member];
        if (forward->distance || !is_in_loop(to, loop, forward->to_instruction)) continue;
        if (part_of(from, loop, forward->from_instruction) > part_of(to, loop, forward->to_instruction))
            return false;
    }
    return true;
}

static uint32_t count_chunks(const struct group_join *join, uint32_t loop)
{
    uint32_t chunks = 0;
    bool of_stores;
    if (!join->has_same_trip_count[loop]) return 1;
    for (uint32_t i = 0; i < join->member_count; i++) {
        const struct group_joined *joined = &join->members[i];
        if (joined->headers[loop] == GROUP_NO_LOOP) continue;
        if (joined->headers[loop] != joined->latches[loop]) return 1;
        chunks = (uint32_t)overlap_common_divisor(count_marks(joined, loop, &of_stores), chunks);
    }
    return chunks ? chunks : 1;
}

static bool cut_loop(struct joining *joining, struct group_join *join, uint32_t loop)
{
    uint32_t chunks = join->chunks[loop] = count_chunks(join, loop);
    for (uint32_t i = 0; chunks > 1 && i < join->member_count; i++) {
        if (join->members[i].headers[loop] == GROUP_NO_LOOP) continue;
        join->members[i].cuts[loop] = find_cuts(joining->arena, &join->members[i], loop, chunks);
        if (!join->members[i].cuts[loop]) return false;
    }
    bool is_kept = chunks == 1 || keeps_forwards(joining->group, join, loop);
    for (uint32_t p = 0; p < join->member_count && chunks > 1; p++)
        for (uint32_t q = p + 1; q < join->member_count && is_kept; q++)
            is_kept = keeps_conflicts(joining, join, loop, join->first_member + p, join->first_member + q);
    if (!is_kept) join->chunks[loop] = 1;
    return true;
}

static bool names_register(const struct ptx_operand *operand, int32_t reg)
{
    if (operand->kind != PTX_OPERAND_ADDRESS && operand->reg == reg) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (names_register(&operand->elements[e], reg)) return true;
    return false;
}

/* Nothing that the member does behind the instruction, in an iteration, may set the register. */
static bool is_kept(const struct joining *joining, uint32_t member, uint32_t instruction, int32_t reg)
{
    const struct group_join *join = group_join_of(joining->group, member);
    const struct group_joined *joined = &join->members[member - join->first_member];
    const struct ptx_cfg *cfg = joined->cfg;
    uint32_t loop = joined->segments[cfg->block_of[instruction]] / 2;
    for (uint32_t i = 0; i < cfg->function->instruction_count; i++) {
        const struct ptx_instruction *other = &cfg->function->instructions[i];
        if (i == instruction || !other->operand_count || !is_in_loop(joined, loop, i)) continue;
        if (names_register(&other->operands[0], reg) && joining_follows(joining, member, instruction, i))
            return false;
    }
    return true;
}

/* What passes within an iteration. A register that is copied in a branch waits for its load there: ptxas then
 * moved no load before the stores of the iteration. */
static bool is_in_place(const struct joining *joining, const struct group_forward *forward)
{
    if (forward->distance || !group_is_repeated(joining->group, forward)) return false;
    const struct ptx_function *function = joining->space->members[forward->from_member].summary->function;
    const struct ptx_instruction *from = &function->instructions[forward->from_instruction];
    const struct ptx_operand *value = &from->operands[ptx_is_store(from) ? 1 : 0];
    uint32_t count = value->kind == PTX_OPERAND_VECTOR ? value->element_count : 1;
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *element = value->kind == PTX_OPERAND_VECTOR ? &value->elements[e] : value;
        if (element->kind != PTX_OPERAND_REGISTER ||
            !is_kept(joining, forward->from_member, forward->from_instruction, element->reg))
            return false;
    }
    return true;
}

bool join_cut(struct joining *joining)
{
    struct group *group = joining->group;
    for (uint32_t i = 0; i < group->forward_count; i++)
        group->forwards[i].in_place = is_in_place(joining, &group->forwards[i]);
    for (uint32_t i = 0; i < joining->group->join_count; i++) {
        struct group_join *join = &joining->group->joins[i];
        join->chunks = arena_calloc(joining->arena, join->loop_count, sizeof *join->chunks);
        for (uint32_t m = 0; m < join->member_count; m++)
            join->members[m].cuts = arena_calloc(joining->arena, join->loop_count, sizeof(uint32_t *));
        for (uint32_t loop = 0; loop < join->loop_count; loop++)
            if (!join->chunks || !join->members[0].cuts || !cut_loop(joining, join, loop)) return false;
    }
    return true;
}
