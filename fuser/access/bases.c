/* SPDX-License-Identifier: Apache-2.0
 * Pointers: what they point into, each thing once. */
#include "fuser/access/analysis.h"

#include <string.h>

static bool is_same_base(const struct base *a, const struct base *b)
{
    if (a->kind != b->kind || a->argument_offset != b->argument_offset) return false;
    return a->kind != BASE_VARIABLE || strcmp(a->variable, b->variable) == 0;
}

static uint32_t find_base(struct analysis *analysis, struct base base)
{
    for (uint32_t i = 0; i < analysis->base_count; i++)
        if (is_same_base(&analysis->bases[i], &base)) return i;
    if (analysis->base_count == analysis->base_capacity) {
        uint32_t capacity = 2 * analysis->base_capacity + 8;
        void *bases =
            arena_grow(analysis->arena, analysis->bases, analysis->base_count, capacity, sizeof base);
        if (!bases) return 0; /* the unknown one */
        analysis->bases = bases;
        analysis->base_capacity = capacity;
    }
    analysis->bases[analysis->base_count] = base;
    return analysis->base_count++;
}

const struct value *bases_pointer(struct analysis *analysis, struct base base, int64_t offset)
{
    return value_pointer(analysis, find_base(analysis, base), affine_constant(analysis, offset),
                         range_point(offset), NULL, NULL);
}
