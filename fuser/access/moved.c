/* SPDX-License-Identifier: Apache-2.0
 * See moved.h. What tells most launches apart comes first; relations come last. */
#include "fuser/access/moved.h"

#include "fuser/access/overlap.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_shape(const struct access_summary *a, const struct access_summary *b)
{
    return a->function == b->function && !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block) && a->dynamic_shared == b->dynamic_shared &&
           a->access_count == b->access_count && a->base_count == b->base_count &&
           a->round_count == b->round_count && !a->content_count && !b->content_count;
}

static bool same_traits(const struct access_summary *a, const struct access_summary *b)
{
    return !a->refusal && !b->refusal && same_text(a->no_member, b->no_member) &&
           same_text(a->keeps_place, b->keeps_place) && same_text(a->whole_block, b->whole_block) &&
           same_text(a->no_whole_block, b->no_whole_block) && a->is_exit_divergent == b->is_exit_divergent &&
           a->has_barrier == b->has_barrier && a->has_shared == b->has_shared &&
           a->has_local == b->has_local && a->has_warp_collective == b->has_warp_collective &&
           a->has_atomic == b->has_atomic && a->has_loop == b->has_loop && a->has_pipeline == b->has_pipeline;
}

static bool find_distance(const struct access_base *a, const struct access_base *b, int64_t *distance)
{
    *distance = a->is_bounded ? b->from - a->from : 0;
    return a->kind == b->kind && a->argument_offset == b->argument_offset &&
           same_text(a->variable, b->variable) && a->is_bounded == b->is_bounded &&
           a->is_read == b->is_read && a->is_written == b->is_written && b->from - a->from == *distance &&
           b->to - a->to == *distance;
}

static bool same_flow(const struct access_summary *a, const struct access_summary *b)
{
    uint32_t blocks = a->round_count, instructions = a->function->instruction_count;
    return !a->is_idle == !b->is_idle && !a->branches == !b->branches &&
           (!a->is_idle || !memcmp(a->is_idle, b->is_idle, blocks * sizeof *a->is_idle)) &&
           (!a->branches || !memcmp(a->branches, b->branches, instructions * sizeof *a->branches));
}

static bool same_set(__isl_keep isl_set *a, __isl_keep isl_set *b)
{
    return (!a && !b) || (a && b && isl_set_plain_is_equal(a, b) == isl_bool_true);
}

static bool same_ways(const struct access_summary *a, const struct access_summary *b)
{
    bool is_same = !a->ways == !b->ways;
    for (uint32_t i = 0; is_same && a->ways && i < a->function->instruction_count; i++)
        is_same = same_set(a->ways[i].taken, b->ways[i].taken) &&
                  same_set(a->ways[i].otherwise, b->ways[i].otherwise);
    return is_same;
}

static bool same_rounds(const struct access_summary *a, const struct access_summary *b)
{
    for (uint32_t i = 0; i < a->round_count; i++)
        if (!same_set(a->rounds[i], b->rounds[i])) return false;
    return true;
}

static bool same_access(const struct access *a, const struct access *b)
{
    return a->kind == b->kind && a->instruction == b->instruction && a->base == b->base &&
           a->width == b->width && a->address_is_exact == b->address_is_exact &&
           a->domain_is_exact == b->domain_is_exact && a->is_once == b->is_once &&
           a->most_instances == b->most_instances && a->is_uncached_order == b->is_uncached_order &&
           a->ends_loop == b->ends_loop && same_text(a->reason, b->reason) && !a->relation == !b->relation;
}

static bool relation_is_moved(const struct access *a, const struct access *b, int64_t distance)
{
    isl_map *moved = overlap_moved(isl_map_copy(a->relation), distance);
    bool is = moved && isl_map_plain_is_equal(moved, b->relation) == isl_bool_true;
    isl_map_free(moved);
    return is;
}

bool access_is_moved(const struct access_summary *here, const struct access_summary *there,
                     int64_t *distances)
{
    if (!same_shape(here, there) || !same_traits(here, there)) return false;
    for (uint32_t b = 0; b < here->base_count; b++)
        if (!find_distance(&here->bases[b], &there->bases[b], &distances[b])) return false;
    for (uint32_t i = 0; i < here->access_count; i++)
        if (!same_access(&here->accesses[i], &there->accesses[i])) return false;
    if (!same_flow(here, there) || !same_set(here->threads, there->threads) ||
        !same_set(here->effective, there->effective) || !same_rounds(here, there) || !same_ways(here, there))
        return false;
    for (uint32_t i = 0; i < here->access_count; i++)
        if (here->accesses[i].relation &&
            !relation_is_moved(&here->accesses[i], &there->accesses[i], distances[here->accesses[i].base]))
            return false;
    return true;
}
