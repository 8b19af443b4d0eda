/* SPDX-License-Identifier: Apache-2.0
 * Ranges of arrays: see range.h. */
#include "fuser/access/array_range.h"

#include "fuser/access/overlap.h"

bool array_range_is_known(const struct access_base *base, const struct array_binding *binding)
{
    return base->kind == ACCESS_BASE_ARGUMENT && base->is_bounded && binding->is_private &&
           binding->array < ARRAY_RANGE_FIRST_NEW;
}

struct array_range array_range_of(const struct bound_launch *launch, uint32_t base)
{
    const struct access_base *of = &launch->summary->bases[base];
    const struct array_binding *binding = &launch->bindings[base];
    return (struct array_range){
        .array = binding->array, .from = of->from + binding->offset, .to = of->to + binding->offset};
}

struct array_range array_range_reach(const struct bound_launch *launch, uint32_t base)
{
    struct array_range range = array_range_of(launch, base);
    if (!launch->summary->bases[base].is_bounded) range.from = INT64_MIN, range.to = INT64_MAX;
    return range;
}

struct array_range array_range_behind(const struct bound_launch *launch, uint32_t argument_offset,
                                      int64_t from, int64_t bytes)
{
    const struct access_base *bases = launch->summary->bases;
    uint32_t base = 0;
    while (bases[base].kind != ACCESS_BASE_ARGUMENT || bases[base].argument_offset != argument_offset) base++;
    const struct array_binding *binding = &launch->bindings[base];
    return (struct array_range){
        .array = binding->array, .from = binding->offset + from, .to = binding->offset + from + bytes};
}

/* An address of unknown origin may lie anywhere. */
bool array_range_meet(const struct array_range *a, const struct array_range *b)
{
    if (a->array == ARRAY_RANGE_UNKNOWN || b->array == ARRAY_RANGE_UNKNOWN) return true;
    return a->array == b->array && a->from < b->to && b->from < a->to;
}

bool array_range_holds(const struct array_range *range, const struct bound_launch *launch, uint32_t base)
{
    const struct array_range of = array_range_of(launch, base);
    return of.array == range->array && of.from < of.to && of.from < range->to && of.to > range->from;
}

bool array_range_close(const struct bound_launch *members, uint32_t count, struct array_range *range)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (uint32_t m = 0; m < count; m++) {
            const struct bound_launch *launch = &members[m];
            for (uint32_t b = 0; b < launch->summary->base_count; b++) {
                const struct access_base *base = &launch->summary->bases[b];
                if (launch->bindings[b].array != range->array || (base->is_bounded && base->from == base->to))
                    continue;
                if (!array_range_is_known(base, &launch->bindings[b])) return false;
                if (!array_range_holds(range, launch, b)) continue;
                const struct array_range of = array_range_of(launch, b);
                has_changed |= of.from < range->from || of.to > range->to;
                range->from = of.from < range->from ? of.from : range->from;
                range->to = of.to > range->to ? of.to : range->to;
            }
        }
    }
    return true;
}

bool array_range_find_writer(const struct bound_launch *members, uint32_t count, struct array_range *range)
{
    range->writer = UINT32_MAX;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < members[m].summary->access_count; i++) {
            const struct access *access = &members[m].summary->accesses[i];
            if (access->kind == ACCESS_ATOMIC) return false;
            if (access->kind == ACCESS_READ || range->writer != UINT32_MAX) continue;
            if (array_range_holds(range, &members[m], access->base)) range->writer = m;
        }
    return range->writer != UINT32_MAX;
}

bool array_range_writes_through(const struct access_summary *summary, uint32_t base)
{
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].base == base && summary->accesses[i].kind == ACCESS_WRITE) return true;
    return false;
}

__isl_give isl_set *array_range_bytes(const struct bound_launch *launch, const struct access *access)
{
    isl_map *first = overlap_thread_bytes(launch, access);
    return first ? isl_set_coalesce(overlap_all_bytes(isl_map_range(first), access->width)) : NULL;
}
