/* SPDX-License-Identifier: Apache-2.0
 * Which known words (argument bytes, contents of module variables) a value was computed from: bit sets over
 * the analysis's list of sources, shared where they are equal. */
#include "fuser/access/analysis.h"

#include <string.h>

enum { SOURCE_WORDS = 8, SOURCE_LIMIT = SOURCE_WORDS * 64 };

static bool contains_all(const uint64_t *outer, const uint64_t *inner)
{
    for (unsigned w = 0; w < SOURCE_WORDS; w++)
        if (inner[w] & ~outer[w]) return false;
    return true;
}

const uint64_t *sources_join(struct analysis *analysis, const uint64_t *a, const uint64_t *b)
{
    if (!b || a == b) return a;
    if (!a || contains_all(b, a)) return b;
    if (contains_all(a, b)) return a;
    uint64_t *both = arena_calloc(analysis->arena, SOURCE_WORDS, sizeof *both);
    if (!both) { /* too little memory to keep them apart: guard both */
        sources_use(analysis, a);
        sources_use(analysis, b);
        return a;
    }
    for (unsigned w = 0; w < SOURCE_WORDS; w++) both[w] = a[w] | b[w];
    return both;
}

static bool is_same_source(const struct source *source, const char *variable, uint32_t offset, uint32_t size)
{
    bool same_owner =
        variable && source->variable ? strcmp(variable, source->variable) == 0 : variable == source->variable;

    return same_owner && source->offset == offset && source->size == size;
}

const uint64_t *sources_of(struct analysis *analysis, const char *variable, uint32_t offset, uint32_t size)
{
    uint32_t index = 0;

    while (index < analysis->source_count &&
           !is_same_source(&analysis->sources[index], variable, offset, size))
        index++;
    if (index == analysis->source_count) {
        if (index == analysis->source_capacity) {
            uint32_t capacity = 2 * index + 16;
            void *sources =
                arena_grow(analysis->arena, analysis->sources, index, capacity, sizeof(struct source));
            if (!sources) return NULL;
            analysis->sources = sources;
            analysis->source_capacity = capacity;
        }
        /* Beyond the limit nobody can follow where the word goes: it counts as used. */
        analysis->sources[analysis->source_count++] = (struct source){
            .variable = variable, .offset = offset, .size = size, .is_used = index >= SOURCE_LIMIT};
    }
    uint64_t *set = arena_calloc(analysis->arena, SOURCE_WORDS, sizeof *set);
    if (set && index < SOURCE_LIMIT) set[index / 64] |= (uint64_t)1 << (index % 64);
    return set;
}

void sources_use(struct analysis *analysis, const uint64_t *sources)
{
    for (uint32_t i = 0; sources && i < analysis->source_count && i < SOURCE_LIMIT; i++)
        if (sources[i / 64] >> (i % 64) & 1) analysis->sources[i].is_used = true;
}
