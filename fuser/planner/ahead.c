/* SPDX-License-Identifier: Apache-2.0
 * See ahead.h. */
#include "fuser/planner/ahead.h"

#include "fuser/planner/search_memo.h"
#include "fuser/planner/worth.h"

#include <stdlib.h>

static uint32_t worker_count(const struct search *search)
{
    uint32_t jobs = search->options->jobs ? search->options->jobs : crew_cores();
    return search->pairs->answers ? jobs - 1 : 0;
}

void ahead_end(struct search *search)
{
    crew_end(&search->crew);
}

/* --- starts --- */

struct start { /* the first launch of a situation */
    struct hash128 key;
    uint32_t launch;
    UT_hash_handle hh;
};
struct look {
    uint32_t launch;
    bool is_whole; /* else at the pairs alone */
};
struct starts {
    struct search *search;
    uint32_t *launches, count;
    struct look *looks; /* two a start */
};

static void look(void *context, uint32_t task)
{
    const struct starts *starts = context;
    const struct look *look = &starts->looks[task];
    if (look->is_whole)
        search_look(starts->search, look->launch);
    else
        search_look_at_pairs(starts->search, look->launch);
}

/* One launch of each situation, as the search comes to them. */
static bool find_starts(struct search *search, struct starts *starts)
{
    struct start *seen = NULL, *start;
    uint32_t launch_count = search->program->launch_count;
    starts->launches = calloc(launch_count + 1, sizeof *starts->launches);
    struct start *all = calloc(launch_count + 1, sizeof *all);
    bool done = starts->launches && all;
    for (uint32_t i = 0; done && i < launch_count; i++) {
        struct start *next = &all[starts->count];
        if (!search_situation(search, i, &next->key)) continue;
        HASH_FIND(hh, seen, &next->key, sizeof next->key, start);
        if (start) continue;
        HASH_ADD(hh, seen, key, sizeof next->key, next);
        starts->launches[starts->count++] = i;
    }
    HASH_CLEAR(hh, seen);
    free(all);
    return done;
}

static uint32_t reverse_bits(uint32_t number, uint32_t bits)
{
    uint32_t reversed = 0;
    for (uint32_t i = 0; i < bits; i++) reversed |= (number >> i & 1) << (bits - 1 - i);
    return reversed;
}

/* Horizon by horizon, as the search comes to them: first the pairs, where nobody needs to wait for another,
 * then the groups. Within a horizon from the end, where the search comes last, and each far from those
 * before: neighbours ask the same questions. */
static bool spread(struct starts *starts)
{
    const uint32_t bits = 8, horizon = 1u << bits;
    uint32_t count = 0;
    starts->looks = calloc(2 * (size_t)starts->count + 1, sizeof *starts->looks);
    for (uint32_t first = 0; starts->looks && first < starts->count; first += horizon) {
        uint32_t left = starts->count - first, last = first + (left < horizon ? left : horizon) - 1;
        for (uint32_t i = 0; i < 2 * horizon; i++) {
            uint32_t at = reverse_bits(i % horizon, bits);
            if (at <= last - first)
                starts->looks[count++] = (struct look){starts->launches[last - at], i >= horizon};
        }
    }
    return starts->looks;
}

void ahead_search(struct search *search)
{
    struct starts starts = {.search = search};
    uint32_t workers = worker_count(search);
    if (workers && find_starts(search, &starts) && spread(&starts))
        crew_start(&search->crew, search->pairs->answers, workers, 2 * starts.count, look, &starts);
    free(starts.looks);
    free(starts.launches);
}

/* --- groups to compile --- */

struct compiles {
    struct search *search;
    struct search_group **groups;
    uint32_t count;
};

static void compile(void *context, uint32_t task)
{
    const struct compiles *compiles = context;
    search_compile(compiles->search, compiles->groups[task]);
}

static int compare_gains(const void *a, const void *b, void *context)
{
    const struct search_group *first = *(struct search_group *const *)a,
                              *second = *(struct search_group *const *)b;
    double gains[2] = {worth_gain(context, first) * (double)first->uses,
                       worth_gain(context, second) * (double)second->uses};
    return (gains[0] < gains[1]) - (gains[0] > gains[1]);
}

void ahead_compile(struct search *search, const struct search_group *next)
{
    uint32_t workers = worker_count(search);
    struct compiles compiles = {.search = search};
    if (!workers || next->is_ahead) return;
    crew_end(&search->crew);
    compiles.groups = calloc(search->group_count + 1, sizeof(struct search_group *));
    for (uint32_t i = 0; compiles.groups && i < search->group_count; i++) {
        struct search_group *group = search->groups[i];
        if (!group->uses || group->is_compiled || group == next) continue;
        group->is_ahead = true;
        compiles.groups[compiles.count++] = group;
    }
    if (compiles.count) {
        qsort_r(compiles.groups, compiles.count, sizeof(struct search_group *), compare_gains, search);
        crew_start(&search->crew, search->pairs->answers, workers, compiles.count, compile, &compiles);
    }
    free(compiles.groups);
}

void ahead_look(struct search *search, uint32_t count, void (*look_at)(void *context, uint32_t number),
                void *context)
{
    uint32_t workers = worker_count(search);
    if (workers && count) crew_start(&search->crew, search->pairs->answers, workers, count, look_at, context);
}
