/* SPDX-License-Identifier: Apache-2.0
 * The trie: node 0 is the start; a node below stands for one step. Groups whose steps are equal so far,
 * guards and masks included, share nodes. */
#include "interpose/match.h"

#include "interpose/guard_cache.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = MATCH_NONE, SHAPE_WORDS = offsetof(struct match_launch, arguments_size) / sizeof(uint32_t) };
_Static_assert(offsetof(struct match_launch, arguments_size) == 8 * sizeof(uint32_t),
               "shapes are compared whole");

struct word { /* of the arguments: width bytes at offset, & mask, must equal value */
    uint32_t offset, width;
    uint64_t mask, value;
};
struct node {
    uint32_t shape[SHAPE_WORDS]; /* as match_launch begins */
    uint32_t arguments_size;
    uint32_t first_word, word_count; /* those that matter */
    uint32_t guard_count;
    const struct guard_check *guards;
    uint32_t step; /* of the plan: any of the equal ones */
    uint32_t parent, child, last_child, sibling;
    uint32_t group;     /* the first whose pattern ends here, or NONE */
    uint32_t enabled;   /* groups that are on and end here or below */
    uint32_t open_ways; /* children of which some are on */
    uint32_t only;      /* the one child, if no pattern ends there but goes on; else NONE */
};
struct match {
    const struct plan *plan;
    struct node *nodes;
    struct word *words;
    uint32_t node_count, word_count;
    uint32_t *leaf, *next; /* by group: its last node; the next group that ends there */
    bool *is_on;
    struct guard_cache *of_nodes, *of_variants; /* their guards */
};

static const struct node unlinked = {.step = NONE,
                                     .parent = NONE,
                                     .child = NONE,
                                     .last_child = NONE,
                                     .sibling = NONE,
                                     .group = NONE,
                                     .only = NONE};

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

/* The arguments' masks in words of 8 bytes, the last of which may overlap the one before; shorter arguments
 * are one word. */
static void add_words(struct match *match, struct node *node, const struct plan_step *step)
{
    const unsigned char *mask = match->plan->masks + step->mask, *value = mask + step->arguments_size;
    uint32_t size = step->arguments_size, width = size < 8 ? size : 8;
    node->first_word = match->word_count;
    for (uint32_t i = 0; i < size; i += 8) {
        struct word word = {.offset = i + width <= size ? i : size - width, .width = width};
        memcpy(&word.mask, mask + word.offset, width);
        memcpy(&word.value, value + word.offset, width);
        if (word.mask || word.value) match->words[match->word_count++] = word;
    }
    node->word_count = match->word_count - node->first_word;
}

static uint32_t only_child(const struct match *match, const struct node *node)
{
    if (node->child == NONE) return NONE;
    const struct node *child = &match->nodes[node->child];
    return child->sibling == NONE && child->group == NONE && child->open_ways ? node->child : NONE;
}

static void fill_node(struct match *match, struct node *node, uint32_t parent, uint32_t index)
{
    const struct plan_step *step = &match->plan->steps[index];
    const struct match_launch launch = {
        .kernel = step->kernel,
        .grid = {step->grid[0], step->grid[1], step->grid[2]},
        .block = {step->block[0], step->block[1], step->block[2]},
        .dynamic_shared = step->dynamic_shared,
    };
    *node = unlinked;
    node->arguments_size = step->arguments_size;
    node->guard_count = step->guard_count;
    node->guards = match->plan->guards + step->first_guard;
    node->step = index;
    node->parent = parent;
    memcpy(node->shape, &launch, sizeof node->shape);
    add_words(match, node, step);
}

static uint32_t child_for(struct match *match, uint32_t parent, uint32_t step)
{
    const struct plan *plan = match->plan;
    for (uint32_t i = match->nodes[parent].child; i != NONE; i = match->nodes[i].sibling)
        if (steps_are_equal(plan, &plan->steps[match->nodes[i].step], &plan->steps[step])) return i;
    uint32_t index = match->node_count++;
    fill_node(match, &match->nodes[index], parent, step);
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

/* Words of the arguments of all steps: of groups' steps only, nobody has checked others. */
static size_t words_of_plan(const struct plan *plan)
{
    size_t words = 1;
    for (uint32_t i = 0; i < plan->header->groups.count; i++) {
        const struct plan_group *group = &plan->groups[i];
        for (uint32_t j = 0; j < group->step_count; j++)
            words += plan->steps[group->first_step + j].arguments_size / 8 + 1;
    }
    return words;
}

struct match *match_create(const struct plan *plan)
{
    uint32_t groups = plan->header->groups.count, steps = plan->header->steps.count;
    size_t words = words_of_plan(plan);
    struct match *match = calloc(1, sizeof *match);
    if (!match) return NULL;
    match->plan = plan;
    match->nodes = calloc((size_t)steps + 1, sizeof *match->nodes);
    match->words = calloc(words, sizeof *match->words);
    match->leaf = calloc((size_t)groups + 1, sizeof *match->leaf);
    match->next = calloc((size_t)groups + 1, sizeof *match->next);
    match->is_on = calloc((size_t)groups + 1, sizeof *match->is_on);
    match->of_nodes = calloc((size_t)steps + 1, sizeof *match->of_nodes);
    match->of_variants = calloc((size_t)plan->header->variants.count + 1, sizeof *match->of_variants);
    if (!match->nodes || !match->words || !match->leaf || !match->next || !match->is_on || !match->of_nodes ||
        !match->of_variants) {
        match_free(match);
        return NULL;
    }
    match->nodes[0] = unlinked;
    match->node_count = 1;
    for (uint32_t i = 0; i < groups; i++) add_group(match, i);
    return match;
}

void match_free(struct match *match)
{
    if (!match) return;
    for (uint32_t i = 0; match->of_nodes && i < match->node_count; i++) guard_cache_free(&match->of_nodes[i]);
    for (uint32_t i = 0; match->of_variants && i < match->plan->header->variants.count; i++)
        guard_cache_free(&match->of_variants[i]);
    free(match->of_nodes);
    free(match->of_variants);
    free(match->nodes);
    free(match->words);
    free(match->leaf);
    free(match->next);
    free(match->is_on);
    free(match);
}

void match_enable(struct match *match, uint32_t group, bool is_on)
{
    if (match->is_on[group] == is_on) return;
    match->is_on[group] = is_on;
    for (uint32_t at = match->leaf[group]; at != NONE; at = match->nodes[at].parent) {
        struct node *node = &match->nodes[at];
        bool was_on = node->enabled;
        node->enabled += is_on ? 1 : UINT32_MAX;
        if (node->parent != NONE && was_on != (node->enabled != 0))
            match->nodes[node->parent].open_ways += is_on ? 1 : UINT32_MAX;
        node->only = only_child(match, node);
    }
}

/* --- following --- */

static inline bool arguments_fit(const struct match *match, const struct node *node,
                                 const unsigned char *arguments)
{
    const struct word *word = match->words + node->first_word;
    for (uint32_t left = node->word_count; left; left--, word++) {
        uint64_t bits = 0;
        if (word->width == 8)
            memcpy(&bits, arguments + word->offset, 8);
        else
            memcpy(&bits, arguments, word->width);
        if ((bits & word->mask) != word->value) return false;
    }
    return true;
}

/* Without a call of memcmp. */
static inline bool shape_fits(const struct node *node, const struct match_launch *launch)
{
    uint64_t wanted[SHAPE_WORDS / 2], given[SHAPE_WORDS / 2], differing = 0;
    memcpy(wanted, node->shape, sizeof wanted);
    memcpy(given, launch, sizeof given);
    for (int i = 0; i < SHAPE_WORDS / 2; i++) differing |= wanted[i] ^ given[i];
    return !differing;
}

static inline bool step_fits(const struct match *match, const struct node *node,
                             const struct match_launch *launch, const struct guard_view *view)
{
    return shape_fits(node, launch) && node->arguments_size == launch->arguments_size &&
           arguments_fit(match, node, launch->arguments) &&
           (!node->guard_count ||
            guard_cache_holds(&match->of_nodes[node - match->nodes], node->guards, node->guard_count, view));
}

static bool variant_for(const struct match *match, uint32_t group, const struct guard_view *view,
                        uint32_t *variant)
{
    const struct plan_group *pattern = &match->plan->groups[group];
    for (uint32_t i = 0; i < pattern->variant_count; i++) {
        uint32_t index = pattern->first_variant + i;
        const struct plan_variant *candidate = &match->plan->variants[index];
        *variant = i;
        if (guard_cache_holds(&match->of_variants[index], match->plan->guards + candidate->first_guard,
                              candidate->guard_count, view))
            return true;
    }
    return false;
}

/* The first group in the plan among those that are complete at this depth. */
static void accept(const struct match *match, struct match_state *state, const struct node *node,
                   const struct guard_view *view)
{
    uint32_t variant = 0, bound = NONE;
    if (state->group >= 0 && state->group_depth == state->depth) bound = (uint32_t)state->group;
    for (uint32_t group = node->group; group != NONE && group < bound; group = match->next[group]) {
        bool is_bystander = !match->plan->groups[group].variant_count;
        if (!match->is_on[group] || (!variant_for(match, group, view, &variant) && !is_bystander)) continue;
        state->group = group;
        state->group_depth = state->depth;
        state->variant = variant;
        return;
    }
}

void match_start(struct match_state *state)
{
    state->depth = 0;
    state->only = NONE;
    state->path_count = 1;
    state->paths[0] = 0;
    state->group = -1;
}

bool match_take(const struct match *match, struct match_state *state, const struct match_launch *launch,
                const struct guard_view *view)
{
    const struct node *nodes = match->nodes;
    uint32_t paths[MATCH_PATHS], count = 0;
    for (uint32_t i = 0; i < state->path_count; i++) {
        for (uint32_t at = nodes[state->paths[i]].child; at != NONE; at = nodes[at].sibling) {
            if (!nodes[at].enabled || count == MATCH_PATHS) continue;
            if (step_fits(match, &nodes[at], launch, view)) paths[count++] = at;
        }
    }
    if (!count) return false;
    state->depth++;
    state->path_count = count;
    state->only = count == 1 ? nodes[paths[0]].only : NONE;
    for (uint32_t i = 0; i < count; i++) {
        state->paths[i] = paths[i];
        if (nodes[paths[i]].group != NONE) accept(match, state, &nodes[paths[i]], view);
    }
    return true;
}

bool match_take_only(const struct match *match, struct match_state *state, const struct match_launch *launch,
                     const struct guard_view *view)
{
    uint32_t at = state->only;
    if (at == MATCH_NONE || !step_fits(match, &match->nodes[at], launch, view)) return false;
    state->depth++;
    state->paths[0] = at;
    state->only = match->nodes[at].only;
    return true;
}

bool match_follows(const struct match *match, const struct match_state *state, uint32_t group)
{
    for (uint32_t at = match->leaf[group]; at != NONE; at = match->nodes[at].parent)
        for (uint32_t i = 0; i < state->path_count; i++)
            if (at && state->paths[i] == at) return true;
    return false;
}

bool match_is_final(const struct match *match, const struct match_state *state)
{
    for (uint32_t i = 0; i < state->path_count; i++)
        if (match->nodes[state->paths[i]].open_ways) return false;
    return true;
}
