/* SPDX-License-Identifier: Apache-2.0
 * What a fused kernel may leave stale: see stale.h. */
#include "fuser/fusion/stale.h"

#include "fuser/fusion/forward.h"
#include "fuser/fusion/space.h"
#include "fuser/fusion/traffic.h"

#include <stdio.h>
#include <string.h>

enum { STALE_OPERATIONS = 500000 }; /* of isl, for a group */

static bool is_in(const struct stale_range *range, const struct group *group, uint32_t member,
                  const struct access *access)
{
    return array_range_holds(&range->range, &group->members[member], access->base);
}

/* The range that the access lies in, or NULL. */
static struct stale_range *range_at(struct stale *stale, const struct group *group, uint32_t member,
                                    const struct access *access)
{
    for (uint32_t i = 0; i < stale->count; i++)
        if (is_in(&stale->ranges[i], group, member, access)) return &stale->ranges[i];
    return NULL;
}

/* --- rules 1 to 3, range by range --- */

static bool is_served(const struct group *group, uint32_t member, uint32_t instruction)
{
    const struct group_forward *forward = group_forward_to(group, member, instruction);
    const struct group_fetch *fetch = group_fetch_to(group, member, instruction);
    return (forward && !forward->first) || (fetch && !fetch->covered) ||
           group_tile_access_of(group, member, instruction);
}

static bool may_be_stale(const struct group *group, const struct stale_range *range)
{
    bool is_loaded = false;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct access_summary *summary = group->members[m].summary;
        for (uint32_t i = 0; i < summary->access_count; i++) {
            const struct access *access = &summary->accesses[i];
            if (!is_in(range, group, m, access)) continue;
            is_loaded |= access->kind == ACCESS_READ;
            if (access->kind == ACCESS_READ
                    ? !is_served(group, m, access->instruction)
                    : !access->domain_is_exact || !forward_may_leave_out(summary, access))
                return false;
        }
    }
    return is_loaded;
}

static bool is_complete(const struct group *group, const struct stale_range *range, isl_ctx *ctx)
{
    char text[96];
    snprintf(text, sizeof text, "{ [x] : %lld <= x < %lld }", (long long)range->range.from,
             (long long)range->range.to);
    isl_set *missing = isl_set_read_from_str(ctx, text);
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || !is_in(range, group, m, access)) continue;
            isl_set *bytes = array_range_bytes(&group->members[m], access);
            if (bytes) missing = isl_set_subtract(missing, bytes);
        }
    bool is = isl_set_is_empty(missing) == isl_bool_true;
    isl_set_free(missing);
    return is;
}

static void add_range(struct memo *memo, const struct group *group, struct stale *stale, uint32_t member,
                      const struct access *access)
{
    const struct bound_launch *launch = &group->members[member];
    struct stale_range *range = &stale->ranges[stale->count];
    *range = (struct stale_range){.range = array_range_of(launch, access->base),
                                  .argument_offset = launch->summary->bases[access->base].argument_offset};
    if (!array_range_is_known(&launch->summary->bases[access->base], &launch->bindings[access->base]) ||
        !array_range_close(group->members, group->member_count, &range->range) ||
        !array_range_find_writer(group->members, group->member_count, &range->range) ||
        !may_be_stale(group, range))
        return;
    range->from = range->range.from - launch->bindings[access->base].offset;
    range->is_stale = true;
    range->is_complete = is_complete(group, range, memo->ctx);
    stale->count++;
}

void stale_collect(struct memo *memo, const struct group *group, struct stale *stale)
{
    *stale = (struct stale){0};
    if (group->refusal || group->rename_count || group->expansions) return;
    struct quota quota = quota_begin(memo->ctx, STALE_OPERATIONS);
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || stale->count == STALE_MOST) continue;
            if (!range_at(stale, group, m, access)) add_range(memo, group, stale, m, access);
        }
    quota_end(&quota);
    stale_restrict(group, stale);
}

/* --- rule 4 --- */

static bool is_stale(struct stale *stale, const struct group *group, uint32_t member,
                     const struct access *access)
{
    const struct stale_range *range = range_at(stale, group, member, access);
    return range && range->is_stale;
}

static bool writes_stale(struct stale *stale, const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++)
        if (summary->accesses[i].kind != ACCESS_READ && is_stale(stale, group, member, &summary->accesses[i]))
            return true;
    return false;
}

/* The member or a later one writes what it reads through the base, or may do so: it is no longer as it was.
 */
static bool is_written(const struct group *group, uint32_t member, uint32_t base)
{
    const struct array_range read = array_range_of(&group->members[member], base);
    for (uint32_t m = member; m < group->member_count; m++) {
        const struct bound_launch *launch = &group->members[m];
        for (uint32_t b = 0; b < launch->summary->base_count; b++) {
            if (!launch->summary->bases[b].is_written || launch->bindings[b].array != read.array) continue;
            if (!launch->summary->bases[b].is_bounded ||
                !group->members[member].summary->bases[base].is_bounded ||
                array_range_holds(&read, launch, b))
                return true;
        }
    }
    return false;
}

static bool may_be_repeated(struct stale *stale, const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (is_stale(stale, group, member, access)) continue;
        if (access->kind != ACCESS_READ || is_written(group, member, access->base)) return false;
        if (!group->members[member].bindings[access->base].is_private)
            return false; /* the host may write it unseen */
    }
    return true;
}

/* False when it writes none. */
static bool store_all_of(struct stale *stale, const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    bool has_changed = false;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        struct stale_range *range = range_at(stale, group, member, &summary->accesses[i]);
        if (summary->accesses[i].kind == ACCESS_READ || !range || !range->is_stale) continue;
        range->is_stale = false;
        has_changed = true;
    }
    return has_changed;
}

void stale_restrict(const struct group *group, struct stale *stale)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        stale->rematerialisation = 0;
        for (uint32_t m = 0; m < group->member_count; m++) {
            if (!writes_stale(stale, group, m)) continue;
            stale->rematerialisation |= 1u << m;
            if (!may_be_repeated(stale, group, m)) has_changed |= store_all_of(stale, group, m);
        }
    }
}

bool stale_store(const struct group *group, struct stale *stale, uint32_t member)
{
    if (!store_all_of(stale, group, member)) return false;
    stale_restrict(group, stale);
    return true;
}

/* --- the group without the stores --- */

struct group *stale_group(const struct group *group, const struct stale *stale, struct arena *arena)
{
    struct stale all = *stale;
    struct group *deferred = arena_alloc(arena, sizeof *deferred);
    uint32_t stores = 0;
    for (uint32_t m = 0; m < group->member_count; m++) stores += group->members[m].summary->access_count;
    struct group_drop *drops = arena_calloc(arena, group->drop_count + stores + 1, sizeof *drops);
    if (!deferred || !drops) return NULL;
    *deferred = *group;
    memcpy(drops, group->drops, group->drop_count * sizeof *drops);
    deferred->drops = drops;
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || !is_stale(&all, group, m, access)) continue;
            if (group_drops(group, m, access->instruction)) continue;
            drops[deferred->drop_count++] = (struct group_drop){m, access->instruction};
        }
    deferred->bytes_saved = traffic_saved(deferred);
    return deferred;
}
