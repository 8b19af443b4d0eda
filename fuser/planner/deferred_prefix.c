/* SPDX-License-Identifier: Apache-2.0
 * Launches that stand right before a group, and overwrite what the rematerialisation of its use before reads:
 * as further steps of the group, issued before the fused kernel, they wait until the group has arrived, whose
 * use drops that deferred store. */
#include "fuser/planner/deferred.h"

#include "fuser/planner/group_code.h"
#include "fuser/planner/measurements.h"

#include <string.h>

struct moving { /* of uses to the longer group */
    struct search *search;
    const struct search_group *from;
    struct search_group *to;
    struct hash128 key; /* situation of all steps */
    uint32_t length;    /* of the prefix */
    uint64_t uses;
    double lost_ns; /* gained by groups whose uses lie in prefixes */
    bool cuts;      /* a prefix would cut a use in two */
};

static bool situation(struct search *search, uint32_t first, uint32_t count, struct hash128 *key)
{
    uint32_t launches[SEARCH_MOST_STEPS];
    for (uint32_t i = 0; i < count; i++) launches[i] = first + i;
    return pairs_key(search->pairs, launches, count, key);
}

static struct search_group *lengthen(struct search *search, const struct search_group *group, uint32_t first,
                                     uint32_t length)
{
    struct search_group *longer = arena_calloc(search->arena, 1, sizeof *longer);
    if (!longer) return NULL;
    *longer = *group;
    longer->name = arena_printf(search->arena, "%s_after_%u", group->name, length);
    longer->bound = arena_calloc(search->arena, group->member_count, sizeof *longer->bound);
    longer->code = (struct codegen_result){0};
    longer->deferred = NULL;
    longer->overwrites = NULL;
    longer->uses = longer->largest_gap_ns = 0;
    memset(longer->gap_ns_sum, 0, sizeof longer->gap_ns_sum);
    longer->step_count = length + group->step_count;
    for (uint32_t i = 0; i < longer->step_count; i++) {
        longer->launches[i] = first - length + i;
        longer->roles[i] = i < length ? PLAN_BEFORE : group->roles[i - length];
    }
    for (uint32_t m = 0; longer->bound && m < group->member_count; m++) {
        longer->member_steps[m] = group->member_steps[m] + length;
        longer->bound[m] = pairs_launch(search->pairs, longer->launches[longer->member_steps[m]]);
    }
    return longer->name && longer->bound ? longer : NULL;
}

/* Replay issues the prefix when the deferred store of the use before has been dropped: nothing in it may see
 * that. What it touches of what this use leaves stale is stored instead (spare_passed). */
static bool may_wait_for_group(struct search *search, uint32_t first, uint32_t length)
{
    for (uint32_t i = first - length; i < first; i++)
        if (!draft_may_stand_by(search, i)) return false;
    return true;
}

/* Before the use at `first` stands the prefix, after the end of the use before, and cuts no use in two. */
static bool may_move(const struct moving *moving, uint32_t first, uint32_t end_before)
{
    struct search *search = moving->search;
    struct hash128 key;
    uint32_t begin = first - moving->length;
    if (first < moving->length || begin < end_before) return false;
    if (search->program->launches[begin].window != search->program->launches[first].window) return false;
    return situation(search, begin, moving->to->step_count, &key) && hash_equal(key, moving->key);
}

static void move(struct moving *moving, uint32_t first)
{
    struct search *search = moving->search;
    uint32_t begin = first - moving->length;
    moving->to->uses++;
    for (uint32_t i = 0; i < moving->to->step_count; i++) {
        uint32_t gap = search->program->launches[begin + i].gap_ns;
        search->group_of[begin + i] = moving->to;
        if (i == 0) continue;
        moving->to->gap_ns_sum[i] += gap;
        if (gap > moving->to->largest_gap_ns) moving->to->largest_gap_ns = gap;
    }
}

/* What the prefix's own groups gain in one use. */
static void count_lost(struct moving *moving, uint32_t first)
{
    for (uint32_t i = first - moving->length; i < first;) {
        const struct search_group *group = moving->search->group_of[i];
        bool is_use = group && group->is_kept;
        uint32_t steps = is_use ? group->step_count : 1;
        if (i + steps > first) moving->cuts = true;
        if (is_use) moving->lost_ns += group->projected.original_ns - group->projected.fused_ns;
        i += steps;
    }
}

/* Counts the uses that could be moved, or moves them. */
static void walk(struct moving *moving, bool is_move)
{
    struct search *search = moving->search;
    uint32_t end_before = 0;
    for (uint32_t i = 0; i < search->program->launch_count;) {
        const struct search_group *group = search->group_of[i];
        uint32_t steps = group && group->is_kept ? group->step_count : 1;
        if (group == moving->from && group->is_kept) {
            if (may_move(moving, i, end_before)) {
                if (is_move) move(moving, i);
                moving->uses += !is_move;
                if (!is_move) count_lost(moving, i);
            }
            end_before = i + steps;
        }
        i += steps;
    }
}

static void count_uses(struct search *search)
{
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->is_kept) search->groups[i]->uses = 0;
    for (uint32_t i = 0; i < search->program->launch_count;) {
        struct search_group *group = (struct search_group *)search->group_of[i];
        bool is_use = group && group->is_kept;
        if (is_use) group->uses++;
        i += is_use ? group->step_count : 1;
    }
    for (uint32_t i = 0; i < search->group_count; i++)
        if (search->groups[i]->is_kept && !search->groups[i]->uses) search->groups[i]->is_kept = false;
}

bool deferred_prefix(struct search *search, struct search_group *group, bool *has_moved)
{
    struct search_deferred *deferred = group->deferred;
    uint32_t length = deferred->prefix, first = deferred->prefix_at;
    struct moving moving = {.search = search, .from = group, .length = length};
    deferred->prefix = 0;
    deferred->prefix_is_tried = true;
    *has_moved = false;
    if (length + group->step_count > SEARCH_MOST_DEPENDENT || !may_wait_for_group(search, first, length))
        return true;
    moving.to = lengthen(search, group, first, length);
    if (!moving.to || !situation(search, first - length, moving.to->step_count, &moving.key)) return false;
    walk(&moving, false);
    double gain = (group->projected.fused_ns - deferred->projected.fused_ns) * (double)moving.uses;
    if (!moving.uses || moving.cuts || (!search->options->keeps_losing && gain <= moving.lost_ns))
        return true;
    if (measurements_refusal(search, moving.to, group->projected.original_ns)) return true;
    group_code_compile(search, moving.to);
    if (moving.to->code.error) {
        codegen_result_clear(&moving.to->code);
        return true;
    }
    if (!search_add_group(search, moving.to)) return false;
    walk(&moving, true);
    count_uses(search);
    *has_moved = true;
    return true;
}
