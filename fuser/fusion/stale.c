/* SPDX-License-Identifier: Apache-2.0
 * What a fused kernel may leave stale: see stale.h. */
#include "fuser/fusion/stale.h"

#include "fuser/fusion/box.h"
#include "fuser/fusion/forward.h"
#include "fuser/fusion/halo_source.h"
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
    return (forward && !forward->first) || (fetch && fetch->is_whole) ||
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

/* { [byte] } from the range's first one; NULL: not known. */
static __isl_give isl_set *bytes_written(const struct group *group, const struct stale_range *range,
                                         isl_ctx *ctx)
{
    isl_set *written = isl_set_read_from_str(ctx, "{ [x] : false }");
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || !is_in(range, group, m, access)) continue;
            written = isl_set_union(written, array_range_bytes(&group->members[m], access));
        }
    char text[64];
    snprintf(text, sizeof text, "{ [x] -> [x - %lld] }", (long long)range->range.from);
    return isl_set_coalesce(isl_set_apply(written, isl_map_read_from_str(ctx, text)));
}

static void find_written(const struct group *group, struct stale_range *range, struct memo *memo)
{
    isl_set *written = memo_explicit(memo, bytes_written(group, range, memo->ctx));
    int64_t bytes = range->range.to - range->range.from;
    bool is_box = written && box_of(written, &range->written);
    if (!is_box) range->written = (struct group_box){0};
    range->is_complete = is_box && range->written.from == 0 && (int64_t)range->written.width == bytes;
    isl_set_free(written);
}

static void add_range(const struct group *group, struct stale *stale, uint32_t member,
                      const struct access *access)
{
    const struct bound_launch *launch = &group->members[member];
    struct stale_range *range = &stale->ranges[stale->count];
    *range = (struct stale_range){.range = array_range_of(launch, access->base),
                                  .argument_offset = launch->summary->bases[access->base].argument_offset};
    if (launch->bindings[access->base].array >= ARRAY_RANGE_FIRST_NEW || /* renamed: a result */
        !array_range_is_known(&launch->summary->bases[access->base], &launch->bindings[access->base]) ||
        !array_range_close(group->members, group->member_count, &range->range) ||
        !array_range_find_writer(group->members, group->member_count, &range->range) ||
        !may_be_stale(group, range))
        return;
    range->from = range->range.from - launch->bindings[access->base].offset;
    range->is_stale = true;
    stale->count++;
}

void stale_find(const struct group *group, struct stale *stale)
{
    *stale = (struct stale){0};
    if (group->refusal || group->expansions || group->member_count > STALE_MOST_MEMBERS) return;
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || stale->count == STALE_MOST) continue;
            if (!range_at(stale, group, m, access)) add_range(group, stale, m, access);
        }
    stale_restrict(group, stale);
}

void stale_collect(struct memo *memo, const struct group *group, struct stale *stale)
{
    stale_find(group, stale);
    struct quota quota = quota_begin(memo->ctx, STALE_OPERATIONS);
    for (uint32_t i = 0; i < stale->count; i++)
        if (stale->ranges[i].is_stale) find_written(group, &stale->ranges[i], memo);
    quota_end(&quota);
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

/* Its words are moved to one buffer: that which has the new contents, for members behind the one that renames. */
static bool reads_old_behind(const struct group *group, uint32_t member, const struct access *access)
{
    for (uint32_t i = 0; i < group->rename_count; i++) {
        const struct group_rename *rename = &group->renames[i];
        if (member <= rename->member) continue;
        const struct array_range range = {
            .array = rename->of, .from = rename->start, .to = rename->start + (int64_t)rename->bytes};
        if (array_range_holds(&range, &group->members[member], access->base)) return true;
    }
    return access->rest_is_old;
}

static bool may_be_repeated(struct stale *stale, const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (is_stale(stale, group, member, access)) continue;
        if (access->kind != ACCESS_READ || is_written(group, member, access->base)) return false;
        if (reads_old_behind(group, member, access)) return false;
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

/* --- a part of a range --- */

enum {
    SECTOR = 32,
    STORED_MOST = 4,  /* one in so many bytes may be stored */
    COMPARED_MOST = 8 /* boxes of cells */
};

const struct group_box *stale_left(const struct stale_range *range)
{
    return range->left.width ? &range->left : &range->written;
}

/* Each cell that stores is the thread with its numbers. */
static bool has_cells(const struct group *group, uint32_t member)
{
    const struct remap *remap = &group->remaps[member];
    return remap->kind == REMAP_CELLS && !remap->own && (!remap->coordinates || remap->is_recomputed) &&
           !group_cut_of(group, member);
}

bool stale_narrow(const struct group *group, struct stale *stale, uint32_t range,
                  const struct group_box *left)
{
    struct stale_range *of = &stale->ranges[range];
    if (!group->stage_count || !of->written.width || !box_covers(&of->written, left) ||
        box_bytes(left) < box_bytes(&of->written) / STORED_MOST * (STORED_MOST - 1) ||
        box_bytes(left) == box_bytes(stale_left(of)))
        return false;
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind == ACCESS_WRITE && is_in(of, group, m, access) && !has_cells(group, m))
                return false;
        }
    of->left = *left;
    return true;
}

/* { F -> L } of a member's cells and threads. */
static __isl_give isl_map *threads_of_cells(const struct access_summary *summary, isl_ctx *ctx)
{
    char text[420];
    const uint32_t *block = summary->block;
    snprintf(
        text, sizeof text,
        "{ F[bz, by, bx, tz, ty, tx] -> L[floor(tz/%u), floor(ty/%u), floor(tx/%u), tz mod %u, ty mod %u, tx "
        "mod %u] : bz = 0 and by = 0 and bx = 0 }",
        block[2], block[1], block[0], block[2], block[1], block[0]);
    return isl_map_read_from_str(ctx, text);
}

/* Those that the range leaves stale store nothing. NULL: isl gave up, or it takes more than a few comparisons. */
static __isl_give isl_set *storing_cells(const struct group *group, uint32_t member,
                                         const struct access *access, const struct stale_range *range,
                                         double *share)
{
    isl_map *bytes = overlap_thread_bytes(&group->members[member], access);
    if (!bytes) return NULL;
    isl_ctx *ctx = isl_map_get_ctx(bytes);
    struct group_box first = *stale_left(range); /* bytes: of those whose element lies in it */
    if (first.width < access->width) {
        isl_map_free(bytes);
        return NULL;
    }
    first.from += range->range.from;
    first.width -= access->width - 1;
    bytes = isl_map_apply_range(threads_of_cells(group->members[member].summary, ctx), bytes);
    isl_set *all = isl_map_domain(isl_map_copy(bytes));
    isl_set *cells = isl_map_domain(isl_map_subtract_range(bytes, box_set(ctx, &first)));
    cells = isl_set_coalesce(isl_set_remove_redundancies(isl_set_detect_equalities(cells)));
    double sectors = SECTOR / (double)access->width;
    *share =
        all ? halo_source_set_count(cells) * (sectors > 1 ? sectors : 1) / halo_source_set_count(all) : 1;
    isl_set_free(all);
    bool is_plain = cells && isl_set_involves_locals(cells) == isl_bool_false &&
                    isl_set_n_basic_set(cells) <= COMPARED_MOST;
    return is_plain ? cells : isl_set_free(cells);
}

/* --- the group without the stores --- */

/* False: isl gave up. */
static bool leave_out(struct group *deferred, uint32_t member, const struct access *access,
                      const struct stale_range *range)
{
    if (!range->left.width) {
        deferred->drops[deferred->drop_count++] = (struct group_drop){member, access->instruction};
        return true;
    }
    double share;
    isl_set *cells = storing_cells(deferred, member, access, range, &share);
    if (!cells) return false;
    const struct group_kept *before = group_kept_of(deferred, member, access->instruction);
    struct group_kept *kept = &deferred->kept[before ? before - deferred->kept : deferred->kept_count];
    if (before)
        cells = isl_set_intersect(cells, kept->cells);
    else
        *kept = (struct group_kept){member, access->instruction, NULL, 1};
    kept->cells = cells;
    kept->share *= share;
    deferred->kept_count += !before;
    return cells;
}

void stale_group_free(struct group *group)
{
    for (uint32_t i = 0; group && i < group->kept_count; i++) isl_set_free(group->kept[i].cells);
    if (group) group->kept_count = 0;
}

struct group *stale_group(const struct group *group, const struct stale *stale, struct arena *arena)
{
    struct stale all = *stale;
    struct group *deferred = arena_alloc(arena, sizeof *deferred);
    uint32_t stores = 0;
    for (uint32_t m = 0; m < group->member_count; m++) stores += group->members[m].summary->access_count;
    struct group_drop *drops = arena_calloc(arena, group->drop_count + stores + 1, sizeof *drops);
    struct group_kept *kept = arena_calloc(arena, group->kept_count + stores + 1, sizeof *kept);
    if (!deferred || !drops || !kept) return NULL;
    *deferred = *group;
    memcpy(drops, group->drops, group->drop_count * sizeof *drops);
    deferred->drops = drops;
    deferred->kept = kept;
    for (uint32_t i = 0; i < group->kept_count; i++) {
        kept[i] = group->kept[i];
        kept[i].cells = isl_set_copy(kept[i].cells);
    }
    for (uint32_t m = 0; m < group->member_count; m++)
        for (uint32_t i = 0; i < group->members[m].summary->access_count; i++) {
            const struct access *access = &group->members[m].summary->accesses[i];
            if (access->kind != ACCESS_WRITE || !is_stale(&all, group, m, access)) continue;
            if (group_drops(group, m, access->instruction)) continue;
            if (leave_out(deferred, m, access, range_at(&all, group, m, access))) continue;
            stale_group_free(deferred);
            return NULL;
        }
    deferred->bytes_saved = traffic_saved(deferred);
    return deferred;
}
