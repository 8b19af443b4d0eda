/* SPDX-License-Identifier: Apache-2.0
 * See redirect.h. What is asked of a class is found once. */
#include "fuser/planner/redirect.h"

#include "fuser/access/array_range.h"
#include "fuser/fusion/box.h"
#include "fuser/kernel/pointer_use.h"
#include "fuser/kernel/variables.h"
#include "fuser/planner/draft.h"
#include "fuser/planner/verdict.h"

#include <isl/space.h>
#include <stdio.h>
#include <string.h>

enum {
    BETWEEN_MOST = 64,         /* launches between two uses */
    BOXES_OPERATIONS = 200000, /* of isl, for a base */
    BYTES_OPERATIONS =
        10000, /* for the bytes of an access; those of boxes took 3,700 at most in twenty programs */
};

struct redirect { /* of a base of a class */
    bool is_asked, may_move, has_boxes;
    uint32_t box_count;
    struct group_box boxes[REDIRECT_BOXES];
};

static struct redirect *redirect_of(struct search *search, uint32_t launch, uint32_t base)
{
    const struct launch_class *class = search_class(search, launch);
    if (!search->redirects)
        search->redirects =
            arena_calloc(search->arena, search->classes->count + 1, sizeof *search->redirects);
    if (!search->redirects) return NULL;
    struct redirect **of = &search->redirects[class->id];
    if (!*of) *of = arena_calloc(search->arena, class->summary->base_count + 1, sizeof **of);
    return *of ? &(*of)[base] : NULL;
}

/* Sums (shift.h) have words of their own, which are made of the pointer. */
static bool has_sums(const struct access_summary *summary)
{
    for (uint32_t b = 0; b < summary->base_count; b++)
        if (summary->bases[b].kind == ACCESS_BASE_ARGUMENT &&
            summary->bases[b].argument_offset >=
                variables_offset(summary->function, summary->variables.count))
            return true;
    return false;
}

static bool is_shaping(const struct access_summary *summary, uint32_t offset)
{
    for (uint32_t w = 0; w < summary->word_count; w++)
        if (summary->words[w].offset < offset + 8 &&
            offset < summary->words[w].offset + summary->words[w].size)
            return true;
    return false;
}

static bool find_may_move(const struct access_summary *summary, uint32_t base)
{
    const struct access_base *of = &summary->bases[base];
    if (of->kind != ACCESS_BASE_ARGUMENT || !of->is_bounded || has_sums(summary)) return false;
    for (uint32_t b = 0; b < summary->base_count; b++)
        if (b != base && summary->bases[b].kind == ACCESS_BASE_ARGUMENT &&
            summary->bases[b].argument_offset == of->argument_offset)
            return false;
    return !is_shaping(summary, of->argument_offset) &&
           pointer_use_is_address(summary->function, of->argument_offset);
}

bool redirect_may_move(struct search *search, uint32_t launch, uint32_t base)
{
    struct redirect *known = redirect_of(search, launch, base);
    if (!known) return false;
    if (!known->is_asked) known->may_move = find_may_move(search_class(search, launch)->summary, base);
    known->is_asked = true;
    return known->may_move;
}

/* From the first byte of the hull on. */
static __isl_give isl_set *read_bytes(const struct bound_launch *launch, const struct access *access)
{
    char text[80];
    int64_t first = launch->bindings[access->base].offset + launch->summary->bases[access->base].from;
    isl_set *bytes = array_range_bytes(launch, access);
    if (!bytes) return NULL;
    snprintf(text, sizeof text, "{ [x] -> [x - %lld] }", (long long)first);
    bytes = isl_set_apply(bytes, isl_map_read_from_str(isl_set_get_ctx(bytes), text));
    return isl_set_coalesce(isl_set_compute_divs(bytes));
}

/* Every other byte of rows, as of a red-black sweep, is found at a price, and is no box. */
static __isl_give isl_set *bytes_of(isl_ctx *ctx, const struct bound_launch *launch,
                                    const struct access *access)
{
    struct quota quota = quota_begin(ctx, BYTES_OPERATIONS);
    isl_set *bytes = read_bytes(launch, access);
    quota_end(&quota);
    return bytes;
}

static bool is_known_box(const struct redirect *known, const struct group_box *box)
{
    for (uint32_t i = 0; i < known->box_count; i++)
        if (!memcmp(&known->boxes[i], box, sizeof *box)) return true;
    return false;
}

/* Rows of the one end where those of the other begin. */
static bool join(struct group_box *box, const struct group_box *next)
{
    bool is_like = box->row_pitch == next->row_pitch && box->rows == next->rows &&
                   box->layers == next->layers && box->layer_rows == next->layer_rows && box->rows > 1;
    if (!is_like || box->from + (int64_t)box->width != next->from ||
        box->width + next->width > box->row_pitch)
        return false;
    box->width += next->width;
    return true;
}

static bool join_any(struct redirect *known, const struct group_box *box)
{
    for (uint32_t i = 0; i < known->box_count; i++) {
        struct group_box before = *box;
        if (join(&known->boxes[i], box)) return true;
        if (!join(&before, &known->boxes[i])) continue;
        known->boxes[i] = before;
        return true;
    }
    return false;
}

static bool add_box(isl_ctx *ctx, struct redirect *known, const struct bound_launch *launch,
                    const struct access *access)
{
    struct group_box box = {0}, plain;
    if (!access->address_is_exact || !access->domain_is_exact) return false;
    isl_set *bytes = bytes_of(ctx, launch, access);
    bool is_box = bytes && box_of(bytes, &plain);
    isl_set_free(bytes);
    if (!is_box || plain.from < 0) return false;
    /* the bytes between its members stay zero, as boxes are compared whole */
    box.from = plain.from, box.width = plain.width, box.row_pitch = plain.row_pitch;
    box.rows = plain.rows, box.layers = plain.layers, box.layer_rows = plain.layer_rows;
    if (is_known_box(known, &box) || join_any(known, &box)) return true;
    if (known->box_count == REDIRECT_BOXES) return false;
    known->boxes[known->box_count++] = box;
    return true;
}

static void find_boxes(struct search *search, struct redirect *known, uint32_t launch, uint32_t base)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    isl_ctx *ctx = search->pairs->memo.ctx;
    struct quota quota = quota_begin(ctx, BOXES_OPERATIONS);
    bool are_known = bound.bindings && bound.summary->bases[base].is_bounded;
    for (uint32_t i = 0; are_known && i < bound.summary->access_count; i++) {
        const struct access *access = &bound.summary->accesses[i];
        if (access->base == base && access->kind != ACCESS_READ)
            are_known = add_box(ctx, known, &bound, access);
    }
    if (!are_known) known->box_count = 0;
    quota_end(&quota);
}

uint32_t redirect_boxes(struct search *search, uint32_t launch, uint32_t base,
                        struct group_box boxes[REDIRECT_BOXES])
{
    struct redirect *known = redirect_of(search, launch, base);
    if (!known) return 0;
    if (!known->has_boxes) find_boxes(search, known, launch, base);
    known->has_boxes = true;
    memcpy(boxes, known->boxes, sizeof known->boxes);
    return known->box_count;
}

/* --- chains --- */

struct array_range redirect_range(struct search *search, const struct search_group *group, uint32_t index,
                                  uint32_t first)
{
    const struct group_rename *rename = &group->verdict->renames[index];
    struct bound_launch writer = pairs_launch(search->pairs, first + group->member_steps[rename->member]);
    return array_range_behind(&writer, rename->argument_offset, rename->from, (int64_t)rename->bytes);
}

/* What it writes beside the group's own box is copied. */
static bool may_write(struct search *search, const struct group_rename *rename, uint32_t launch,
                      uint32_t base, int64_t distance, uint64_t *copies)
{
    struct group_box boxes[REDIRECT_BOXES];
    if (!rename->is_partial) return true;
    uint32_t count = redirect_boxes(search, launch, base, boxes);
    for (uint32_t i = 0; i < count; i++) {
        boxes[i].from += distance;
        *copies += !box_covers(&rename->written, &boxes[i]);
    }
    return count;
}

/* No member touches what the range has been widened by: to the members it is one array as it was. */
static bool is_free(struct search *search, const struct search_group *group, uint32_t first,
                    const struct array_range *was, const struct array_range *range)
{
    for (uint32_t m = 0; m < group->member_count; m++) {
        struct bound_launch member = pairs_launch(search->pairs, first + group->member_steps[m]);
        for (uint32_t b = 0; b < member.summary->base_count; b++) {
            struct array_range reach = array_range_reach(&member, b);
            if (array_range_meet(&reach, range) && (reach.from < was->from || reach.to > was->to))
                return false;
        }
    }
    return true;
}

/* A range of the group, in one use. */
struct widening {
    const struct group_rename *rename;
    struct array_range was, range;
    uint64_t copies;
};

/* *range may become larger. */
static bool leaves_range(struct search *search, struct widening *widening, uint32_t launch)
{
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    struct array_range *range = &widening->range;
    for (uint32_t b = 0; b < bound.summary->base_count; b++) {
        const struct access_base *base = &bound.summary->bases[b];
        struct array_range reach = array_range_reach(&bound, b);
        if ((!base->is_read && !base->is_written) || !array_range_meet(&reach, range)) continue;
        if (reach.array != range->array || !redirect_may_move(search, launch, b)) return false;
        if (reach.from < range->from) range->from = reach.from;
        if (reach.to > range->to) range->to = reach.to;
        if (base->is_written && !may_write(search, widening->rename, launch, b,
                                           reach.from - widening->was.from, &widening->copies))
            return false;
    }
    return true;
}

/* What it is widened by for one launch, others may meet. */
static bool leave_range(struct search *search, const struct search_group *group, uint32_t first,
                        uint32_t from, uint32_t to, struct widening *widening)
{
    struct array_range before;
    do {
        before = widening->range;
        widening->copies = 0;
        for (uint32_t launch = from; launch < to; launch++)
            if (!leaves_range(search, widening, launch)) return false;
    } while (before.from != widening->range.from || before.to != widening->range.to);
    return is_free(search, group, first, &widening->was, &widening->range);
}

bool redirect_goes_on(struct search *search, struct search_group *group, uint32_t first, uint32_t from,
                      uint32_t to, uint64_t *copies)
{
    const struct verdict *verdict = group->verdict;
    struct widening widenings[RENAME_MOST];
    bool is_alone = !search->program->has_streams && !search->program->has_others &&
                    !search->options->stores_all; /* no bystanders then */
    if (to - from > (is_alone ? BETWEEN_MOST : 0)) return false;
    for (uint32_t launch = from; launch < to; launch++)
        if (!draft_may_stand_by(search, launch)) return false;
    for (uint32_t i = 0; from < to && i < verdict->rename_count; i++) {
        struct widening *widening = &widenings[i];
        *widening = (struct widening){.rename = &verdict->renames[i]};
        widening->was = widening->range = redirect_range(search, group, i, first);
        widening->range.from -= group->widened[i].before;
        widening->range.to += group->widened[i].behind;
        if (!leave_range(search, group, first, from, to, widening)) return false;
    }
    for (uint32_t i = 1; from < to && i < verdict->rename_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (array_range_meet(&widenings[i].range, &widenings[j].range)) return false;
    for (uint32_t i = 0; from < to && i < verdict->rename_count; i++) {
        const struct widening *widening = &widenings[i];
        *copies += widening->copies;
        group->widened[i].before = widening->was.from - widening->range.from;
        group->widened[i].behind = widening->range.to - widening->was.to;
    }
    return true;
}

bool redirect_comes_again(struct search *search, struct search_group *group, uint32_t first)
{
    uint64_t copies = 0;
    uint32_t end = first + group->step_count;
    for (uint32_t distance = group->step_count; distance <= group->step_count + BETWEEN_MOST; distance++)
        if (draft_come_again(search, first, distance, group->step_count))
            return redirect_goes_on(search, group, first, end, first + distance, &copies);
    return false;
}
