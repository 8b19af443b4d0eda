/* SPDX-License-Identifier: Apache-2.0
 * Decides a group: space and remaps (place.c), then what forwarding makes of the members' accesses
 * (forward.c). */
#include "fuser/access/overlap.h"
#include "fuser/access/regrid.h"
#include "fuser/fusion/block_tile.h"
#include "fuser/fusion/forward.h"
#include "fuser/fusion/inter_block.h"
#include "fuser/fusion/last_block.h"
#include "fuser/fusion/rename.h"
#include "fuser/fusion/reuse.h"
#include "fuser/fusion/traffic.h"

#include <string.h>

/* Operations of isl (pivots of a tableau): some seconds at worst. */
enum { FORWARD_OPERATIONS = 500000, EXIT_OPERATIONS = 100000 };

/* What decides when a loop ends is written by no member: the loop would wait for another thread. */
static const char *loop_refusal(struct arena *arena, const struct bound_launch *members,
                                uint32_t member_count)
{
    uint32_t load, write;
    for (uint32_t m = 0; m < member_count; m++)
        for (uint32_t other = 0; other < member_count; other++)
            if (overlap_ends_loop(&members[m], &members[other], &load, &write))
                return arena_printf(
                    arena, "a loop of kernel %s ends by what line %u loads, and kernel %s may write that",
                    members[m].summary->function->name, members[m].summary->accesses[load].line,
                    members[other].summary->function->name);
    return NULL;
}

/* What is added up in an open order is one member's alone. */
static const char *order_refusal(struct arena *arena, const struct bound_launch *members,
                                 uint32_t member_count)
{
    uint32_t of_p, of_q;
    for (uint32_t p = 0; p < member_count; p++)
        for (uint32_t q = p + 1; q < member_count; q++)
            if (overlap_unordered(&members[p], &members[q], &of_p, &of_q))
                return arena_printf(
                    arena,
                    "a floating-point atomic, whose order is open: kernel %s line %u and "
                    "kernel %s line %u may touch the same bytes",
                    members[p].summary->function->name, members[p].summary->accesses[of_p].line,
                    members[q].summary->function->name, members[q].summary->accesses[of_q].line);
    return NULL;
}

/* What ran one after the other, and would run at once. */
static const char *grid_refusal(struct arena *arena, struct memo *memo, const struct bound_launch *members,
                                uint32_t member_count)
{
    for (uint32_t m = 0; m < member_count; m++)
        if (members[m].summary->is_regridded && !regrid_is_apart(memo, &members[m]))
            return arena_printf(arena, "an iteration of kernel %s may touch what another one writes",
                                members[m].summary->function->name);
    return NULL;
}

static const char *member_refusal(struct arena *arena, const struct bound_launch *members,
                                  uint32_t member_count)
{
    if (!member_count) return "a group needs a member";
    for (uint32_t member = 0; member < member_count; member++) {
        const struct access_summary *summary = members[member].summary;
        const char *why = summary->refusal     ? summary->refusal
                          : summary->no_member ? summary->no_member
                                               : summary->no_whole_block;
        if (why) return arena_printf(arena, "kernel %s cannot be a member: %s", summary->function->name, why);
    }
    return NULL;
}

static const char *refusal_together(struct arena *arena, struct memo *memo,
                                    const struct bound_launch *members, uint32_t member_count)
{
    const char *why = loop_refusal(arena, members, member_count);
    if (!why) why = order_refusal(arena, members, member_count);
    return why ? why : grid_refusal(arena, memo, members, member_count);
}

static void copy_space(struct group *group, struct space *space)
{
    if (!group->stage_count) {
        memcpy(group->grid, space->grid, sizeof group->grid);
        memcpy(group->block, space->block, sizeof group->block);
    }
    for (uint32_t member = 0; member < group->member_count; member++) {
        group->remaps[member] = space->remaps[member];
        space->remaps[member].coordinates = NULL; /* the group owns them now */
        space->remaps[member].own = space->remaps[member].sparse = NULL;
    }
}

static bool array_is_written(const struct group *group, const struct array_binding *binding)
{
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct bound_launch *launch = &group->members[member];
        for (uint32_t i = 0; i < launch->summary->access_count; i++) {
            const struct access *access = &launch->summary->accesses[i];
            const struct array_binding *other = &launch->bindings[access->base];
            if (access->kind == ACCESS_READ) continue;
            if (other->array == binding->array || (!other->is_plain && !binding->is_plain)) return true;
        }
    }
    return false;
}

static bool is_noncoherent(const struct ptx_instruction *instruction)
{
    return ptx_is_load(instruction) && ptx_has_modifier(instruction, PTX_MOD_NC);
}

static bool find_demotes(struct group *group)
{
    uint32_t capacity = 0;
    for (uint32_t member = 0; member < group->member_count; member++)
        capacity += group->members[member].summary->access_count;
    group->demote_count = 0;
    group->demotes = arena_calloc(group->arena, capacity + 1, sizeof *group->demotes);
    for (uint32_t member = 0; group->demotes && member < group->member_count; member++) {
        const struct bound_launch *launch = &group->members[member];
        for (uint32_t i = 0; i < launch->summary->access_count; i++) {
            const struct access *access = &launch->summary->accesses[i];
            if (!is_noncoherent(&launch->summary->function->instructions[access->instruction])) continue;
            if (!array_is_written(group, &launch->bindings[access->base])) continue;
            group->demotes[group->demote_count++] = (struct group_demote){member, access->instruction};
        }
    }
    return group->demotes;
}

static bool meet_in_block(struct space *space, uint32_t p, uint32_t q)
{
    for (uint32_t i = 0; i < space->members[p].summary->access_count; i++)
        for (uint32_t j = 0; j < space->members[q].summary->access_count; j++) {
            const struct placed_access *a = &space->accesses[p][i], *b = &space->accesses[q][j];
            if ((placed_writes(a) || placed_writes(b)) && space_overlap(space, a, b) == OVERLAP_BLOCK)
                return true;
        }
    return false;
}

/* An early-exit divergent member ends with a barrier, in the blocks that run it: here, all of them. */
static bool ends_with_barrier(const struct space *space, uint32_t member)
{
    const struct access_summary *summary = space->members[member].summary;
    return summary->is_exit_divergent && space->remaps[member].kind != REMAP_COARSENED &&
           !memcmp(summary->grid, space->grid, sizeof space->grid);
}

/* Members that are interleaved: a join's, or one alone. The one behind them. */
static uint32_t end_of_interleaved(const struct group *group, uint32_t member)
{
    const struct group_join *join = group_join_of(group, member);
    return join ? join->first_member + join->member_count : member + 1;
}

/* Of the members from this one on, whose space it is. Before a member, or a join, that meets, within a block, what ran after
 * the last barrier, or whose shared memory lies over that one's. Members of a join have theirs side by side, and meet in no block. */
static void find_barriers_from(struct group *group, struct space *space, uint32_t from)
{
    bool had_shared = false;
    for (uint32_t first = from, since = from, end; first < group->member_count; first = end) {
        end = end_of_interleaved(group, first);
        bool has_shared = false, is_needed = false;
        for (uint32_t member = first; member < end; member++) {
            has_shared |= group->members[member].summary->has_shared;
            group->is_tied |= group->members[member].summary->whole_block != NULL;
            for (uint32_t p = since; p < first && !is_needed; p++)
                is_needed = meet_in_block(space, p - from, member - from);
        }
        is_needed |= had_shared && has_shared;
        group->barriers[first] = is_needed;
        group->is_tied |= is_needed;
        had_shared = has_shared || (had_shared && !is_needed);
        if (is_needed) since = first;
        if (!ends_with_barrier(space, end - 1 - from)) continue;
        had_shared = false;
        since = end;
    }
}

static bool find_barriers(struct group *group, struct space *space)
{
    group->barriers = arena_calloc(group->arena, group->member_count + 1, sizeof *group->barriers);
    if (group->barriers) find_barriers_from(group, space, 0);
    return group->barriers;
}

static void measure(struct group *group)
{
    group->bytes_saved = traffic_saved(group);
    group->bytes_cached = traffic_cached(group);
    group->block_bytes = traffic_of_block(group);
}

void group_use_block_tiles(struct group *group, bool is_on)
{
    group->block_tile_count = is_on ? group->found_block_tiles : 0;
    group->tile_access_count = is_on ? group->found_tile_accesses : 0;
    measure(group);
}

static bool find_what_passes(struct group *group, struct space *space, isl_ctx *ctx)
{
    struct order *orders = arena_calloc(group->arena, group->member_count, sizeof *orders);
    bool done = orders && find_demotes(group);
    for (uint32_t member = 0; done && member < group->member_count; member++)
        done = order_open(&orders[member], group->arena, group->members[member].summary->function);
    struct joining *joining = done ? join_open(group, space) : NULL;
    struct quota quota = quota_begin(ctx, FORWARD_OPERATIONS);
    done = joining && forward_values(group, space, orders, joining);
    if (done && join_prune(joining)) done = forward_values(group, space, orders, joining);
    done = done && join_cut(joining) && find_barriers(group, space);
    quota_end(&quota);
    done = done && block_tile_choose(group, space);
    join_close(joining);
    quota = quota_begin(ctx, EXIT_OPERATIONS);
    done = done && (group->stage_count || exit_decide(group, space, orders));
    quota_end(&quota);
    done = done && reuse_list_cached(group, space);
    return done;
}

static bool decide(struct group *group, struct memo *memo)
{
    struct space space;
    struct placement_failure failure;
    group->remaps = arena_calloc(group->arena, group->member_count + 1, sizeof *group->remaps);
    if (!group->remaps) return false;
    group->refusal = refusal_together(group->arena, memo, group->members, group->member_count);
    if (group->refusal) return true;
    if (!rename_place_all(group, &space, memo, &failure)) return group->refusal;
    group->refusal = NULL;
    group->is_one_block = space.is_one_block;
    bool done = space.is_one_block ? find_demotes(group) && find_barriers(group, &space)
                                   : find_what_passes(group, &space, memo->ctx);
    copy_space(group, &space);
    group->found_block_tiles = group->block_tile_count;
    group->found_tile_accesses = group->tile_access_count;
    measure(group);
    space_clear(&space);
    return done;
}

static struct group *open_group(const struct bound_launch *members, uint32_t member_count)
{
    struct arena *arena = arena_create();
    struct group *group = arena ? arena_alloc(arena, sizeof *group) : NULL;
    if (!group) {
        arena_free(arena);
        return NULL;
    }
    group->arena = arena;
    group->members = members;
    group->member_count = member_count;
    group->refusal = member_refusal(arena, members, member_count);
    return group;
}

/* is_head: others come behind them, in the last block. */
static struct group *decide_members(struct memo *memo, const struct bound_launch *members,
                                    uint32_t member_count, bool is_head)
{
    struct group *group = open_group(members, member_count);
    if (!group) return NULL;
    group->last_first = is_head ? member_count : 0;
    group->is_tied = is_head;
    if (group->refusal || decide(group, memo)) return group;
    group_free(group);
    return NULL;
}

/* --- members that run in the last block --- */

/* As many elements, and what there were of them. */
static void *grown(struct arena *arena, const void *elements, size_t size, uint32_t had, uint32_t count)
{
    void *all = arena_calloc(arena, count + 1, size);
    if (all && elements) memcpy(all, elements, had * size);
    return all;
}

static bool grow(struct group *group, const struct bound_launch *tail, uint32_t tail_count)
{
    uint32_t had = group->member_count, count = had + tail_count;
    struct bound_launch *members = grown(group->arena, group->members, sizeof *members, had, count);
    if (!members) return false;
    memcpy(members + had, tail, tail_count * sizeof *members);
    group->members = members;
    group->remaps = grown(group->arena, group->remaps, sizeof *group->remaps, had, count);
    group->barriers = grown(group->arena, group->barriers, sizeof *group->barriers, had, count);
    if (!group->remaps || !group->barriers) return false;
    bool is_expanded = group->expansions, is_cut = group->cuts, has_unjoined = group->unjoined;
    if (is_expanded)
        group->expansions = grown(group->arena, group->expansions, sizeof *group->expansions, had, count);
    if (is_cut) group->cuts = grown(group->arena, group->cuts, sizeof *group->cuts, had, count);
    if (has_unjoined)
        group->unjoined = grown(group->arena, group->unjoined, sizeof *group->unjoined, had, count);
    group->member_count = count;
    return is_expanded == !!group->expansions && is_cut == !!group->cuts && has_unjoined == !!group->unjoined;
}

/* Its space is that of the tail alone. */
static bool add_tail(struct group *group, struct space *space, const struct bound_launch *tail,
                     uint32_t tail_count)
{
    if (!grow(group, tail, tail_count) || !find_demotes(group)) return false;
    for (uint32_t m = 0; m < tail_count; m++)
        group->remaps[group->last_first + m].kind = space->remaps[m].kind;
    find_barriers_from(group, space, group->last_first);
    measure(group);
    return true;
}

static uint32_t threads_of(const uint32_t block[3])
{
    return block[0] * block[1] * block[2];
}

/* Each is counted, in 31 bits. */
static bool counts_blocks(const struct group *group)
{
    return (double)group->grid[0] * group->grid[1] * group->grid[2] < INT32_MAX;
}

/* Why these do not run in the last block of the group, with their space opened where they do. */
static const char *tail_refusal(struct group *group, struct space *space, struct memo *memo,
                                const struct bound_launch *tail, uint32_t tail_count)
{
    const char *why = refusal_together(group->arena, memo, tail, tail_count);
    if (why) return why;
    if (!counts_blocks(group)) return "it has too many blocks to be counted";
    return last_block_open(space, memo, group->arena, tail, tail_count, threads_of(group->block),
                           &group->last_threads)
               ? NULL
               : "the launches behind the first ones have more threads than its last block can run";
}

struct group *group_decide_last_block(struct memo *memo, const struct bound_launch *members,
                                      uint32_t member_count, uint32_t last_first)
{
    const struct bound_launch *tail = members + last_first;
    uint32_t tail_count = member_count - last_first;
    struct space space;
    struct group *group = decide_members(memo, members, last_first, true);
    if (!group || group->refusal) return group;
    group->refusal = member_refusal(group->arena, tail, tail_count);
    if (!group->refusal) group->refusal = order_refusal(group->arena, members, member_count);
    if (!group->refusal) group->refusal = tail_refusal(group, &space, memo, tail, tail_count);
    if (group->refusal) return group;
    bool is_added = add_tail(group, &space, tail, tail_count);
    space_clear(&space);
    if (is_added) return group;
    group_free(group);
    return NULL;
}

struct group *group_decide(struct memo *memo, const struct bound_launch *members, uint32_t member_count)
{
    return decide_members(memo, members, member_count, false);
}

struct group *group_decide_inter_block(struct memo *memo, const struct bound_launch *members,
                                       uint32_t member_count)
{
    struct group *group = open_group(members, member_count);
    if (!group) return NULL;
    group->is_inter_block = group->is_tied = true;
    if (!group->refusal) group->refusal = refusal_together(group->arena, memo, members, member_count);
    if (!group->refusal) group->refusal = inter_block_refusal(group->arena, memo, members, member_count);
    if (group->refusal) return group;
    group->remaps = arena_calloc(group->arena, member_count + 1, sizeof *group->remaps);
    group->barriers = arena_calloc(group->arena, member_count + 1, sizeof *group->barriers);
    if (group->remaps && group->barriers && find_demotes(group)) {
        inter_block_place(group);
        measure(group);
        return group;
    }
    group_free(group);
    return NULL;
}
