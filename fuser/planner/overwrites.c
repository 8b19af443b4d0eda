/* SPDX-License-Identifier: Apache-2.0
 * See overwrites.h. */
#include "fuser/planner/overwrites.h"

#include "fuser/fusion/box.h"
#include "fuser/planner/deferred.h"
#include "fuser/planner/draft.h"
#include "fuser/planner/redirect.h"

/* --- what a use overwrites --- */

static bool meets(struct search *search, uint32_t launch, const struct array_range *range, bool only_reads)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    for (uint32_t b = 0; b < bound.summary->base_count; b++) {
        const struct access_base *base = &bound.summary->bases[b];
        struct array_range reach = array_range_reach(&bound, b);
        if ((base->is_read || (base->is_written && !only_reads)) && array_range_meet(&reach, range))
            return true;
    }
    return false;
}

static bool is_renamed(struct search *search, const struct search_group *group,
                       const struct array_range *range)
{
    for (uint32_t i = 0; group->group && i < group->group->rename_count; i++) {
        struct array_range renamed = redirect_range(search, group, i, group->launches[0]);
        if (array_range_meet(&renamed, range)) return true;
    }
    return false;
}

static bool meets_passed(struct search *search, const struct search_group *group,
                         const struct array_range *range)
{
    for (uint32_t s = 0; s < group->step_count; s++)
        if (group->roles[s] != PLAN_MEMBER && meets(search, group->launches[s], range, false)) return true;
    return false;
}

/* Where it lies in the use that begins with this launch. */
static struct array_range range_of(struct search *search, const struct overwrite *item, uint32_t first)
{
    struct bound_launch bound = pairs_launch(search->pairs, first + item->step);
    return array_range_behind(&bound, item->argument_offset, item->from, (int64_t)item->bytes);
}

static void add(struct overwrites *overwrites, const struct overwrite *item)
{
    if (overwrites->count < OVERWRITES_MOST) overwrites->items[overwrites->count++] = *item;
}

static void add_stale(struct search *search, const struct search_group *group, struct overwrites *overwrites)
{
    const struct stale *stale = &group->deferred->stale;
    for (uint32_t i = 0; i < stale->count; i++) {
        const struct stale_range *range = &stale->ranges[i];
        const struct overwrite item = {.step = group->member_steps[range->range.writer],
                                       .argument_offset = range->argument_offset,
                                       .from = range->from,
                                       .bytes = (uint64_t)(range->range.to - range->range.from),
                                       .written = range->written,
                                       .is_complete = range->is_complete,
                                       .stale = i};
        /* In the program's arrays: range->range may be in a piece of an allocation. */
        const struct array_range at = range_of(search, &item, group->launches[0]);
        if (!meets_passed(search, group, &at)) add(overwrites, &item);
    }
}

static uint64_t extent(const struct group_box *box)
{
    return ((uint64_t)(box->layers - 1) * box->layer_rows + box->rows - 1) * box->row_pitch + box->width;
}

/* What the step writes through the base. */
static void add_boxes(struct search *search, const struct search_group *group, uint32_t step, uint32_t base,
                      struct overwrites *overwrites)
{
    struct group_box boxes[REDIRECT_BOXES];
    struct bound_launch bound = pairs_launch(search->pairs, group->launches[step]);
    const struct access_base *of = &bound.summary->bases[base];
    if (!array_range_is_known(of, &bound.bindings[base])) return;
    uint32_t count = redirect_boxes(search, group->launches[step], base, boxes);
    for (uint32_t i = 0; i < count; i++) {
        struct overwrite item = {.step = step,
                                 .argument_offset = of->argument_offset,
                                 .from = of->from + boxes[i].from,
                                 .bytes = extent(&boxes[i]),
                                 .written = boxes[i],
                                 .is_complete = extent(&boxes[i]) == box_bytes(&boxes[i]),
                                 .stale = OVERWRITES_NOT_STALE};
        struct array_range range = {.array = bound.bindings[base].array,
                                    .from = bound.bindings[base].offset + item.from};
        range.to = range.from + (int64_t)item.bytes;
        item.written.from = 0;
        bool is_read = is_renamed(search, group, &range);
        for (uint32_t s = 0; s <= step && !is_read; s++)
            is_read = meets(search, group->launches[s], &range, true);
        if (!is_read) add(overwrites, &item);
    }
}

static void find(struct search *search, const struct search_group *group, struct overwrites *overwrites)
{
    for (uint32_t s = 0; s < group->step_count; s++)
        if (group->roles[s] != PLAN_MEMBER && !draft_may_stand_by(search, group->launches[s])) return;
    if (group->deferred) add_stale(search, group, overwrites);
    for (uint32_t s = 0; s < group->step_count; s++) {
        struct bound_launch bound = pairs_launch(search->pairs, group->launches[s]);
        for (uint32_t b = 0; b < bound.summary->base_count; b++)
            if (bound.summary->bases[b].is_written) add_boxes(search, group, s, b, overwrites);
    }
}

static struct overwrites *overwrites_of(struct search *search, struct search_group *group)
{
    if (group->overwrites) return group->overwrites;
    group->overwrites = arena_calloc(search->arena, 1, sizeof *group->overwrites);
    if (group->overwrites) find(search, group, group->overwrites);
    return group->overwrites;
}

/* --- and what of it was stale --- */

static bool is_same(const struct search_cover *a, const struct search_cover *b)
{
    return a->by_group == b->by_group && a->of_group == b->of_group && a->by == b->by && a->of == b->of &&
           a->distance == b->distance;
}

/* One that has no room is none: its range is materialised. */
static bool note(struct search *search, const struct search_cover *cover)
{
    for (uint32_t i = 0; i < search->cover_count; i++)
        if (is_same(&search->covers[i], cover)) return true;
    if (search->cover_count == search->cover_capacity) {
        uint32_t capacity = 2 * search->cover_capacity + 16;
        struct search_cover *more =
            arena_grow(search->arena, search->covers, search->cover_count, capacity, sizeof *more);
        if (!more) return false;
        search->covers = more;
        search->cover_capacity = capacity;
    }
    search->covers[search->cover_count++] = *cover;
    return true;
}

/* Both counted from the first byte of the range that is overwritten. */
static bool boxes_of(const struct search_cover *cover, struct group_box *left, struct group_box *written)
{
    *left = *stale_left(&cover->of_group->deferred->stale.ranges[cover->of]);
    *written = cover->by_group->overwrites->items[cover->by].written;
    written->from -= cover->distance;
    return left->width && written->width;
}

static bool is_cover(const struct search_cover *cover)
{
    struct group_box left, written;
    const struct overwrite *by = &cover->by_group->overwrites->items[cover->by];
    bool is_own = cover->by_group == cover->of_group && by->stale == cover->of && !cover->distance;
    return is_own || (boxes_of(cover, &left, &written) && box_covers(&written, &left));
}

/* What is stale and overwritten by whoever overwrites most of it. */
static void note_part(const struct search_cover *cover)
{
    struct group_box left, written, meet;
    struct group_box *noted = &cover->of_group->deferred->overwritten[cover->of];
    if (!boxes_of(cover, &left, &written) || !box_meet(&left, &written, &meet)) return;
    if (2 * box_bytes(&meet) < box_bytes(&left)) return;
    if (!noted->width || !box_meet(noted, &meet, noted)) *noted = meet;
}

static bool contains(const struct array_range *outer, const struct array_range *inner)
{
    return outer->from <= inner->from && inner->to <= outer->to;
}

bool overwrites_meet(struct search *search, struct search_group *by, uint32_t first,
                     const struct overwrites_stale *stale)
{
    struct overwrites *overwrites = overwrites_of(search, by);
    for (uint32_t i = 0; overwrites && i < overwrites->count; i++) {
        struct overwrite *item = &overwrites->items[i];
        const struct array_range range = range_of(search, item, first);
        if (range.array != stale->range.array) continue;
        const struct search_cover cover = {.by_group = by,
                                           .of_group = stale->group,
                                           .by = i,
                                           .of = stale->index,
                                           .distance = stale->range.from - range.from};
        bool is_whole = item->is_complete && contains(&range, &stale->range);
        if (is_whole || (is_cover(&cover) && note(search, &cover))) return item->is_used = true;
        note_part(&cover);
    }
    return false;
}
