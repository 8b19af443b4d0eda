/* SPDX-License-Identifier: Apache-2.0
 * See ahead.h. */
#include "fuser/planner/ahead.h"

#include "fuser/planner/search_memo.h"
#include "fuser/planner/profit.h"

#include <stdatomic.h>
#include <stdlib.h>

static uint32_t worker_count(const struct search *search)
{
    return search->pairs->answers ? crew_workers(search->options->jobs) : 0;
}

void ahead_end(struct search *search)
{
    crew_end(&search->crew);
    search->crew_compiles = false;
}

/* --- starts --- */

enum look_kind { LOOK_AT_PAIRS, LOOK_UNASKED, LOOK_WHOLE, LOOK_AT_FEWER };
struct look {
    uint32_t start, left_out; /* left_out: members, for LOOK_AT_FEWER */
    enum look_kind kind;
};
struct starts {
    struct search *search;
    const uint32_t *launches; /* situations.h */
    uint32_t count;
    struct look *looks;
    uint32_t look_count;
    atomic_bool *is_done; /* a start, by a worker; NULL: nobody looks at fewer */
};

static void look(void *context, uint32_t task)
{
    const struct starts *starts = context;
    const struct look *look = &starts->looks[task];
    uint32_t launch = starts->launches[look->start];
    if (look->kind == LOOK_AT_PAIRS) {
        search_look_at_pairs(starts->search, launch);
    } else if (look->kind == LOOK_AT_FEWER) {
        if (!starts->is_done[look->start]) search_look_at_fewer(starts->search, launch, look->left_out);
    } else {
        bool is_done = look->kind == LOOK_UNASKED ? search_look_unasked(starts->search, launch)
                                                  : search_look(starts->search, launch) != NULL;
        if (starts->is_done && is_done) starts->is_done[look->start] = true;
    }
}

static uint32_t reverse_bits(uint32_t number, uint32_t bits)
{
    uint32_t reversed = 0;
    for (uint32_t i = 0; i < bits; i++) reversed |= (number >> i & 1) << (bits - 1 - i);
    return reversed;
}

/* Horizon by horizon, as the search comes to them: first the pairs and then the groups for which nobody needs to wait for another,
 * then the other groups. Within a horizon from the end, where the search comes last, and each far from those
 * before: neighbours ask the same questions. */
static void spread(struct starts *starts)
{
    const uint32_t bits = 8, horizon = 1u << bits;
    for (uint32_t first = 0; first < starts->count; first += horizon) {
        uint32_t left = starts->count - first, last = first + (left < horizon ? left : horizon) - 1;
        for (enum look_kind kind = LOOK_AT_PAIRS; kind <= LOOK_WHOLE; kind++)
            for (uint32_t i = 0; i < horizon; i++) {
                uint32_t at = reverse_bits(i, bits);
                if (at > last - first) continue;
                starts->looks[starts->look_count++] = (struct look){.start = last - at, .kind = kind};
            }
    }
}

/* For workers that have nothing else to do while others are at their last start: what that may come to. */
static void spread_fewer(struct starts *starts)
{
    for (uint32_t start = 0; start < starts->count; start++)
        for (uint32_t left_out = 1; left_out < SEARCH_MOST_STEPS - 1; left_out++)
            starts->looks[starts->look_count++] =
                (struct look){.start = start, .left_out = left_out, .kind = LOOK_AT_FEWER};
}

void ahead_search(struct search *search)
{
    struct starts starts = {
        .search = search, .launches = search->situations.launches, .count = search->situations.count};
    struct answers *answers = search->pairs->answers;
    uint32_t workers = worker_count(search);
    if (workers)
        starts.looks = calloc((size_t)starts.count * (SEARCH_MOST_STEPS + 1) + 1, sizeof *starts.looks);
    if (starts.looks) {
        spread(&starts);
        starts.is_done = answers_take(answers, starts.count * sizeof *starts.is_done);
        if (starts.is_done) spread_fewer(&starts);
        crew_start(&search->crew, answers, workers, starts.look_count, look, &starts);
    }
    free(starts.looks);
}

/* --- groups to compile --- */

struct compile { /* what may start in a situation */
    struct search_memo *memo;
    uint32_t candidate;
    uint32_t
        members;  /* of what would be left, were it refused; 0: of itself, and of what is left where it is */
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
        if (compile->members) {
            if (compile->members < group->member_count)
                search_compile_fewer(compiles->search, compile->memo, compile->candidate, compile->members);
            return;
        }
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

/* Some that are not used may be once others are refused. True where there is one that no crew had before. */
static bool list_compiles(struct compiles *compiles, const struct search_group *next, uint32_t most_unused)
{
    struct search *search = compiles->search;
    uint32_t used = 0;
    bool has_new = false;
    for (struct search_memo *memo = search->memo; memo; memo = memo->hh.next)
        for (uint32_t candidate = 0; candidate < SEARCH_CANDIDATES; candidate++) {
            struct search_group *group = memo->groups[candidate];
            if (!group || group->is_compiled || group->refusal || group == next) continue;
            double gain = profit_of(search, group) * (double)(group->uses ? group->uses : 1);
            compiles->list[compiles->count++] =
                (struct compile){memo, candidate, .is_used = group->uses > 0, .gain = gain};
            used += group->uses > 0;
        }
    qsort(compiles->list, compiles->count, sizeof *compiles->list, compare_gains);
    if (compiles->count > used + most_unused) compiles->count = used + most_unused;
    for (uint32_t i = 0; i < compiles->count; i++) {
        struct search_group *group = compiles->list[i].memo->groups[compiles->list[i].candidate];
        has_new = has_new || !group->is_ahead;
        group->is_ahead = true;
    }
    return has_new;
}

/* For workers that have nothing else to do: what would be left of those in use. Most groups that are refused lose half of their
 * members first, and then one by one (search.c). */
static void list_fewer(struct compiles *compiles, uint32_t rounds)
{
    uint32_t count = compiles->count;
    for (uint32_t round = 0; round < 2 * rounds; round++)
        for (uint32_t i = 0; i < count && compiles->list[i].is_used; i++) {
            struct compile fewer = compiles->list[i];
            uint32_t members = fewer.memo->groups[fewer.candidate]->member_count;
            uint32_t first = round % 2 ? members - 1 : (members + 1) / 2, less = round / 2;
            if (first < less + 2 || (round % 2 && first - less <= (members + 1) / 2)) continue;
            fewer.members = first - less;
            compiles->list[compiles->count++] = fewer;
        }
}

void ahead_compile(struct search *search, const struct search_group *next)
{
    enum { ROUNDS = 3 };
    uint32_t workers = worker_count(search), rounds = workers > 1 ? ROUNDS : 0;
    struct compiles compiles = {.search = search};
    if (!workers || (search->crew_compiles && crew_is_busy(&search->crew) &&
                     crew_is_at(&search->crew, search->crew_certain)))
        return;
    compiles.list = calloc((1 + 2 * rounds) * SEARCH_CANDIDATES * (size_t)HASH_COUNT(search->memo) + 1,
                           sizeof *compiles.list);
    if (!compiles.list) return;
    bool has_new = list_compiles(&compiles, next, 4 * workers);
    if (has_new) {
        crew_end(&search->crew);
        search->crew_compiles = true;
        search->crew_certain = compiles.count;
        list_fewer(&compiles, rounds);
        if (compiles.count)
            crew_start(&search->crew, search->pairs->answers, workers, compiles.count, compile, &compiles);
    }
    free(compiles.list);
}

void ahead_look(struct search *search, uint32_t count, void (*look_at)(void *context, uint32_t number),
                void *context)
{
    uint32_t workers = worker_count(search);
    if (workers && count) crew_start(&search->crew, search->pairs->answers, workers, count, look_at, context);
}
