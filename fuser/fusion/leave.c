/* SPDX-License-Identifier: Apache-2.0
 * Early returns in a group. When the threads that return early from one member have nothing to do in later
 * ones, they may leave the whole kernel; and a member that only those arrive at who pass its own test need
 * not test. What is left is straight-line code, in which ptxas can move loads up. */
#include "fuser/fusion/forward.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVE_OPERATIONS = 20000 }; /* of isl, for one member: with many divisions each is dear */

/* { F }: the fused threads that run the member, and those of them that take none of its early exits. */
struct passage {
    isl_set *run, *pass;
    bool *exits; /* the exits that decide, a flag an instruction; NULL: none known */
};

static __isl_give isl_set *run_set(const struct space *space, uint32_t member)
{
    return isl_map_domain(isl_map_copy(space->maps[member]));
}

/* The fused threads for which the member may write something. */
static __isl_give isl_set *effective_set(const struct space *space, uint32_t member)
{
    isl_set *threads = isl_set_copy(space->members[member].summary->effective);
    return isl_map_domain(isl_map_intersect_range(isl_map_copy(space->maps[member]), threads));
}

/* Threads of `set` that write something in a member after this one, or one that is joined with it, or are
 * waited for. */
static bool is_busy_later(const struct group *group, const struct space *space, uint32_t member,
                          __isl_keep isl_set *set)
{
    if (group->is_tied) return true;
    const struct group_join *join = group_join_of(group, member);
    for (uint32_t later = join ? join->first_member : member + 1; later < space->member_count; later++) {
        if (later == member) continue;
        isl_set *effective = effective_set(space, later);
        isl_bool disjoint = isl_set_is_disjoint(effective, set);
        isl_set_free(effective);
        if (disjoint != isl_bool_true) return true;
    }
    return false;
}

static bool find_passage(const struct space *space, uint32_t member, const struct order *order,
                         struct passage *passage)
{
    const struct access_summary *summary = space->members[member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct placed_access *placed = &space->accesses[member][i];
        isl_map *bytes = space->shapes[placed->shape].touch.bytes;
        if (!placed->access->is_once || !placed->access->domain_is_exact || !bytes) continue;
        if (!order_exits_decide(order, placed->access->instruction, passage->exits)) continue;
        passage->pass = isl_map_domain(isl_map_copy(bytes));
        return passage->pass;
    }
    return false;
}

/* Every thread of set is in other. */
static bool is_within(__isl_keep isl_set *set, __isl_keep isl_set *other)
{
    return isl_set_is_subset(set, other) == isl_bool_true;
}

/* They lie before all joined loops: where one is taken, no loop of the member is entered, and those who leave
 * the kernel do so before the next member begins. */
static bool come_first(const struct group *group, uint32_t member, uint32_t count, const bool *exits)
{
    const struct group_join *join = group_join_of(group, member);
    if (!join) return true;
    const struct group_joined *joined = &join->members[member - join->first_member];
    for (uint32_t i = 0; i < count; i++)
        if (exits[i] && (joined->segments[joined->cfg->block_of[i]] > 0 || joined->is_prologue_delayed[0]))
            return false;
    return true;
}

static void add_exits(struct group *group, const struct space *space, uint32_t member, const bool *exits,
                      enum group_exit_kind kind)
{
    uint32_t count = space->members[member].summary->function->instruction_count;
    for (uint32_t i = 0; i < count; i++)
        if (exits[i]) group->exits[group->exit_count++] = (struct group_exit){member, i, kind};
}

/* Decides the member's guard; takes and returns the threads that arrive. */
static __isl_give isl_set *decide_guard(const struct group *group, struct space *space, uint32_t member,
                                        __isl_take isl_set *arrive)
{
    struct remap *remap = &space->remaps[member];
    isl_set *run = run_set(space, member);
    remap->guard = REMAP_GUARD_SKIP;
    if (is_within(arrive, run)) {
        remap->guard = REMAP_GUARD_NONE;
    } else if (!remap_is_repeated(remap)) {
        isl_set *skip = isl_set_subtract(isl_set_copy(arrive), isl_set_copy(run));
        if (!is_busy_later(group, space, member, skip)) {
            remap->guard = REMAP_GUARD_LEAVE;
            arrive = isl_set_intersect(arrive, isl_set_copy(run));
        }
        isl_set_free(skip);
    }
    isl_set_free(run);
    return arrive;
}

struct leaving {
    isl_set *arrive, *run, *pass;
};

static void find_leaving_threads(const void *user, struct memo_found *found)
{
    const struct leaving *of = user;
    struct quota quota = quota_begin(isl_set_get_ctx(of->run), LEAVE_OPERATIONS);
    isl_set *leave = isl_set_intersect(isl_set_copy(of->arrive), isl_set_copy(of->run));
    found->relation = isl_map_from_range(isl_set_subtract(leave, isl_set_copy(of->pass)));
    quota_end(&quota);
}

/* Threads that arrive and run the member, but take one of its early exits; NULL: isl gave up. */
static __isl_give isl_set *find_leaving(struct space *space, uint32_t member, __isl_keep isl_set *arrive,
                                        __isl_keep isl_set *pass)
{
    const struct leaving of = {arrive, run_set(space, member), pass};
    isl_map *named[] = {isl_map_from_range(isl_set_copy(arrive)), isl_map_from_range(isl_set_copy(of.run)),
                        isl_map_from_range(isl_set_copy(pass))};
    uint32_t number = memo_number(space->memo, named[2]);
    struct memo_question question = memo_question_of(space->memo, MEMO_LEAVE, named[0], named[1], number);
    if (!number) question.words[0] = 0;
    struct memo_found found = memo_ask(space->memo, &question, find_leaving_threads, &of);
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) isl_map_free(named[i]);
    isl_set_free(of.run);
    return found.relation ? isl_map_range(found.relation) : NULL;
}

static __isl_give isl_set *decide_exits(struct group *group, struct space *space, uint32_t member,
                                        const struct order *order, __isl_take isl_set *arrive)
{
    const struct ptx_function *function = space->members[member].summary->function;
    struct passage passage = {.exits = calloc(function->instruction_count + 1, sizeof(bool))};
    if (passage.exits && find_passage(space, member, order, &passage) &&
        come_first(group, member, function->instruction_count, passage.exits)) {
        isl_set *leave = find_leaving(space, member, arrive, passage.pass);
        if (isl_set_is_empty(leave) == isl_bool_true) {
            add_exits(group, space, member, passage.exits, GROUP_EXIT_NEVER);
        } else if (!is_busy_later(group, space, member, leave)) {
            add_exits(group, space, member, passage.exits, GROUP_EXIT_ALL);
            arrive = isl_set_coalesce(isl_set_subtract(arrive, isl_set_copy(leave)));
        }
        isl_set_free(leave);
    }
    isl_set_free(passage.pass);
    free(passage.exits);
    return arrive;
}

static __isl_give isl_set *all_threads(const struct space *space)
{
    isl_set *threads = NULL;
    for (uint32_t member = 0; member < space->member_count; member++)
        if (space->remaps[member].kind == REMAP_SAME) return run_set(space, member);
    struct access_summary whole = {0};
    memcpy(whole.grid, space->grid, sizeof whole.grid);
    memcpy(whole.block, space->block, sizeof whole.block);
    isl_map *same = remap_relation(space->memo, REMAP_SAME, space->grid, space->block, &whole);
    if (same) threads = isl_map_domain(same);
    return threads;
}

bool exit_decide(struct group *group, struct space *space, const struct order *orders)
{
    uint32_t capacity = 1;
    for (uint32_t member = 0; member < space->member_count; member++)
        capacity += space->members[member].summary->function->instruction_count;
    group->exits = arena_calloc(group->arena, capacity, sizeof *group->exits);
    if (!group->exits) return false;
    isl_set *arrive = all_threads(space);
    for (uint32_t member = 0; member < space->member_count; member++) {
        arrive = decide_guard(group, space, member, arrive);
        if (!remap_is_repeated(&space->remaps[member]))
            arrive = decide_exits(group, space, member, &orders[member], arrive);
    }
    isl_set_free(arrive);
    return true;
}
