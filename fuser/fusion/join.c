/* SPDX-License-Identifier: Apache-2.0
 * Finds the loops of each member that can be joined, and runs of members whose loops may be: see join.h. */
#include "fuser/fusion/joining.h"

#include "fuser/kernel/loops.h"

#include <string.h>

enum { JOIN_OPERATIONS = 500000 }; /* of isl, for all joins of a group */

/* --- loops of a member -----------------------------------------------------------------------------------
 */

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

/* How many threads wait there for each other. */
enum tie { TIE_BLOCK, TIE_WARP };

static bool is_tie(const struct ptx_instruction *instruction, enum tie tie)
{
    enum ptx_opcode_class class = ptx_opcode_info(instruction->opcode)->class;
    bool is_warp = class == PTX_CLASS_WARP ||
                   (class == PTX_CLASS_BARRIER && ptx_has_modifier(instruction, PTX_MOD_WARP));
    return tie == TIE_WARP ? is_warp : ptx_is_block_barrier(instruction);
}

static const struct ptx_instruction *find_tie(const struct ptx_cfg *cfg, uint32_t block, enum tie tie)
{
    const struct ptx_block *info = &cfg->blocks[block];
    for (uint32_t i = info->first; i < info->first + info->count; i++)
        if (is_tie(&cfg->function->instructions[i], tie)) return &cfg->function->instructions[i];
    return NULL;
}

static const struct ptx_instruction *find_tie_in_segment(const struct group_joined *joined, uint32_t segment,
                                                         enum tie tie)
{
    const struct ptx_instruction *found = NULL;
    for (uint32_t b = 0; b < joined->cfg->block_count && !found; b++)
        if (joined->segments[b] == segment) found = find_tie(joined->cfg, b, tie);
    return found;
}

/* The loop's iterations stay together: the block meets in them. */
static const struct ptx_instruction *find_barrier(const struct ptx_cfg *cfg, const struct loop_forest *forest,
                                                  int32_t loop)
{
    const struct ptx_instruction *found = NULL;
    for (uint32_t b = 0; b < cfg->block_count && !found; b++)
        if (loops_contains_block(forest, loop, b)) found = find_tie(cfg, b, TIE_BLOCK);
    return found;
}

static bool has_indirect_jump(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].opcode == PTX_OP_BRX) return true;
    return false;
}

static bool open_joined(struct arena *arena, const struct ptx_cfg *cfg, uint32_t loop_count,
                        struct group_joined *joined)
{
    *joined = (struct group_joined){.cfg = cfg,
                                    .segments = arena_calloc(arena, cfg->block_count, sizeof(uint32_t)),
                                    .headers = arena_calloc(arena, loop_count, sizeof(uint32_t)),
                                    .latches = arena_calloc(arena, loop_count, sizeof(uint32_t)),
                                    .shifts = arena_calloc(arena, loop_count, sizeof(uint32_t)),
                                    .is_prologue_delayed = arena_calloc(arena, loop_count, sizeof(bool))};
    for (uint32_t loop = 0; joined->headers && loop < loop_count; loop++)
        joined->headers[loop] = GROUP_NO_LOOP;
    return joined->segments && joined->headers && joined->latches && joined->shifts &&
           joined->is_prologue_delayed;
}

/* A member's loops that can be joined: fills joined, which has room for one at least and for as many as the
 * join has, and *loop_count. *barrier: in a loop that is passed over for it, NULL: in none. False when the
 * member cannot be in a join, or memory is out. */
static bool find_loops(struct arena *arena, const struct ptx_function *function, struct group_joined *joined,
                       uint32_t room, uint32_t *loop_count, const struct ptx_instruction **barrier)
{
    const char *reason = NULL;
    struct ptx_cfg *cfg = ptx_cfg_build(arena, function, &reason);
    struct dominators *dominators = cfg ? dominators_build(arena, cfg) : NULL;
    const struct loop_forest *forest = dominators ? loops_build(arena, dominators, &reason) : NULL;
    *loop_count = 0;
    *barrier = NULL;
    if (!forest || has_indirect_jump(function)) return false;
    if (forest->loop_count > room) room = forest->loop_count;
    unsigned char *seen = arena_calloc(arena, cfg->block_count, 1);
    uint32_t *stack = arena_calloc(arena, cfg->block_count + 1, sizeof *stack);
    if (!open_joined(arena, cfg, room + 1, joined) || !seen || !stack) return false;
    for (int32_t loop = 0; loop < (int32_t)forest->loop_count; loop++) {
        uint32_t header = forest->loops[loop].header;
        if (forest->loops[loop].parent != LOOPS_NONE || header == 0) continue; /* nothing leads to block 0 */
        const struct ptx_instruction *meeting = find_barrier(cfg, forest, loop);
        if (meeting) {
            *barrier = meeting;
            continue;
        }
        for (uint32_t b = 0; b < cfg->block_count; b++)
            if (loops_contains_block(forest, loop, b)) joined->segments[b] = 2 * *loop_count + 1;
        joined->headers[*loop_count] = header;
        joined->latches[(*loop_count)++] = loops_latch(forest, loop);
    }
    for (uint32_t loop = 0; loop < *loop_count; loop++)
        mark_reached(cfg, joined->headers[loop], 2 * loop + 2, joined->segments, seen, stack);
    return true;
}

/* --- joins -----------------------------------------------------------------------------------------------
 */

/* NULL, or why its loops cannot be joined with any. */
static const char *bar_of(const struct joining *joining, uint32_t member)
{
    const struct access_summary *summary = joining->space->members[member].summary;
    const struct remap *remap = &joining->space->remaps[member];
    if (remap_is_repeated(remap) || remap->kind == REMAP_CELLS) return "a thread runs several of its threads";
    return summary->is_exit_divergent ? "some of its threads may leave before a barrier that others wait at"
                                      : NULL;
}

static const char *at_line(const struct joining *joining, const struct ptx_instruction *instruction,
                           const char *why)
{
    return arena_printf(joining->arena, "line %u: %.*s \u2014 %s", instruction->line,
                        (int)instruction->text.length, instruction->text.text, why);
}

/* Describes a member for a join of so many loops (0: its first). NULL, or why it cannot be in it. */
static const char *describe_member(struct joining *joining, uint32_t member, struct group_joined *joined,
                                   uint32_t room, uint32_t *loop_count, const char **passed_over)
{
    const struct ptx_function *function = joining->space->members[member].summary->function;
    const struct ptx_instruction *barrier;
    const char *why = bar_of(joining, member);
    if (why) return why;
    if (!find_loops(joining->arena, function, joined, room, loop_count, &barrier))
        return "a loop that cannot be taken apart";
    *passed_over = barrier ? at_line(joining, barrier, "the block meets in the loop")
                           : "a loop that cannot be taken apart";
    return joining_describe(joining, member, joined) ? NULL : "out of memory";
}

static bool has_loops(const struct group_joined *joined)
{
    return joined->headers[0] != GROUP_NO_LOOP;
}

/* What all threads of a block or warp reach together, they reach together in the join. */
static const char *find_parted(const struct joining *joining, const struct group_join *join, uint32_t loop)
{
    uint32_t last = join->member_count;
    const struct ptx_instruction *tie = NULL;
    for (int kind = TIE_BLOCK; kind <= TIE_WARP && join->members[last].is_prologue_delayed[loop] && !tie;
         kind++)
        tie = find_tie_in_segment(&join->members[last], 2 * loop, (enum tie)kind);
    if (tie) return at_line(joining, tie, "threads meet in what would have to wait for the first iteration");
    for (uint32_t i = 0; i <= last && !tie; i++)
        tie = find_tie_in_segment(&join->members[i], 2 * loop + 1, TIE_WARP);
    for (uint32_t i = 1; i <= last && tie; i++)
        if (has_loops(&join->members[i]) &&
            !joining_has_same_trip_count(joining, join, join->first_member, join->first_member + i, loop))
            return at_line(joining, tie, "a warp meets in the loop, and the loops may go round unequally");
    return NULL;
}

/* Shared arrays of its members lie side by side: the members alternate in their use, without a barrier
 * between. */
static const char *find_shared(const struct joining *joining, const struct group_join *join)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i <= join->member_count; i++)
        bytes += access_shared_bytes(joining->space->members[join->first_member + i].summary);
    return bytes > GROUP_MOST_SHARED
               ? arena_printf(joining->arena,
                              "%llu bytes of shared memory at a time: a kernel may declare %d",
                              (unsigned long long)bytes, GROUP_MOST_SHARED)
               : NULL;
}

/* Takes the member into the join. NULL, or why not. */
static const char *extend_join(struct joining *joining, struct group_join *join, uint32_t member)
{
    struct group_joined *joined = &join->members[join->member_count];
    uint32_t loop_count = 0;
    const char *passed_over;
    const char *why = describe_member(joining, member, joined, join->loop_count, &loop_count, &passed_over);
    if (why) return why;
    if (loop_count && loop_count != join->loop_count)
        return arena_printf(joining->arena, "other loops: %u, not %u", loop_count, join->loop_count);
    for (uint32_t loop = 0; loop < join->loop_count; loop++) joined->shifts[loop] = joined[-1].shifts[loop];
    for (uint32_t p = join->first_member; p < member; p++)
        if (!joining_order(joining, join, p, member))
            return "an iteration would come before what it needs, or after what overwrites it";
    for (uint32_t loop = 0; loop < join->loop_count && !why; loop++) {
        if (!loop_count && joined->is_prologue_delayed[loop]) return passed_over;
        why = find_parted(joining, join, loop);
    }
    if (!why) why = find_shared(joining, join);
    join->member_count += !why;
    return why || loop_count ? why : passed_over;
}

static bool has_loop(const struct joining *joining, uint32_t member)
{
    return member < joining->space->member_count && joining->space->members[member].summary->has_loop;
}

/* Behind its last member with loops nothing need wait for them. */
static void trim_join(struct group_join *join)
{
    while (!has_loops(&join->members[join->member_count - 1])) join->member_count--;
}

/* The longest join that begins with this member. */
static bool find_join(struct joining *joining, uint32_t first, struct group_join *join)
{
    uint32_t count = joining->space->member_count;
    const char **unjoined = joining->group->unjoined, *passed_over;
    *join = (struct group_join){.first_member = first, .member_count = 1};
    if (!has_loop(joining, first) || first + 1 == count) return false;
    join->members = arena_calloc(joining->arena, count - first, sizeof *join->members);
    if (!join->members) return false;
    const char *why = describe_member(joining, first, join->members, 0, &join->loop_count, &passed_over);
    if (!why && !join->loop_count) why = passed_over;
    if (why && has_loop(joining, first + 1)) unjoined[first + 1] = why;
    if (why) return false;
    for (uint32_t member = first + 1; member < count; member++) {
        uint32_t before = join->member_count;
        why = extend_join(joining, join, member);
        if (has_loop(joining, member)) unjoined[member] = why;
        if (join->member_count == before) break;
    }
    trim_join(join);
    if (join->member_count < 2) return false;
    join->has_same_trip_count = arena_calloc(joining->arena, join->loop_count, sizeof(bool));
    for (uint32_t loop = 0; join->has_same_trip_count && loop < join->loop_count; loop++) {
        join->has_same_trip_count[loop] = true;
        for (uint32_t m = 1; m < join->member_count && join->has_same_trip_count[loop]; m++)
            join->has_same_trip_count[loop] =
                !has_loops(&join->members[m]) ||
                joining_has_same_trip_count(joining, join, first, first + m, loop);
    }
    return join->has_same_trip_count;
}

static void bar_all(struct joining *joining)
{
    for (uint32_t member = 1; member < joining->space->member_count; member++)
        if (has_loop(joining, member - 1) && has_loop(joining, member))
            joining->group->unjoined[member] = "members of the group meet within a block";
}

struct joining *join_open(struct group *group, struct space *space)
{
    struct joining *joining = arena_calloc(group->arena, 1, sizeof *joining);
    if (!joining) return NULL;
    *joining = (struct joining){.group = group, .space = space, .arena = group->arena};
    joining->accesses = arena_calloc(group->arena, space->member_count, sizeof *joining->accesses);
    group->joins = arena_calloc(group->arena, space->member_count, sizeof *group->joins);
    group->unjoined = arena_calloc(group->arena, space->member_count, sizeof *group->unjoined);
    if (!joining->accesses || !group->joins || !group->unjoined) return NULL;
    if (group->stage_count) return joining;
    if (space->reach != OVERLAP_SAME) {
        bar_all(joining);
        return joining;
    }
    struct quota quota = quota_begin(space->ctx, JOIN_OPERATIONS);
    for (uint32_t member = 0; member < space->member_count;) {
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
    for (uint32_t i = 0; used && i < count; i++) {
        const struct group_join *join = &group->joins[i];
        for (uint32_t m = 1; m < join->member_count && !used[i]; m++)
            if (has_loops(&join->members[m]))
                group->unjoined[join->first_member + m] = "no value would pass from iteration to iteration";
        if (used[i]) group->joins[kept++] = *join;
    }
    group->join_count = kept;
    return kept < count;
}
