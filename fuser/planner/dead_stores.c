/* SPDX-License-Identifier: Apache-2.0
 * See dead_stores.h. */
#include "fuser/planner/dead_stores.h"

#include "fuser/fusion/stale.h"
#include "fuser/planner/draft.h"
#include "fuser/planner/profit.h"

enum { LOOK_AHEAD = 512 }; /* launches: what nobody has touched by then is dead */

/* It writes what may be most of the range; the rest can be stored. */
static bool may_overwrite(const struct array_range *writer, const struct array_range *range)
{
    int64_t from = writer->from > range->from ? writer->from : range->from,
            to = writer->to < range->to ? writer->to : range->to;
    return writer->array == range->array && 2 * (to - from) > range->to - range->from;
}

enum next { /* what comes first of the range */
            NEXT_NOTHING,
            NEXT_OVERWRITES,
            NEXT_TOUCHES
};

static enum next next_by_launch(struct search *search, uint32_t launch, const struct array_range *range)
{
    enum next next = NEXT_NOTHING;
    if (!draft_may_stand_by(search, launch)) return NEXT_TOUCHES; /* it need have no summary */
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    if (!bound.bindings) return NEXT_TOUCHES;
    for (uint32_t b = 0; b < bound.summary->base_count; b++) {
        const struct access_base *base = &bound.summary->bases[b];
        const struct array_range reach = array_range_reach(&bound, b);
        if ((!base->is_read && !base->is_written) || !array_range_meet(&reach, range)) continue;
        if (base->is_read || !base->is_bounded || !may_overwrite(&reach, range)) return NEXT_TOUCHES;
        next = NEXT_OVERWRITES;
    }
    return next;
}

static enum next next_by_event(const struct program_event *event, const struct array_range *range)
{
    const struct array_range touched = {.array = event->array, .from = event->from, .to = event->to};
    if (event->kind == PROGRAM_UNKNOWN) return NEXT_TOUCHES;
    if (event->array != range->array) return NEXT_NOTHING;
    if (event->kind == PROGRAM_FREES) return NEXT_OVERWRITES;
    return array_range_meet(&touched, range) ? NEXT_TOUCHES : NEXT_NOTHING;
}

/* The first event that comes after the launch before this one. */
static uint32_t first_event(const struct program *program, uint32_t launch)
{
    uint32_t low = 0, high = program->event_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (program->events[middle].before < launch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The launch that overwrites the range before anybody else touches it; launch_count: nobody does; UINT32_MAX: somebody does. */
static uint32_t overwriter(struct search *search, uint32_t from, const struct array_range *range)
{
    const struct program *program = search->program;
    uint32_t event = first_event(program, from), end = program->launch_count;
    bool is_cut = end - from > LOOK_AHEAD;
    if (is_cut) end = from + LOOK_AHEAD;
    for (uint32_t launch = from;; launch++) {
        for (; event < program->event_count && program->events[event].before <= launch; event++) {
            enum next next = next_by_event(&program->events[event], range);
            if (next != NEXT_NOTHING) return next == NEXT_OVERWRITES ? launch : UINT32_MAX;
        }
        if (launch == end) return program->launch_count;
        enum next next = next_by_launch(search, launch, range);
        if (next != NEXT_NOTHING) return next == NEXT_OVERWRITES ? launch : UINT32_MAX;
    }
}

/* What some member reads. */
static bool writes_inputs(struct search *search, const struct search_group *planned, uint32_t launch)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    for (uint32_t b = 0; b < bound.summary->base_count; b++) {
        const struct array_range written = array_range_reach(&bound, b);
        if (!bound.summary->bases[b].is_written) continue;
        for (uint32_t m = 0; m < planned->member_count; m++)
            for (uint32_t i = 0; i < planned->bound[m].summary->base_count; i++) {
                const struct array_range read = array_range_reach(&planned->bound[m], i);
                if (planned->bound[m].summary->bases[i].is_read && array_range_meet(&read, &written))
                    return true;
            }
    }
    return false;
}

/* What a rematerialisation may read stays as it was until then, or until shortly before (deferred_prefix.c). */
static bool has_inputs(struct search *search, const struct search_group *planned, uint32_t from,
                       uint32_t until)
{
    for (uint32_t launch = from; launch < until && until < search->program->launch_count; launch++)
        if (writes_inputs(search, planned, launch)) return until - launch <= SEARCH_PREFIX_MOST;
    return true;
}

/* What the member writes through the base is overwritten before anybody reads it. */
static bool is_dead_base(struct search *search, const struct search_group *planned, uint32_t member,
                         uint32_t base)
{
    const struct array_range range = array_range_reach(&planned->bound[member], base);
    uint32_t from = planned->launches[planned->step_count - 1] + 1;
    for (uint32_t s = 0; s < planned->step_count; s++)
        if (planned->roles[s] != PLAN_MEMBER &&
            next_by_launch(search, planned->launches[s], &range) != NEXT_NOTHING)
            return false;
    uint32_t until = overwriter(search, from, &range);
    return until != UINT32_MAX && has_inputs(search, planned, from, until);
}

/* A later member reads of it: what none does is a result (stale.h, rule 3). */
static bool is_handed_on(const struct search_group *planned, uint32_t member, uint32_t base)
{
    const struct array_range written = array_range_reach(&planned->bound[member], base);
    for (uint32_t m = member + 1; m < planned->member_count; m++)
        for (uint32_t i = 0; i < planned->bound[m].summary->base_count; i++) {
            const struct array_range read = array_range_reach(&planned->bound[m], i);
            if (planned->bound[m].summary->bases[i].is_read && array_range_meet(&read, &written)) return true;
        }
    return false;
}

static bool is_never(const struct search *search)
{
    return search->program->has_streams || search->options->stores_all;
}

struct hash128 dead_stores_name(struct search *search, const struct search_group *planned)
{
    uint64_t words[SEARCH_MOST_STEPS] = {0};
    for (uint32_t m = 0; m < planned->member_count && !is_never(search); m++)
        for (uint32_t b = 0; b < planned->bound[m].summary->base_count && b < 64; b++)
            if (planned->bound[m].summary->bases[b].is_written && is_handed_on(planned, m, b) &&
                is_dead_base(search, planned, m, b))
                words[m] |= UINT64_C(1) << b;
    return hash_bytes(words, sizeof words);
}

/* All that members write of the range is. */
static bool is_dead(struct search *search, const struct search_group *planned, const struct group *group,
                    const struct array_range *range)
{
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t b = 0; b < group->members[m].summary->base_count; b++)
            if (group->members[m].summary->bases[b].is_written &&
                array_range_holds(range, &group->members[m], b) &&
                (b >= 64 || !is_handed_on(planned, m, b) || !is_dead_base(search, planned, m, b)))
                return false;
    return true;
}

double dead_stores_ns(struct search *search, const struct search_group *planned, const struct group *group)
{
    struct stale stale;
    if (is_never(search)) return 0;
    stale_find(group, &stale);
    for (uint32_t i = 0; i < stale.count; i++)
        if (stale.ranges[i].is_stale)
            stale.ranges[i].is_stale = is_dead(search, planned, group, &stale.ranges[i].range);
    stale_restrict(group, &stale);
    if (!stale.rematerialisation) return 0;
    struct group *without = stale_group(group, &stale, search->arena);
    return without ? profit_saved_ns(search, planned, without) - profit_saved_ns(search, planned, group) : 0;
}
