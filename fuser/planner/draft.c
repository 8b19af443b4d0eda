/* SPDX-License-Identifier: Apache-2.0
 * Grows a draft greedily; sees launches only through their classes and pairwise conflicts. */
#include "fuser/planner/draft.h"

#include "fuser/access/overlap.h"
#include "fuser/fusion/last_block.h"
#include "fuser/planner/profit.h"

enum { SMALL_KERNEL_NS = 10000, MOST_IN_TIME = 8 /* launches of several repetitions */ };

static bool is_independent(struct search *search, uint32_t earlier, uint32_t later)
{
    const struct conflict *conflict = pairs_conflict(search->pairs, earlier, later);
    return conflict && conflict->class == CONFLICT_NONE;
}

/* A pointer may lie in one array and be used for another, as in x - 1 for an array that counts from 1. */
static bool leaves_array(const struct access_base *base, const struct array_binding *binding)
{
    return base->kind != ACCESS_BASE_UNKNOWN && base->is_bounded &&
           (binding->offset + base->from < 0 || binding->offset + base->to > binding->size);
}

/* It goes anywhere in its array, and only there. A pointer into the middle of an allocation may be meant for
 * another one, as above; one to its beginning is taken at its word. */
static bool may_roam(const struct access_base *base, const struct array_binding *binding)
{
    return base->kind == ACCESS_BASE_VARIABLE || binding->offset == 0;
}

const char *draft_why_no_step(struct search *search, uint32_t launch)
{
    uint32_t base;
    return draft_obstacle(search, launch, &base);
}

/* What no member may be may wait for the host: deferred.h. */
bool draft_may_stand_by(struct search *search, uint32_t launch)
{
    return !draft_why_no_step(search, launch) && !search_class(search, launch)->no_member;
}

const char *draft_obstacle(struct search *search, uint32_t launch, uint32_t *base)
{
    const struct launch_class *class = search_class(search, launch);
    *base = UINT32_MAX;
    if (class->refusal) return class->refusal;
    if (class->keeps_place) return class->keeps_place;
    struct bound_launch bound = pairs_launch(search->pairs, launch);
    if (!bound.bindings) return "out of memory";
    for (uint32_t i = 0; i < bound.summary->base_count; i++) {
        *base = i;
        if (bound.summary->bases[i].kind == ACCESS_BASE_UNKNOWN)
            return "it uses an address of unknown origin";
        if (!bound.bindings[i].is_plain) return "it uses memory that is not a plain device allocation";
        if (!bound.summary->bases[i].is_bounded && !may_roam(&bound.summary->bases[i], &bound.bindings[i]))
            return "how far it reaches from a pointer of its arguments is not known";
        if (leaves_array(&bound.summary->bases[i], &bound.bindings[i]))
            return "it may reach beyond the allocation that a pointer of its arguments lies in";
    }
    *base = UINT32_MAX;
    uint32_t load, write;
    if (!overlap_ends_loop(&bound, &bound, &load, &write)) return NULL;
    *base = bound.summary->accesses[load].base;
    return "a loop ends by what it loads, and it may write that: it may wait for another thread";
}

const char *draft_why_once(const struct search *search, uint32_t first, uint32_t other)
{
    bool is_once = search_class(search, first)->comes_once;
    if (is_once == search_class(search, other)->comes_once) return NULL;
    return is_once ? "the first has other numbers each time, so that a group of both would be used once"
                   : "the second has other numbers each time, so that a group of both would be used once";
}

bool draft_assign_roles(struct draft *draft)
{
    struct search *search = draft->search;
    for (uint32_t k = 0; k < draft->count; k++) {
        draft->roles[k] = PLAN_MEMBER;
        if (draft->is_member[k]) continue;
        bool before = true, after = true;
        for (uint32_t m = 0; m < draft->count && (before || after); m++) {
            uint32_t low = draft->first + (m < k ? m : k), high = draft->first + (m < k ? k : m);
            bool crosses_before = m < k && (draft->is_member[m] || draft->roles[m] == PLAN_AFTER);
            bool crosses_after = m > k && draft->is_member[m];
            if (crosses_before && before) before = is_independent(search, low, high);
            if (crosses_after && after) after = is_independent(search, low, high);
        }
        if (!before && !after) return false;
        draft->roles[k] = before ? PLAN_BEFORE : PLAN_AFTER;
    }
    return true;
}

/* Whether the last launch depends on the nearest one before it that must run after the fused kernel, as then
 * it must too. To know that early saves most tests in a row of launches that depend on each other. */
static bool stands_behind(struct draft *draft)
{
    uint32_t last = draft->count - 1;
    for (uint32_t k = last; k-- > 0;) {
        if (draft->is_member[k] || !draft->follows[k]) continue;
        draft->follows[last] = !is_independent(draft->search, draft->first + k, draft->first + last);
        return draft->follows[last];
    }
    return false;
}

static uint32_t block_threads(const struct draft *draft, uint32_t step)
{
    const uint32_t *block = draft->search->program->launches[draft->first + step].record->block;
    return block[0] * block[1] * block[2];
}

/* The last launch could run in the last block of the members before, of which some fill more than a block. */
static bool may_run_last(const struct draft *draft)
{
    const struct pairs *pairs = draft->search->pairs;
    uint32_t last = draft->count - 1, most = 0;
    bool is_large = false;
    for (uint32_t i = 0; i < last; i++) {
        if (!draft->is_member[i]) continue;
        struct bound_launch member = pairs_launch(draft->search->pairs, draft->first + i);
        if (!member.bindings) return false;
        is_large |= !last_block_serves(&pairs->memo, &member, SPACE_BLOCK_MOST);
        if (block_threads(draft, i) > most) most = block_threads(draft, i);
    }
    struct bound_launch launch = pairs_launch(draft->search->pairs, draft->first + last);
    return is_large && launch.bindings && last_block_serves(&pairs->memo, &launch, most) &&
           profit_share_in_one_block(draft->search, draft->first + last) < 1;
}

/* Others than its own thread must be waited for: the last launch runs in the last block, and so does what comes behind. */
static bool runs_last(struct draft *draft, enum conflict_class class)
{
    bool is_far = class == CONFLICT_BLOCK || class == CONFLICT_LAST_BLOCK,
         may = is_far && may_run_last(draft);
    draft->may_run_last |= may;
    if (may && draft->takes_last && !draft->renames) draft->last_step = draft->count - 1;
    return draft->last_step;
}

/* One of the two costs more than so many times what it costs apart. */
static bool costs_in_one_block(struct search *search, uint32_t earlier, uint32_t later, double times)
{
    return profit_share_in_one_block(search, earlier) > times ||
           profit_share_in_one_block(search, later) > times;
}

bool draft_loses_in_one_block(struct search *search, const struct conflict *conflict, uint32_t earlier,
                              uint32_t later)
{
    const double hopeless = 2; /* else with others there may be a better kind for them */
    return conflict->in_one_block && costs_in_one_block(search, earlier, later, hopeless);
}

/* They may be together as far as one block goes. */
static bool may_meet(struct draft *draft, const struct conflict *conflict, uint32_t earlier, uint32_t later)
{
    if (!conflict->in_one_block) return true;
    draft->meets_in_one_block = true;
    return draft->not_in_one_block ? !costs_in_one_block(draft->search, earlier, later, 1)
                                   : !draft_loses_in_one_block(draft->search, conflict, earlier, later);
}

/* It leaves something of the device to others, or one of the members does. */
static bool leaves_room(const struct draft *draft, uint32_t candidate)
{
    const double full = 1;
    if (profit_share_of_device(draft->search, candidate) < full) return true;
    for (uint32_t m = 0; m < draft->count - 1; m++)
        if (draft->is_member[m] && profit_share_of_device(draft->search, draft->first + m) < full)
            return true;
    return false;
}

/* Guards keep what is written apart from all else, pair by pair: each use asks them. */
static bool has_many_guards(const struct draft *draft, uint32_t candidate)
{
    enum { MOST_PAIRS = 4096 };
    uint64_t all = 0, written = 0;
    for (uint32_t m = 0; m < draft->count; m++) {
        uint32_t launch = m + 1 < draft->count ? draft->first + m : candidate;
        const struct access_summary *summary = search_class(draft->search, launch)->summary;
        if (m + 1 < draft->count && !draft->is_member[m]) continue;
        all += summary->base_count;
        for (uint32_t b = 0; b < summary->base_count; b++) written += summary->bases[b].is_written;
    }
    return all * written > MOST_PAIRS;
}

/* It has nothing to do with any member. */
static bool stands_beside(struct draft *draft, uint32_t candidate)
{
    if (has_many_guards(draft, candidate)) {
        draft->reason = "their arrays would be too many to be kept apart";
        return false;
    }
    if (!leaves_room(draft, candidate) && !draft->search->options->keeps_losing) {
        draft->reason = "each fills the device";
        return false;
    }
    for (uint32_t m = 0; m < draft->count - 1; m++) {
        if (!draft->is_member[m] || is_independent(draft->search, draft->first + m, candidate)) continue;
        draft->follows[draft->count - 1] = true;
        return false;
    }
    return true;
}

static bool joins_members(struct draft *draft, uint32_t candidate)
{
    if (draft->is_inter_block) return stands_beside(draft, candidate);
    struct search *search = draft->search;
    bool shares = false, dependent = false;
    for (uint32_t m = 0; m < draft->count - 1; m++) {
        if (!draft->is_member[m]) continue;
        const struct conflict *conflict = pairs_conflict(search->pairs, draft->first + m, candidate);
        if (conflict && runs_last(draft, conflict->class)) return true;
        if (!conflict || conflict->class > CONFLICT_RENAMED ||
            !may_meet(draft, conflict, draft->first + m, candidate)) {
            if (conflict) draft->reason = conflict->reason;
            draft->follows[draft->count - 1] = conflict != NULL;
            return false;
        }
        dependent |= conflict->class != CONFLICT_NONE;
        draft->renames |= conflict->class == CONFLICT_RENAMED;
        draft->follows[draft->count - 1] |= dependent;
        shares |= conflict->shared_bytes > 0;
    }
    if (dependent || shares || search->options->keeps_losing) return true;
    if (launch_class_time(search_class(search, candidate)) < SMALL_KERNEL_NS) return true;
    draft->reason = "they share no data, and each is too long for the launch alone to matter";
    return false;
}

uint32_t draft_members(const struct draft *draft)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < draft->count; i++) members += draft->is_member[i];
    return members;
}

void draft_trim(struct draft *draft)
{
    while (draft->count && !draft->is_member[draft->count - 1]) draft->count--;
}

static bool is_same_launch(struct search *search, uint32_t a, uint32_t b)
{
    struct bound_launch first = pairs_launch(search->pairs, a), second = pairs_launch(search->pairs, b);
    if (first.summary != second.summary || !first.bindings || !second.bindings) return false;
    for (uint32_t i = 0; i < first.summary->base_count; i++)
        if (first.bindings[i].array != second.bindings[i].array ||
            first.bindings[i].offset != second.bindings[i].offset)
            return false;
    return true;
}

/* It is like the first member, or one of them once more. Small kernels may come several times, for several
 * arrays. A loop of one launch begins again where its arrays do. */
static bool begins_again(const struct draft *draft, uint32_t launch)
{
    struct search *search = draft->search;
    const struct launch_class *class = search_class(search, launch);
    bool is_loop_of_one = search_class(search, draft->first + 1) == search_class(search, draft->first);
    if (!is_loop_of_one && class == search_class(search, draft->first)) return true;
    for (uint32_t i = 0; i < draft->count; i++)
        if (draft->is_member[i] && search_class(search, draft->first + i) == class &&
            is_same_launch(search, draft->first + i, launch))
            return true;
    return false;
}

bool draft_are_alike(const struct search *search, uint32_t first, uint32_t other, uint32_t count)
{
    const struct program *program = search->program;
    uint32_t end = other + count;
    if (end > program->launch_count || program->launches[end - 1].window != program->launches[other].window)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (search_class(search, first + i) != search_class(search, other + i)) return false;
    return true;
}

bool draft_come_again(const struct search *search, uint32_t first, uint32_t distance, uint32_t count)
{
    const struct program_launch *launches = search->program->launches;
    return draft_are_alike(search, first, first + distance, count) &&
           launches[first + distance].window == launches[first].window;
}

/* A loop of so many launches, and not of repetitions of a shorter one. */
static bool is_loop(const struct draft *draft, uint32_t length)
{
    if (!draft_come_again(draft->search, draft->first, length, length)) return false;
    for (uint32_t shorter = 1; shorter < length; shorter++)
        if (draft_come_again(draft->search, draft->first, shorter, length - shorter)) return false;
    return true;
}

uint32_t draft_most_members(const struct draft *draft)
{
    const uint32_t most = 16, told = draft->search->options->max_members;
    if (told) return told;
    if (draft->is_inter_block) return SEARCH_MOST_STEPS;
    for (uint32_t length = 2; length <= SEARCH_MOST_DEPENDENT; length++)
        if (is_loop(draft, length)) return length > most ? length : most - most % length;
    return most;
}

static const char repeats_itself[] =
    "the program repeats itself there, and what is written into a second buffer pays from one repetition to "
    "the next";

/* Behind whole repetitions, all of them members: another one follows, and as many launches as are then members come again, so that
 * uses are a chain. */
static bool may_repeat(const struct draft *draft)
{
    uint32_t count = draft->count + draft->period;
    return draft_members(draft) == draft->count && count <= MOST_IN_TIME &&
           draft_come_again(draft->search, draft->first, draft->period, draft->count) &&
           draft_come_again(draft->search, draft->first, count, count);
}

/* Steps in time: where the program repeats itself, the group may have several of its repetitions. All but the last store
 * nothing that is not overwritten. */
static bool goes_on_in_time(struct draft *draft, uint32_t next)
{
    if (!draft->period) draft->period = draft->count;
    bool is_begin = draft->count % draft->period == 0;
    return (!is_begin || may_repeat(draft)) && is_same_launch(draft->search, next - draft->period, next);
}

/* It has no part of a repetition. */
static void end_in_time(struct draft *draft)
{
    if (draft->period && draft->count > draft->period) draft->count -= draft->count % draft->period;
    if (draft->count <= draft->period) draft->period = 0; /* what it passed over at its end is left out */
}

/* Where ranges are renamed it is the chain of uses that is profitable: a group ends where the program repeats
 * itself, once or several times. */
void draft_grow(struct draft *draft)
{
    struct search *search = draft->search;
    uint32_t passed = 0, most = draft_most_members(draft),
             most_steps = draft->is_inter_block ? SEARCH_MOST_STEPS : SEARCH_MOST_DEPENDENT,
             window = search->program->launches[draft->first].window;
    draft->count = 1;
    draft->is_member[0] = true;
    for (uint32_t next = draft->first + 1; next < search->program->launch_count; next++) {
        if (search->program->launches[next].window != window) break;
        if (draft->count == most_steps || draft_members(draft) >= most) break;
        bool renamed = draft->renames, repeats = begins_again(draft, next);
        if (renamed && (repeats || draft->period) && !goes_on_in_time(draft, next)) {
            if (draft_members(draft) == 1) draft->reason = repeats_itself;
            break;
        }
        const char *obstacle = draft_why_once(search, draft->first, next);
        if (!obstacle) obstacle = draft_why_no_step(search, next);
        if (obstacle) {
            if (draft->count == 1) draft->reason = obstacle;
            break;
        }
        uint32_t at = draft->count++;
        const char *no_member = search_class(search, next)->no_member;
        if (no_member && at == 1) draft->reason = no_member;
        bool is_behind = draft->last_step && may_run_last(draft); /* whatever it has to do with the others */
        draft->is_member[at] =
            !no_member &&
            (is_behind || (!draft->last_step && !stands_behind(draft) && joins_members(draft, next)));
        if (repeats && draft->renames && !draft->period) {
            if (!renamed && !draft->reason) draft->reason = repeats_itself;
            draft->is_member[at] = false;
            draft->renames = renamed;
            break;
        }
        if (draft->is_member[at] && draft_assign_roles(draft)) continue;
        draft->is_member[at] = false;
        if (draft->last_step == at) draft->last_step = 0;
        if (draft->last_step || ++passed > SEARCH_MOST_PASSED) break;
    }
    draft_trim(draft);
    end_in_time(draft);
}
