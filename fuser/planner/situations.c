/* SPDX-License-Identifier: Apache-2.0
 * See situations.h. */
#include "fuser/planner/situations.h"

#include "fuser/planner/search_memo.h"

#include <stdlib.h>

struct situation {
    struct hash128 key;
    uint32_t first, uses;
    double device_ns; /* of the launches that it begins with */
    UT_hash_handle hh;
};

/* By launch its situation, or NULL where the search cannot name it. */
static void find_all(struct search *search, struct situation *all, struct situation **of)
{
    struct situation *seen = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < search->program->launch_count; i++) {
        struct situation *next = &all[count];
        if (!search_situation(search, i, &next->key)) continue;
        HASH_FIND(hh, seen, &next->key, sizeof next->key, of[i]);
        if (!of[i]) {
            of[i] = next;
            next->first = i;
            HASH_ADD(hh, seen, key, sizeof next->key, next);
            count++;
        }
        of[i]->uses++;
        of[i]->device_ns += (double)search_launch_time(search, i);
    }
    HASH_CLEAR(hh, seen);
}

static int compare(const void *a, const void *b)
{
    const struct situation *first = *(struct situation *const *)a, *second = *(struct situation *const *)b;
    bool recurs = first->uses > 1;
    if (recurs != (second->uses > 1)) return recurs ? -1 : 1;
    if (recurs && first->device_ns != second->device_ns) return first->device_ns > second->device_ns ? -1 : 1;
    return first->first < second->first ? -1 : 1;
}

static void sort(struct situations *situations, struct situation **of, uint32_t launch_count)
{
    for (uint32_t i = 0; i < launch_count; i++) {
        if (!of[i]) continue;
        situations->of[i] = of[i]->first;
        if (of[i]->first == i) of[situations->count++] = of[i];
    }
    qsort(of, situations->count, sizeof(struct situation *), compare);
    for (uint32_t i = 0; i < situations->count; i++) {
        situations->launches[i] = of[i]->first;
        situations->recurring += of[i]->uses > 1;
    }
}

bool situations_find(struct search *search, struct situations *situations)
{
    uint32_t most = search->program->launch_count + 1;
    struct situation *all = calloc(most, sizeof *all), **of = calloc(most, sizeof *of);
    situations->launches = arena_calloc(search->arena, most, sizeof *situations->launches);
    situations->of = arena_calloc(search->arena, most, sizeof *situations->of);
    bool is_done = all && of && situations->launches && situations->of;
    if (is_done) {
        find_all(search, all, of);
        sort(situations, of, search->program->launch_count);
    }
    free(all);
    free(of);
    return is_done;
}
