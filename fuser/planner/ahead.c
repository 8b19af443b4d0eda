/* SPDX-License-Identifier: Apache-2.0
 * See ahead.h. */
#include "fuser/planner/ahead.h"

#include "fuser/planner/search_memo.h"
#include "fuser/planner/profit.h"

#include <stdlib.h>

static uint32_t worker_count(const struct search *search)
{
    uint32_t jobs = search->options->jobs ? search->options->jobs : crew_cores();
    return search->pairs->answers ? jobs - 1 : 0;
}

void ahead_end(struct search *search)
{
    crew_end(&search->crew);
    search->crew_compiles = false;
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

struct compile { /* what may start in a situation */
    struct search_memo *memo;
    uint32_t candidate;
    bool is_used; /* as things stand */
    double gain;  /* over the run; of a use, where it is not used */
};
struct compiles {
    struct search *search;
    struct compile *list;
    uint32_t count;
};

/* As the search does, if it comes to use the group. */
static void compile(void *context, uint32_t task)
{
    const struct compiles *compiles = context;
    const struct compile *compile = &compiles->list[task];
    for (;;) {
        struct search_group *group = search_candidate(compiles->search, compile->memo, compile->candidate);
        if (!group || group->is_compiled) return;
        search_compile(compiles->search, group);
    }
}

/* Those in use first. */
static int compare_gains(const void *a, const void *b)
{
    const struct compile *first = a, *second = b;
    if (first->is_used != second->is_used) return first->is_used ? -1 : 1;
    return (first->gain < second->gain) - (first->gain > second->gain);
}

/* Some that are not used may be once others are refused. */
static void list_compiles(struct compiles *compiles, const struct search_group *next, uint32_t most_unused)
{
    struct search *search = compiles->search;
    uint32_t used = 0;
    for (struct search_memo *memo = search->memo; memo; memo = memo->hh.next)
        for (uint32_t candidate = 0; candidate < SEARCH_CANDIDATES; candidate++) {
            struct search_group *group = memo->groups[candidate];
            if (!group || group->is_compiled || group->refusal || group == next) continue;
            double gain = profit_of(search, group) * (double)(group->uses ? group->uses : 1);
            compiles->list[compiles->count++] = (struct compile){memo, candidate, group->uses > 0, gain};
            used += group->uses > 0;
        }
    qsort(compiles->list, compiles->count, sizeof *compiles->list, compare_gains);
    if (compiles->count > used + most_unused) compiles->count = used + most_unused;
}

void ahead_compile(struct search *search, const struct search_group *next)
{
    uint32_t workers = worker_count(search);
    struct compiles compiles = {.search = search};
    if (!workers || (search->crew_compiles && crew_is_busy(&search->crew))) return;
    crew_end(&search->crew);
    search->crew_compiles = true;
    compiles.list = calloc(SEARCH_CANDIDATES * (size_t)HASH_COUNT(search->memo) + 1, sizeof *compiles.list);
    if (!compiles.list) return;
    list_compiles(&compiles, next, 4 * workers);
    if (compiles.count)
        crew_start(&search->crew, search->pairs->answers, workers, compiles.count, compile, &compiles);
    free(compiles.list);
}

void ahead_look(struct search *search, uint32_t count, void (*look_at)(void *context, uint32_t number),
                void *context)
{
    uint32_t workers = worker_count(search);
    if (workers && count) crew_start(&search->crew, search->pairs->answers, workers, count, look_at, context);
}
