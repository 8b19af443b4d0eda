/* SPDX-License-Identifier: Apache-2.0
 * The trie: node 0 is the start; a node below stands for one step. Groups whose steps are equal so far,
 * guards and masks included, share nodes. */
#include "interpose/match.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

struct node {
    uint32_t step; /* of the plan: any of the equal ones */
    uint32_t parent, child, last_child, sibling;
    uint32_t group;   /* the first whose pattern ends here, or NONE */
    uint32_t enabled; /* groups that are on and end here or below */
};
struct match {
    const struct plan *plan;
    struct node *nodes;
    uint32_t node_count;
    uint32_t *leaf, *next; /* by group: its last node; the next group that ends there */
    bool *is_on;
};

/* --- building --- */

static bool steps_are_equal(const struct plan *plan, const struct plan_step *a, const struct plan_step *b)
{
    bool is_shape = a->kernel == b->kernel && a->dynamic_shared == b->dynamic_shared &&
                    a->arguments_size == b->arguments_size && a->guard_count == b->guard_count &&
                    !memcmp(a->grid, b->grid, sizeof a->grid) && !memcmp(a->block, b->block, sizeof a->block);
    if (!is_shape) return false;
    if (memcmp(plan->masks + a->mask, plan->masks + b->mask, 2 * (size_t)a->arguments_size)) return false;
    return !memcmp(plan->guards + a->first_guard, plan->guards + b->first_guard,
                   a->guard_count * sizeof *plan->guards);
}

static uint32_t child_for(struct match *match, uint32_t parent, uint32_t step)
{
    const struct plan *plan = match->plan;
    for (uint32_t i = match->nodes[parent].child; i != NONE; i = match->nodes[i].sibling)
        if (steps_are_equal(plan, &plan->steps[match->nodes[i].step], &plan->steps[step])) return i;
    uint32_t index = match->node_count++;
    match->nodes[index] = (struct node){step, parent, NONE, NONE, NONE, NONE, 0};
    if (match->nodes[parent].child == NONE)
        match->nodes[parent].child = index;
    else
        match->nodes[match->nodes[parent].last_child].sibling = index;
    match->nodes[parent].last_child = index;
    return index;
}

static void add_group(struct match *match, uint32_t group)
{
    const struct plan_group *pattern = &match->plan->groups[group];
    uint32_t node = 0, *end;
    for (uint32_t i = 0; i < pattern->step_count; i++) node = child_for(match, node, pattern->first_step + i);
    match->leaf[group] = node;
    match->next[group] = NONE;
    for (end = &match->nodes[node].group; *end != NONE; end = &match->next[*end]) continue;
    *end = group;
}

struct match *match_create(const struct plan *plan)
{
    uint32_t groups = plan->header->groups.count, steps = plan->header->steps.count;
    struct match *match = calloc(1, sizeof *match);
    if (!match) return NULL;
    match->plan = plan;
    match->nodes = calloc((size_t)steps + 1, sizeof *match->nodes);
    match->leaf = calloc((size_t)groups + 1, sizeof *match->leaf);
    match->next = calloc((size_t)groups + 1, sizeof *match->next);
    match->is_on = calloc((size_t)groups + 1, sizeof *match->is_on);
    if (!match->nodes || !match->leaf || !match->next || !match->is_on) {
        match_free(match);
        return NULL;
    }
    match->nodes[0] = (struct node){NONE, NONE, NONE, NONE, NONE, NONE, 0};
    match->node_count = 1;
    for (uint32_t i = 0; i < groups; i++) add_group(match, i);
    return match;
}

void match_free(struct match *match)
{
    if (!match) return;
    free(match->nodes);
    free(match->leaf);
    free(match->next);
    free(match->is_on);
    free(match);
}

void match_enable(struct match *match, uint32_t group, bool is_on)
{
    if (match->is_on[group] == is_on) return;
    match->is_on[group] = is_on;
    for (uint32_t node = match->leaf[group]; node != NONE; node = match->nodes[node].parent)
        match->nodes[node].enabled += is_on ? 1 : UINT32_MAX;
}

/* --- following --- */

static bool arguments_fit(const unsigned char *mask, const unsigned char *arguments, uint32_t size)
{
    const unsigned char *value = mask + size;
    uint32_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t bits, have, want;
        memcpy(&bits, mask + i, 8);
        memcpy(&have, arguments + i, 8);
        memcpy(&want, value + i, 8);
        if ((have & bits) != want) return false;
    }
    if (i + 4 <= size) {
        uint32_t bits, have, want;
        memcpy(&bits, mask + i, 4);
        memcpy(&have, arguments + i, 4);
        memcpy(&want, value + i, 4);
        if ((have & bits) != want) return false;
        i += 4;
    }
    for (; i < size; i++)
        if ((arguments[i] & mask[i]) != value[i]) return false;
    return true;
}

static bool step_fits(const struct plan *plan, uint32_t index, const struct match_launch *launch,
                      const struct guard_view *view)
{
    const struct plan_step *step = &plan->steps[index];
    if (step->kernel != launch->kernel || step->dynamic_shared != launch->dynamic_shared ||
        step->arguments_size != launch->arguments_size)
        return false;
    if (memcmp(step->grid, launch->grid, sizeof step->grid) ||
        memcmp(step->block, launch->block, sizeof step->block))
        return false;
    if (!arguments_fit(plan->masks + step->mask, launch->arguments, step->arguments_size)) return false;
    return guard_holds(plan->guards + step->first_guard, step->guard_count, view);
}

static bool variant_for(const struct match *match, uint32_t group, const struct guard_view *view,
                        uint32_t *variant)
{
    const struct plan_group *pattern = &match->plan->groups[group];
    for (uint32_t i = 0; i < pattern->variant_count; i++) {
        const struct plan_variant *candidate = &match->plan->variants[pattern->first_variant + i];
        *variant = i;
        if (guard_holds(match->plan->guards + candidate->first_guard, candidate->guard_count, view))
            return true;
    }
    return false;
}

/* The first group in the plan among those that are complete at this depth. */
static void accept(const struct match *match, struct match_state *state, const struct node *node,
                   const struct guard_view *view)
{
    uint32_t variant, bound = NONE;
    if (state->group >= 0 && state->group_depth == state->depth) bound = (uint32_t)state->group;
    for (uint32_t group = node->group; group != NONE && group < bound; group = match->next[group]) {
        if (!match->is_on[group] || !variant_for(match, group, view, &variant)) continue;
        state->group = group;
        state->group_depth = state->depth;
        state->variant = variant;
        return;
    }
}

void match_start(struct match_state *state)
{
    *state = (struct match_state){.path_count = 1, .paths = {0}, .group = -1};
}

bool match_take(const struct match *match, struct match_state *state, const struct match_launch *launch,
                const struct guard_view *view)
{
    uint32_t paths[MATCH_PATHS], count = 0;
    for (uint32_t i = 0; i < state->path_count; i++) {
        for (uint32_t at = match->nodes[state->paths[i]].child; at != NONE; at = match->nodes[at].sibling) {
            const struct node *node = &match->nodes[at];
            if (!node->enabled || count == MATCH_PATHS) continue;
            if (step_fits(match->plan, node->step, launch, view)) paths[count++] = at;
        }
    }
    if (!count) return false;
    state->depth++;
    state->path_count = count;
    state->paths[0] = paths[0];
    if (count > 1) memcpy(state->paths, paths, count * sizeof *paths);
    for (uint32_t i = 0; i < count; i++) accept(match, state, &match->nodes[paths[i]], view);
    return true;
}

bool match_is_final(const struct match *match, const struct match_state *state)
{
    for (uint32_t i = 0; i < state->path_count; i++)
        for (uint32_t at = match->nodes[state->paths[i]].child; at != NONE; at = match->nodes[at].sibling)
            if (match->nodes[at].enabled) return false;
    return true;
}
