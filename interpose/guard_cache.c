/* SPDX-License-Identifier: Apache-2.0
 * See guard_cache.h. */
#include "interpose/guard_cache.h"

#include <stdlib.h>

struct guard_operand {
    uint16_t step, size;
    uint32_t offset;
};
enum { WAYS = 4, SHORTEST = 8 };

static int compare_operands(const void *a, const void *b)
{
    const struct guard_operand *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* The operands of all checks, each once; room for two a check. */
static uint32_t collect(const struct guard_check *checks, uint32_t count, struct guard_operand *operands)
{
    uint32_t all = 0, kept = 0;
    for (const struct guard_check *check = checks; check < checks + count; check++) {
        operands[all++] = (struct guard_operand){check->step_a, guard_size(check), check->offset_a};
        if (guard_is_pair(check->kind))
            operands[all++] = (struct guard_operand){check->step_b, 8, check->offset_b};
    }
    qsort(operands, all, sizeof *operands, compare_operands);
    for (uint32_t i = 0; i < all; i++)
        if (!kept || compare_operands(&operands[kept - 1], &operands[i])) operands[kept++] = operands[i];
    return kept;
}

/* As many comparisons take, about. */
static uint64_t cost_of(const struct guard_check *checks, uint32_t count)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < count; i++) cost += checks[i].kind == GUARD_DIFFERENCE ? 1 : 3;
    return cost;
}

static bool is_prepared(struct guard_cache *cache, const struct guard_check *checks, uint32_t count)
{
    if (cache->operands) return true;
    cache->is_useless = true;
    if (count < SHORTEST) return false;
    struct guard_operand *operands = malloc(2 * (size_t)count * sizeof *operands), *shorter;
    if (!operands) return false;
    cache->operand_count = collect(checks, count, operands);
    cache->is_useless = 2 * (uint64_t)cache->operand_count > cost_of(checks, count);
    if (cache->is_useless) {
        free(operands);
        return false;
    }
    shorter = realloc(operands, cache->operand_count * sizeof *operands);
    cache->operands = shorter ? shorter : operands;
    cache->values = malloc(WAYS * cache->operand_count * sizeof *cache->values);
    cache->generations = malloc(WAYS * sizeof *cache->generations);
    cache->is_useless = !cache->values || !cache->generations;
    return !cache->is_useless;
}

static bool is_alike(const struct guard_cache *cache, const uint64_t *values, const struct guard_view *view)
{
    for (uint32_t i = 0; i < cache->operand_count; i++) {
        const struct guard_operand *operand = &cache->operands[i];
        uint64_t value;
        if (!guard_read(view, operand->step, operand->offset, operand->size, &value) || value != values[i])
            return false;
    }
    return true;
}

static bool is_known(struct guard_cache *cache, uint64_t generation, const struct guard_view *view)
{
    for (uint32_t i = 0; i < cache->ways; i++) {
        uint32_t way = (cache->latest + i) % cache->ways;
        if (cache->generations[way] != generation ||
            !is_alike(cache, cache->values + (size_t)way * cache->operand_count, view))
            continue;
        cache->latest = way;
        return true;
    }
    return false;
}

/* In a way that is free, or in place of the one behind the latest. */
static void remember(struct guard_cache *cache, uint64_t generation, const struct guard_view *view)
{
    uint32_t way = cache->ways < WAYS ? cache->ways++ : (cache->latest + 1) % WAYS;
    uint64_t *values = cache->values + (size_t)way * cache->operand_count;
    for (uint32_t i = 0; i < cache->operand_count; i++) {
        const struct guard_operand *operand = &cache->operands[i];
        guard_read(view, operand->step, operand->offset, operand->size, &values[i]);
    }
    cache->generations[way] = generation;
    cache->latest = way;
}

bool guard_cache_holds(struct guard_cache *cache, const struct guard_check *checks, uint32_t count,
                       const struct guard_view *view)
{
    if (cache->is_useless || !view->generation || !is_prepared(cache, checks, count))
        return guard_holds(checks, count, view);
    uint64_t generation = view->generation(view->context);
    if (is_known(cache, generation, view)) return true;
    if (!guard_holds(checks, count, view)) return false;
    remember(cache, generation, view);
    return true;
}

void guard_cache_free(struct guard_cache *cache)
{
    free(cache->operands);
    free(cache->values);
    free(cache->generations);
}
