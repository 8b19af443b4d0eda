/* SPDX-License-Identifier: Apache-2.0
 * See rivals.h: replay's choice, launch by launch, with all groups and without each. */
#include "fuser/planner/rivals.h"

#include "fuser/planner/draft.h"
#include "fuser/planner/profit.h"
#include "fuser/planner/search_memo.h"

#include <stdlib.h>
#include <string.h>

enum { RIVALS_MOST = 64 };

struct rivals {
    struct search *search;
    struct search_group *groups[RIVALS_MOST];
    struct hash128 keys[RIVALS_MOST];
    uint32_t count;
    uint64_t *begins; /* by launch: groups whose patterns begin there, a bit each */
};

static bool begins(struct rivals *rivals, uint32_t number, uint32_t first)
{
    uint32_t launches[SEARCH_MOST_STEPS], count = rivals->groups[number]->step_count;
    struct hash128 key;
    if (!draft_are_alike(rivals->search, rivals->groups[number]->launches[0], first, count)) return false;
    for (uint32_t s = 0; s < count; s++) launches[s] = first + s;
    return pairs_key(rivals->search->pairs, launches, count, &key) && hash_equal(key, rivals->keys[number]);
}

/* False: there are too many, or memory is out. */
static bool collect(struct rivals *rivals)
{
    struct search *search = rivals->search;
    for (uint32_t i = 0; i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->uses) continue;
        if (rivals->count == RIVALS_MOST) return false;
        if (!pairs_key(search->pairs, group->launches, group->step_count, &rivals->keys[rivals->count]))
            return false;
        rivals->groups[rivals->count++] = group;
    }
    rivals->begins = calloc(search->program->launch_count + 1, sizeof *rivals->begins);
    for (uint32_t i = 0; rivals->begins && i < search->program->launch_count; i++)
        for (uint32_t g = 0; g < rivals->count; g++)
            if (begins(rivals, g, i)) rivals->begins[i] |= UINT64_C(1) << g;
    return rivals->begins;
}

/* Replay's choice among these groups. */
static struct search_group *taken_at(const struct rivals *rivals, uint64_t groups, uint32_t launch)
{
    struct search_group *taken = NULL;
    for (uint32_t g = 0; g < rivals->count; g++)
        if (rivals->begins[launch] & groups & UINT64_C(1) << g &&
            (!taken || rivals->groups[g]->step_count > taken->step_count))
            taken = rivals->groups[g];
    return taken;
}

/* What replay gains with these groups. */
static double gain_of(const struct rivals *rivals, uint64_t groups)
{
    double gain = 0;
    for (uint32_t i = 0; i < rivals->search->program->launch_count;) {
        const struct search_group *taken = taken_at(rivals, groups, i);
        if (taken) gain += profit_of(rivals->search, taken);
        i += taken ? taken->step_count : 1;
    }
    return gain;
}

static bool is_candidate(const struct search *search, uint32_t launch, const struct search_group *group)
{
    bool is_one = false;
    for (uint32_t c = 0; c < SEARCH_CANDIDATES; c++) is_one |= search->memo_of[launch]->groups[c] == group;
    return is_one;
}

bool rivals_offer(struct search *search)
{
    struct rivals rivals = {.search = search};
    bool has_offered = false;
    if (collect(&rivals))
        for (uint32_t i = 0; i < search->program->launch_count;) {
            struct search_group *taken = taken_at(&rivals, UINT64_MAX, i);
            if (taken && !search->rival_of[i] && !is_candidate(search, i, taken)) {
                search->rival_of[i] = taken;
                has_offered = true;
            }
            i += taken ? taken->step_count : 1;
        }
    free(rivals.begins);
    return has_offered;
}

struct search_group *rivals_worst(struct search *search)
{
    const double equal = 1 + 1e-6;
    struct rivals rivals = {.search = search};
    struct search_group *worst = NULL;
    bool is_known = collect(&rivals);
    double most = is_known ? gain_of(&rivals, UINT64_MAX) * equal : 0;
    bool is_best = !is_known || most >= search->gain_from[0];
    for (uint32_t g = 0; !is_best && g < rivals.count; g++) {
        double without = gain_of(&rivals, ~(UINT64_C(1) << g));
        if (without <= most) continue;
        most = without;
        worst = rivals.groups[g];
    }
    free(rivals.begins);
    return worst;
}
