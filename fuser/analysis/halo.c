/* SPDX-License-Identifier: Apache-2.0
 * Finds the wide members, the cells that they run for and the loads that are served from tiles: see halo.h.
 */
#include "fuser/analysis/halo.h"
#include "fuser/analysis/forward.h"
#include "fuser/analysis/halo_source.h"
#include "fuser/analysis/halo_tile.h"
#include "fuser/analysis/unwind.h"

#include <stdio.h>
#include <string.h>

enum { HALO_OPERATIONS = 500000 }; /* of isl, for each member */

struct spread {     /* one member */
    isl_map *cells; /* { F -> F }: the thread, as a cell, that a cell runs */
    uint32_t low[3], high[3];
    bool is_wide;
};
struct halo {
    struct group *group;
    struct frame *frame;
    struct spread *spreads;
    struct frame_failure *failure;
    isl_map **unserved; /* by fetch, a load's first: { F -> [byte] } of the cells that load; NULL: none */
};

static const struct access_summary *summary_of(const struct halo *halo, uint32_t member)
{
    return halo->frame->members[member].summary;
}

static bool refuse(struct halo *halo, const struct placed_access *a, const struct placed_access *b,
                   const char *why)
{
    const struct access_summary *p = summary_of(halo, a->member), *q = summary_of(halo, b->member);
    struct frame_failure *failure = halo->failure;
    if (!failure->reason[0])
        snprintf(failure->reason, sizeof failure->reason, "kernel %s line %u and kernel %s line %u: %s",
                 p->function->name, a->access->line, q->function->name, b->access->line, why);
    if (failure->hazard_count < FRAME_HAZARDS_MOST)
        failure->hazards[failure->hazard_count++] =
            (struct frame_hazard){a->member, b->member, a->index, b->index};
    else
        failure->has_more = true;
    return false;
}

static __isl_give isl_map *bytes_of(const struct halo *halo, const struct placed_access *access)
{
    return isl_map_copy(halo->frame->shapes[access->shape].touch.bytes);
}

/* --- one load and the store that it reads from
 * -------------------------------------------------------------- */

static uint32_t tile_of(struct group *group, const struct placed_access *store)
{
    for (uint32_t i = 0; i < group->tile_count; i++)
        if (group->tiles[i].member == store->member &&
            group->tiles[i].instruction == store->access->instruction)
            return i;
    group->tiles[group->tile_count] =
        (struct group_tile){store->member, store->access->instruction, store->access->width};
    return group->tile_count++;
}

static void widen(struct spread *p, const struct spread *q, const int64_t offset[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t low = (int64_t)q->low[d] - offset[d], high = (int64_t)q->high[d] + offset[d];
        if (low > (int64_t)p->low[d]) p->low[d] = (uint32_t)low;
        if (high > (int64_t)p->high[d]) p->high[d] = (uint32_t)high;
    }
    p->is_wide = true;
}

static struct group_fetch *add_fetch(struct halo *halo, const struct placed_access *store,
                                     const struct placed_access *load, const int64_t offset[3])
{
    struct group *group = halo->group;
    uint32_t count = group->fetch_count;
    struct group_fetch *fetches = arena_grow(group->arena, group->fetches, count, count + 1, sizeof *fetches);
    isl_map **unserved = arena_grow(group->arena, halo->unserved, count, count + 1, sizeof(isl_map *));
    if (fetches) group->fetches = fetches;
    if (unserved) halo->unserved = unserved;
    if (!fetches || !unserved) return NULL;
    halo->unserved[count] = NULL;
    group->fetches[count] =
        (struct group_fetch){load->member, load->access->instruction, tile_of(group, store), {0}, NULL};
    for (int d = 0; d < 3; d++) group->fetches[count].offset[d] = (int32_t)offset[d];
    return &group->fetches[group->fetch_count++];
}

/* Serves the load from the store's tile, and takes the cells that are off *rest; false with the reason. */
static bool serve(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                  isl_map **rest)
{
    struct spread *p = &halo->spreads[store->member];
    const struct spread *q = &halo->spreads[load->member];
    int64_t offset[3];
    if (!forward_is_certain(halo->frame, store) || !load->access->is_once ||
        !load->access->address_is_exact || load->access->is_uncached_order)
        return refuse(halo, store, load, "not one element once a thread");
    if (!forward_is_element(halo->frame, store, load)) return refuse(halo, store, load, "elements differ");
    isl_map *source = halo_source_cells(halo->frame, store, load);
    if (!source) return refuse(halo, store, load, "the element read is not one thread's alone");
    isl_set *served = isl_map_domain(isl_map_copy(source)), *left = isl_map_domain(isl_map_copy(*rest));
    bool is_alone = isl_set_is_subset(served, left) == isl_bool_true;
    isl_set_free(left);
    *rest = isl_map_coalesce(isl_map_subtract_domain(*rest, served));
    struct group_fetch *fetch =
        is_alone && halo_source_place(source, offset) ? add_fetch(halo, store, load, offset) : NULL;
    if (!fetch) {
        isl_map_free(source);
        return refuse(halo, store, load,
                      is_alone ? "they lie at no bounded distance" : "it reads what two stores write");
    }
    isl_map *needed = isl_map_coalesce(isl_map_apply_range(isl_map_copy(q->cells), source));
    fetch->covered = isl_set_coalesce(isl_map_domain(isl_map_copy(needed)));
    widen(p, q, offset);
    p->cells = isl_map_coalesce(isl_map_union(
        p->cells, isl_map_apply_domain(needed, halo_source_translation(halo->frame->ctx, offset))));
    return fetch->covered && p->cells;
}

/* --- one member
 * ----------------------------------------------------------------------------------------------- */

/* Its own cells, each running itself. */
static __isl_give isl_map *own_cells(const struct halo *halo, uint32_t member, bool only_effective)
{
    isl_map *map = isl_map_copy(halo->frame->maps[member]);
    if (only_effective) map = isl_map_intersect_range(map, isl_set_copy(summary_of(halo, member)->effective));
    return isl_set_identity(isl_map_domain(map));
}

struct reading { /* a load of a later member, and a store of this one that it overlaps */
    const struct placed_access *store, *load;
};

/* The loads of later members that overlap what the member writes, those of one load together. is_far: one of
 * them by another cell, or from a wide member. False with the reason when what overlaps is not known. */
static bool find_readings(struct halo *halo, uint32_t p, struct reading *readings, uint32_t *count,
                          bool *is_far)
{
    struct frame *frame = halo->frame;
    for (uint32_t q = p + 1; q < frame->member_count; q++)
        for (uint32_t j = 0; j < summary_of(halo, q)->access_count; j++) {
            const struct placed_access *load = &frame->accesses[q][j];
            if (load->access->kind != ACCESS_READ) continue;
            for (uint32_t i = 0; i < summary_of(halo, p)->access_count; i++) {
                const struct placed_access *store = &frame->accesses[p][i];
                if (!frame_writes(store)) continue;
                enum overlap overlap = frame_overlap(frame, store, load);
                if (overlap == OVERLAP_NONE) continue;
                if (overlap == OVERLAP_UNKNOWN)
                    return refuse(halo, store, load, "an address that is not known");
                *is_far |= overlap == OVERLAP_OTHER || halo->spreads[q].is_wide;
                readings[(*count)++] = (struct reading){store, load};
            }
        }
    return true;
}

/* A write that the thread which loads makes after it. */
static bool comes_after(struct halo *halo, const struct placed_access *write,
                        const struct placed_access *load)
{
    struct order order;
    return write->member == load->member &&
           order_open(&order, halo->frame->arena, summary_of(halo, load->member)->function) &&
           !order_may_follow(&order, write->access->instruction, load->access->instruction);
}

/* Somebody may write the load's bytes after p and before the load. */
static const struct placed_access *writer_between(struct halo *halo, const struct reading *reading)
{
    struct frame *frame = halo->frame;
    for (uint32_t m = reading->store->member + 1; m <= reading->load->member; m++)
        for (uint32_t i = 0; i < summary_of(halo, m)->access_count; i++) {
            const struct placed_access *other = &frame->accesses[m][i];
            if (!frame_writes(other)) continue;
            enum overlap overlap = frame_overlap(frame, other, reading->load);
            if (overlap == OVERLAP_NONE ||
                (overlap == OVERLAP_SAME && comes_after(halo, other, reading->load)))
                continue;
            return other;
        }
    return NULL;
}

/* One load, from all stores of the member that it may read; what none of them wrote is read from memory. */
static bool serve_load(struct halo *halo, const struct reading *readings, uint32_t count)
{
    const struct placed_access *load = readings->load;
    const struct placed_access *other = writer_between(halo, readings);
    if (other) return refuse(halo, other, load, "it is written again before it is read");
    uint32_t first = halo->group->fetch_count;
    isl_map *rest = bytes_of(halo, load);
    bool is_served = true;
    for (uint32_t i = 0; is_served && i < count; i++) is_served = serve(halo, readings[i].store, load, &rest);
    isl_bool is_whole = isl_map_is_empty(rest);
    if (!is_served || is_whole == isl_bool_error) {
        isl_map_free(rest);
        return false;
    }
    if (is_whole == isl_bool_true) rest = isl_map_free(rest);
    halo->unserved[first] = rest;
    struct group_fetch *fetch = &halo->group->fetches[first];
    if (is_whole == isl_bool_true && count == 1) fetch->covered = isl_set_free(fetch->covered);
    return true;
}

static bool spread_member(struct halo *halo, uint32_t member)
{
    struct spread *spread = &halo->spreads[member];
    uint32_t most = 0, count = 0;
    for (uint32_t q = member + 1; q < halo->frame->member_count; q++)
        most += summary_of(halo, q)->access_count;
    most *= summary_of(halo, member)->access_count;
    struct reading *readings = arena_calloc(halo->frame->arena, most + 1, sizeof *readings);
    bool is_far = false;
    if (!readings || !find_readings(halo, member, readings, &count, &is_far)) return false;
    spread->cells = own_cells(halo, member, is_far);
    for (uint32_t i = 0, end; is_far && i < count; i = end) {
        for (end = i + 1; end < count && readings[end].load == readings[i].load;) end++;
        if (!serve_load(halo, &readings[i], end - i)) return false;
    }
    if (is_far && isl_map_is_single_valued(spread->cells) != isl_bool_true)
        return refuse(halo, readings[0].store, readings[0].load,
                      "one place of the tile would need two values");
    return true;
}

/* --- what must not happen
 * ------------------------------------------------------------------------------------- */

/* What a load that is served still reads from memory, and a write. */
static bool rest_is_written(struct halo *halo, const struct group_fetch *fetch,
                            const struct placed_access *load, const struct placed_access *write)
{
    isl_map *rest = halo->unserved[fetch - halo->group->fetches];
    if (!rest || !overlap_may_share(&halo->frame->members[load->member], load->access,
                                    &halo->frame->members[write->member], write->access))
        return false;
    if (halo->frame->shapes[load->shape].array != halo->frame->shapes[write->shape].array)
        return frame_overlap(halo->frame, load, write) != OVERLAP_NONE;
    const struct touch *written = &halo->frame->shapes[write->shape].touch;
    struct touch read = touch_of(halo->frame->memo, rest, load->access->width);
    return !written->bytes || overlap_is_empty(halo->frame->memo, &read, written) != isl_bool_true;
}

/* a is a write; b any access; at least one of two members. */
static bool check_pair(struct halo *halo, const struct placed_access *a, const struct placed_access *b)
{
    const struct spread *other = &halo->spreads[b->member];
    if (a->member == b->member && !other->is_wide) return true;
    const struct group_fetch *fetch = b->access->kind == ACCESS_READ
                                          ? group_fetch_to(halo->group, b->member, b->access->instruction)
                                          : NULL;
    if (fetch)
        return !rest_is_written(halo, fetch, b, a) ||
               refuse(halo, a, b, "what no earlier member computes is written in the group");
    bool is_first = a->member <= b->member;
    enum overlap overlap = frame_overlap(halo->frame, is_first ? a : b, is_first ? b : a);
    if (overlap == OVERLAP_NONE) return true;
    if (overlap == OVERLAP_UNKNOWN) return refuse(halo, a, b, "an address that is not known");
    if (frame_writes(b)) {
        if (a->member == b->member || overlap == OVERLAP_SAME) return true;
        return refuse(halo, a, b, "both write it, from different cells");
    }
    if (other->is_wide) return refuse(halo, a, b, "it is overwritten, and other blocks may read it again");
    return overlap == OVERLAP_SAME || refuse(halo, a, b, "it is overwritten in place, from another cell");
}

/* What one turn of an unwound member writes, no other cell of the member touches: unwind.h. */
static bool check_turns(struct halo *halo, uint32_t member)
{
    struct frame *frame = halo->frame;
    uint32_t count = summary_of(halo, member)->access_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            const struct placed_access *a = &frame->accesses[member][i], *b = &frame->accesses[member][j];
            if (!frame_writes(a)) continue;
            enum overlap overlap = i <= j ? frame_overlap(frame, a, b) : frame_overlap(frame, b, a);
            if (overlap == OVERLAP_UNKNOWN) return refuse(halo, a, b, "an address that is not known");
            if (overlap != OVERLAP_NONE && overlap != OVERLAP_SAME)
                return refuse(halo, a, b, "another iteration of the loop touches what this one writes");
        }
    return true;
}

/* A hazard on this access's array is known already. */
static bool is_told(const struct halo *halo, const struct placed_access *access)
{
    const struct frame *frame = halo->frame;
    for (uint32_t i = 0; i < halo->failure->hazard_count; i++) {
        const struct frame_hazard *hazard = &halo->failure->hazards[i];
        const struct placed_access *other = &frame->accesses[hazard->p][hazard->access_p];
        if (frame->shapes[other->shape].array == frame->shapes[access->shape].array) return true;
    }
    return false;
}

/* All of them are noted, one an array: renaming may dissolve them. */
static bool check_hazards(struct halo *halo)
{
    struct frame *frame = halo->frame;
    bool are_none = true;
    for (uint32_t m = 0; m < frame->member_count; m++)
        if (halo->group->unwound && halo->group->unwound[m] && !check_turns(halo, m)) return false;
    for (uint32_t m = 0; m < frame->member_count; m++)
        for (uint32_t i = 0; i < summary_of(halo, m)->access_count; i++) {
            const struct placed_access *a = &frame->accesses[m][i];
            if (a->access->kind == ACCESS_ATOMIC && halo->spreads[m].is_wide)
                return refuse(halo, a, a, "an atomic would be done again by other blocks");
            if (!frame_writes(a) || is_told(halo, a)) continue;
            for (uint32_t n = 0; n < frame->member_count && !is_told(halo, a); n++)
                for (uint32_t j = 0; j < summary_of(halo, n)->access_count && !is_told(halo, a); j++)
                    are_none &= check_pair(halo, a, &frame->accesses[n][j]);
        }
    return are_none;
}

/* --- the whole
 * -------------------------------------------------------------------------------------------------- */

static bool place_cells(struct halo *halo)
{
    struct frame *frame = halo->frame;
    for (uint32_t m = 0; m < frame->member_count; m++)
        if (!frame_place(frame, m, REMAP_GLOBAL)) return false;
    return true;
}

/* Wide members have a stage each, narrow ones between them share one. */
static void find_stages(struct halo *halo)
{
    struct group *group = halo->group;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct spread *spread = &halo->spreads[m];
        if (m == 0 || spread->is_wide || halo->spreads[m - 1].is_wide) {
            struct group_stage *stage = &group->stages[group->stage_count++];
            stage->first_member = m;
            memcpy(stage->low, spread->low, sizeof stage->low);
            memcpy(stage->high, spread->high, sizeof stage->high);
        }
        group->stages[group->stage_count - 1].member_count++;
        halo->frame->stages[m] = group->stage_count - 1;
    }
}

static bool settle_remaps(struct halo *halo)
{
    for (uint32_t m = 0; m < halo->group->member_count; m++) {
        struct remap *remap = &halo->frame->remaps[m];
        *remap = (struct remap){.kind = REMAP_CELLS};
        if (!halo->spreads[m].is_wide) continue;
        remap->coordinates = isl_pw_multi_aff_from_map(isl_map_copy(halo->spreads[m].cells));
        if (!remap->coordinates) return false;
    }
    return true;
}

static bool allocate(struct halo *halo)
{
    struct group *group = halo->group;
    uint32_t accesses = 1;
    for (uint32_t m = 0; m < group->member_count; m++) accesses += summary_of(halo, m)->access_count;
    struct arena *arena = halo->frame->arena;
    halo->spreads = arena_calloc(arena, group->member_count, sizeof *halo->spreads);
    halo->frame->stages = arena_calloc(arena, group->member_count, sizeof *halo->frame->stages);
    group->stages = arena_calloc(arena, group->member_count, sizeof *group->stages);
    group->tiles = arena_calloc(arena, accesses, sizeof *group->tiles);
    return halo->spreads && halo->frame->stages && group->stages && group->tiles;
}

static bool find(struct halo *halo)
{
    bool is_wide = false;
    if (!place_cells(halo)) return false;
    for (uint32_t m = halo->frame->member_count; m-- > 0;) {
        if (!spread_member(halo, m)) return false;
        is_wide |= halo->spreads[m].is_wide;
    }
    if (!is_wide || !check_hazards(halo)) return false;
    find_stages(halo);
    return settle_remaps(halo) && halo_tile_choose(halo->group, halo->failure);
}

/* Cells of a tile and its border are no blocks of a member. */
static const char *tie_of(const struct group *group)
{
    for (uint32_t m = 0; m < group->member_count; m++)
        if (group->members[m].summary->whole_block) return group->members[m].summary->whole_block;
    return NULL;
}

static void cell_extents(const struct group *group, uint32_t cells[3])
{
    for (int d = 0; d < 3; d++) {
        cells[d] = 1;
        for (uint32_t m = 0; m < group->member_count; m++) {
            const struct access_summary *summary = group->members[m].summary;
            uint64_t own = (uint64_t)summary->grid[d] * summary->block[d];
            if (own > cells[d]) cells[d] = own < INT32_MAX ? (uint32_t)own : 0;
        }
    }
}

static bool find_cells(struct group *group, struct frame *frame, struct memo *memo,
                       struct frame_failure *failure)
{
    static const uint32_t one_block[3] = {1, 1, 1};
    struct halo halo = {.group = group, .frame = frame, .failure = failure};
    memset(failure, 0, sizeof *failure);
    cell_extents(group, group->cells);
    if (!group->cells[0] || !group->cells[1] || !group->cells[2]) return false;
    if (!frame_open(frame, memo, group->arena, group->members, group->member_count, one_block, group->cells))
        return false;
    struct quota quota = quota_begin(memo->ctx, (unsigned long)HALO_OPERATIONS * group->member_count);
    bool found = allocate(&halo) && find(&halo);
    if (!found && !failure->reason[0] && isl_ctx_last_error(memo->ctx) == isl_error_quota)
        snprintf(failure->reason, sizeof failure->reason, "it takes too long to decide");
    quota_end(&quota);
    for (uint32_t m = 0; halo.spreads && m < group->member_count; m++) isl_map_free(halo.spreads[m].cells);
    for (uint32_t i = 0; halo.unserved && i < group->fetch_count; i++) isl_map_free(halo.unserved[i]);
    if (!found) {
        halo_free(group);
        frame_clear(frame);
    }
    return found;
}

/* Members with loops become launches with a thread for each turn. False when none does; *why: of the first
 * that does not, or NULL. */
static bool unwind_members(struct group *group, const char **why)
{
    struct bound_launch *members = arena_calloc(group->arena, group->member_count, sizeof *members);
    group->unwound = arena_calloc(group->arena, group->member_count, sizeof(struct unwound *));
    bool has_turns = false;
    *why = NULL;
    for (uint32_t m = 0; members && group->unwound && m < group->member_count; m++) {
        const struct unwound *unwound = unwind_launch(group->members[m].summary);
        members[m] = group->members[m];
        if (unwound && unwound->refusal && !*why) *why = unwound->refusal;
        if (!unwound || unwound->refusal) continue;
        group->unwound[m] = unwound;
        members[m].summary = &unwound->summary;
        has_turns = true;
    }
    if (has_turns)
        group->members = members;
    else
        group->unwound = NULL;
    return has_turns;
}

bool halo_find(struct group *group, struct frame *frame, struct memo *memo, struct frame_failure *failure)
{
    const struct bound_launch *members = group->members;
    const char *tie = tie_of(group), *why;
    if (tie) {
        memset(failure, 0, sizeof *failure);
        snprintf(failure->reason, sizeof failure->reason, "blocks must stay whole: %s", tie);
        return false;
    }
    if (find_cells(group, frame, memo, failure)) return true;
    if (group->rename_count) return false; /* its view is not that of the unwound launches */
    struct frame_failure of_turns = {0};
    if (unwind_members(group, &why) && find_cells(group, frame, memo, &of_turns)) return true;
    group->members = members;
    group->unwound = NULL;
    if (why)
        snprintf(failure->reason, sizeof failure->reason, "%s", why);
    else if (of_turns.reason[0])
        memcpy(failure->reason, of_turns.reason, sizeof failure->reason);
    return false;
}

void halo_free(struct group *group)
{
    for (uint32_t i = 0; i < group->fetch_count; i++) isl_set_free(group->fetches[i].covered);
    group->stage_count = group->tile_count = group->fetch_count = 0;
}
