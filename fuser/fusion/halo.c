/* SPDX-License-Identifier: Apache-2.0
 * Finds the recomputed members, the cells that they run for and the loads that are served from tiles: see
 * halo.h. */
#include "fuser/fusion/halo_moves.h"
#include "fuser/fusion/halo.h"
#include "fuser/access/expansion.h"
#include "fuser/fusion/halo_parts.h"
#include "fuser/fusion/halo_source.h"
#include "fuser/fusion/halo_tile.h"
#include "fuser/fusion/prefetch.h"
#include "fuser/fusion/rows.h"

#include <stdio.h>
#include <string.h>

enum {
    HALO_OPERATIONS = 500000, /* of isl, for each member */
    AT_A_TIME = 1 << 16       /* threads of a device */
};

/* --- one member
 * ----------------------------------------------------------------------------------------------- */

/* Its own cells, each running itself. Of a member that others look at by cells, those need not run whose stores all give way. */
static __isl_give isl_map *own_cells(const struct halo *halo, uint32_t member, bool only_effective)
{
    const struct spread *spread = &halo->spreads[member];
    isl_map *map = isl_map_copy(halo->space->maps[member]);
    if (only_effective)
        map = isl_map_intersect_range(map, isl_set_copy(halo_summary(halo, member)->effective));
    isl_set *own = isl_map_domain(map);
    if ((spread->is_small || spread->is_recomputed) && halo_gives_way(halo, member))
        own = isl_set_intersect(own, halo_storing(halo, member));
    return isl_set_identity(own);
}

static struct halo_load *load_of(const struct halo *halo, const struct placed_access *access)
{
    for (uint32_t i = 0; i < halo->load_count; i++)
        if (halo->loads[i].load == access) return &halo->loads[i];
    return NULL;
}

static bool list_loads(struct halo *halo)
{
    uint32_t most = 1;
    for (uint32_t m = 0; m < halo->space->member_count; m++) most += halo_summary(halo, m)->access_count;
    halo->loads = arena_calloc(halo->space->arena, most, sizeof *halo->loads);
    for (uint32_t m = 0; halo->loads && m < halo->space->member_count; m++)
        for (uint32_t i = 0; i < halo_summary(halo, m)->access_count; i++)
            if (halo->space->accesses[m][i].access->kind == ACCESS_READ)
                halo->loads[halo->load_count++].load = &halo->space->accesses[m][i];
    return halo->loads;
}

/* The load may read what an earlier member writes. is_elsewhere: in another cell, as far as overlaps tell.
 * False with the reason when it is not known. */
static bool look_back(struct halo *halo, struct halo_load *load, bool *reads_recomputed)
{
    *reads_recomputed = halo->spreads[load->load->member].is_recomputed;
    bool reads_any = false;
    for (uint32_t p = 0; p < load->load->member; p++)
        for (uint32_t i = 0; i < halo_summary(halo, p)->access_count; i++) {
            const struct placed_access *store = &halo->space->accesses[p][i];
            if (!placed_writes(store)) continue;
            enum overlap overlap = space_overlap(halo->space, store, load->load);
            if (overlap == OVERLAP_NONE) continue;
            if (overlap == OVERLAP_UNKNOWN)
                return halo_refuse(halo, store, load->load, "an address that is not known");
            load->is_elsewhere |= overlap == OVERLAP_OTHER;
            *reads_recomputed |= halo->spreads[p].is_recomputed;
            reads_any = true;
        }
    *reads_recomputed &= reads_any;
    return true;
}

/* Rule 2: one that is read from afar makes others so. */
static bool find_recomputed(struct halo *halo)
{
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t i = 0; i < halo->load_count; i++) {
            struct halo_load *load = &halo->loads[i];
            bool reads_recomputed;
            if (load->is_served) continue;
            if (!look_back(halo, load, &reads_recomputed)) return false;
            if (!load->is_elsewhere && !reads_recomputed) continue;
            if (!halo_find_writers(halo, load)) return false;
            load->is_served = has_changed = true;
            for (uint32_t k = 0; k < load->writer_count; k++)
                halo->spreads[load->writers[k].store->member].is_recomputed = true;
        }
    }
    return true;
}

/* All that later members read of the member: first what large ones read, whose places are not chosen freely.
 */
static bool spread_member(struct halo *halo, uint32_t member)
{
    struct spread *spread = &halo->spreads[member];
    const struct halo_load *last = NULL;
    spread->cells = own_cells(halo, member, spread->is_recomputed);
    for (int small = 0; small < 2; small++)
        for (uint32_t i = 0; i < halo->load_count; i++) {
            struct halo_load *load = &halo->loads[i];
            if (halo->spreads[load->load->member].is_small != small) continue;
            for (uint32_t k = 0; k < load->writer_count; k++) {
                if (load->writers[k].store->member != member) continue;
                if (!halo_serve(halo, load, &load->writers[k])) return false;
                last = load;
            }
        }
    if (last && !halo_moves_agree(spread->cells, spread->cells))
        return halo_refuse(halo, last->writers[0].store, last->load,
                           "one place of the tile would need two values");
    return !halo->layers || spread->is_flat || halo_clip_layers(halo, spread);
}

static const struct placed_access *store_of(const struct halo *halo, const struct group_tile *tile)
{
    const struct placed_access *store = halo->space->accesses[tile->member];
    while (store->access->instruction != tile->instruction) store++;
    return store;
}

/* No thread makes both: of one that does, a place cannot tell which value it has. */
static bool may_share(const struct halo *halo, const struct group_tile *a, const struct group_tile *b)
{
    for (uint32_t i = 0; i < halo->twin_count; i++)
        if (halo->twins[i].of == store_of(halo, a) || halo->twins[i].of == store_of(halo, b)) return false;
    const struct touch *of_a = &halo->space->shapes[store_of(halo, a)->shape].touch;
    const struct touch *of_b = &halo->space->shapes[store_of(halo, b)->shape].touch;
    if (a->member != b->member || a->bytes != b->bytes || !of_a->bytes || !of_b->bytes || a->is_masked ||
        b->is_masked)
        return false;
    isl_set *makes_a = isl_map_domain(isl_map_copy(of_a->bytes)),
            *makes_b = isl_map_domain(isl_map_copy(of_b->bytes));
    bool is_apart = isl_set_is_disjoint(makes_a, makes_b) == isl_bool_true;
    isl_set_free(makes_a);
    isl_set_free(makes_b);
    return is_apart;
}

/* Stores of several branches need the room of one. */
static void share_tiles(struct halo *halo)
{
    struct group *group = halo->group;
    for (uint32_t i = 0; i < group->tile_count; i++)
        for (uint32_t to = 0; to < i && group->tiles[i].kept_in == i; to++) {
            bool may = group->tiles[to].kept_in == to;
            for (uint32_t k = to; k < i && may; k++)
                may = group->tiles[k].kept_in != to || may_share(halo, &group->tiles[k], &group->tiles[i]);
            if (may) group->tiles[i].kept_in = to;
        }
}

static bool is_same_place(const struct group *group, const struct group_fetch *a, const struct group_fetch *b)
{
    return group->tiles[a->tile].kept_in == group->tiles[b->tile].kept_in &&
           !memcmp(a->offset, b->offset, sizeof a->offset);
}

/* Among those of its load from first on, one that finds its value in the same place serves what both do. */
static void add_fetch(const struct group *group, struct group_fetch *sorted, uint32_t first, uint32_t *count,
                      const struct group_fetch *fetch)
{
    uint32_t i = first;
    while (i < *count && !is_same_place(group, &sorted[i], fetch)) i++;
    if (i == *count)
        sorted[(*count)++] = *fetch;
    else
        sorted[i].covered = isl_set_coalesce(isl_set_union(sorted[i].covered, fetch->covered));
}

/* Fetches of one load lie together, and one that serves all of it needs no condition. */
static bool sort_fetches(struct halo *halo)
{
    struct group *group = halo->group;
    struct group_fetch *sorted = arena_calloc(group->arena, group->fetch_count + 1, sizeof *sorted);
    uint32_t count = 0;
    for (uint32_t i = 0; sorted && i < halo->load_count; i++) {
        const struct placed_access *load = halo->loads[i].load;
        uint32_t first = count;
        for (uint32_t k = 0; k < group->fetch_count; k++)
            if (group->fetches[k].to_member == load->member &&
                group->fetches[k].to_instruction == load->access->instruction)
                add_fetch(group, sorted, first, &count, &group->fetches[k]);
        bool is_whole = !halo->loads[i].rest;
        for (uint32_t k = first; k < count; k++) is_whole &= !group->tiles[sorted[k].tile].is_masked;
        for (uint32_t k = first; k < count; k++) sorted[k].is_whole = is_whole;
        if (count == first + 1 && is_whole) sorted[first].covered = isl_set_free(sorted[first].covered);
    }
    if (!sorted) return false;
    group->fetches = sorted;
    group->fetch_count = count;
    return true;
}

/* --- what must not happen
 * ------------------------------------------------------------------------------------- */

/* What the load reads in memory in the cells that run, of these bytes, and a write of the same array. */
static bool meets(const struct halo *halo, const struct placed_access *load, __isl_keep isl_map *bytes,
                  const struct placed_access *write)
{
    const struct touch *written = &halo->space->shapes[write->shape].touch;
    isl_map *read = isl_map_copy(bytes);
    if (halo_gives_way(halo, load->member))
        read = isl_map_intersect_domain(read, isl_map_range(isl_map_copy(halo->spreads[load->member].cells)));
    struct touch touch = touch_of(halo->space->memo, read, load->access->width);
    bool may_meet = !written->bytes || overlap_is_empty(halo->space->memo, &touch, written) != isl_bool_true;
    isl_map_free(read);
    return may_meet;
}

/* What a load that is served still reads from memory, and a write. */
static bool rest_is_written(struct halo *halo, const struct halo_load *served,
                            const struct placed_access *write)
{
    const struct placed_access *load = served->load;
    if (!served->rest || !overlap_may_share(&halo->space->members[load->member], load->access,
                                            &halo->space->members[write->member], write->access))
        return false;
    if (halo->space->shapes[load->shape].array != halo->space->shapes[write->shape].array)
        return space_overlap(halo->space, load, write) != OVERLAP_NONE;
    return meets(halo, load, served->rest, write);
}

/* What data may keep a writer from storing is in memory then: nobody else writes it, unless into the second buffer. */
static bool masked_is_written(const struct halo *halo, const struct halo_load *served,
                              const struct placed_access *write)
{
    const struct space *space = halo->space;
    const struct placed_access *load = served->load;
    if (load->access->rest_is_old && write->member >= load->member) return false;
    for (uint32_t i = 0; i < served->writer_count; i++) {
        const struct halo_writer *writer = &served->writers[i];
        if (!writer->masked || writer->store == write || halo_are_twins(halo, write, writer->store) ||
            !overlap_may_share(&space->members[load->member], load->access, &space->members[write->member],
                               write->access))
            continue;
        if (space->shapes[load->shape].array != space->shapes[write->shape].array ||
            meets(halo, load, writer->masked, write))
            return true;
    }
    return false;
}

/* Cells of the load's member that would read what is written do not run, as their stores give way. */
static bool is_not_run(const struct halo *halo, const struct placed_access *load,
                       const struct placed_access *write)
{
    const struct space *space = halo->space;
    isl_map *bytes = space->shapes[load->shape].touch.bytes;
    return bytes && halo_gives_way(halo, load->member) &&
           space->shapes[load->shape].array == space->shapes[write->shape].array &&
           !meets(halo, load, bytes, write);
}

/* a is a write; b any access; at least one of two members. */
static bool check_pair(struct halo *halo, const struct placed_access *a, const struct placed_access *b)
{
    const struct spread *other = &halo->spreads[b->member];
    if (a->member == b->member && !other->is_recomputed) return true;
    const struct halo_load *load = b->access->kind == ACCESS_READ ? load_of(halo, b) : NULL;
    if (load && masked_is_written(halo, load, a))
        return halo_refuse(halo, a, b, "what a store may leave as it was is written in the group");
    if (load && load->is_served)
        return (b->access->rest_is_old && a->member >= b->member) || !rest_is_written(halo, load, a) ||
               halo_refuse(halo, a, b, "what no earlier member computes is written in the group");
    if (b->access->rest_is_old)
        return halo_refuse(halo, a, b, "a part of it is written before, and comes from nowhere else");
    bool is_first = a->member <= b->member;
    enum overlap overlap = space_overlap(halo->space, is_first ? a : b, is_first ? b : a);
    if (overlap == OVERLAP_NONE) return true;
    if (overlap == OVERLAP_UNKNOWN) return halo_refuse(halo, a, b, "an address that is not known");
    if (placed_writes(b)) {
        if (a->member == b->member || overlap == OVERLAP_SAME ||
            halo_make_way(halo, is_first ? a : b, is_first ? b : a))
            return true;
        return halo_refuse(halo, a, b, "both write it, from different cells");
    }
    if (other->is_recomputed)
        return is_not_run(halo, b, a) ||
               halo_refuse(halo, a, b, "it is overwritten, and other blocks may read it again");
    return overlap == OVERLAP_SAME || is_not_run(halo, b, a) ||
           halo_refuse(halo, a, b, "it is overwritten in place, from another cell");
}

/* What one iteration of an expanded member writes, no other cell of the member touches: expansion.h. */
static bool check_iterations(struct halo *halo, uint32_t member)
{
    struct space *space = halo->space;
    uint32_t count = halo_summary(halo, member)->access_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            const struct placed_access *a = &space->accesses[member][i], *b = &space->accesses[member][j];
            if (!placed_writes(a)) continue;
            enum overlap overlap = i <= j ? space_overlap(space, a, b) : space_overlap(space, b, a);
            if (overlap == OVERLAP_UNKNOWN) return halo_refuse(halo, a, b, "an address that is not known");
            if (overlap != OVERLAP_NONE && overlap != OVERLAP_SAME)
                return halo_refuse(halo, a, b, "another iteration of the loop touches what this one writes");
        }
    return true;
}

/* A hazard on this access's array is known already. */
static bool is_told(const struct halo *halo, const struct placed_access *access)
{
    const struct space *space = halo->space;
    for (uint32_t i = 0; i < halo->failure->hazard_count; i++) {
        const struct placement_hazard *hazard = &halo->failure->hazards[i];
        const struct placed_access *other = &space->accesses[hazard->p][hazard->access_p];
        if (space->shapes[other->shape].array == space->shapes[access->shape].array) return true;
    }
    return false;
}

/* All of them are noted, one an array: renaming may dissolve them. */
static bool check_hazards(struct halo *halo)
{
    struct space *space = halo->space;
    bool are_none = true;
    for (uint32_t m = 0; m < space->member_count; m++)
        if (halo->group->expansions && halo->group->expansions[m] && !check_iterations(halo, m)) return false;
    for (uint32_t m = 0; m < space->member_count; m++)
        for (uint32_t i = 0; i < halo_summary(halo, m)->access_count; i++) {
            const struct placed_access *a = &space->accesses[m][i];
            if (a->access->kind == ACCESS_ATOMIC && halo->spreads[m].is_recomputed)
                return halo_refuse(halo, a, a, "an atomic would be done again by other blocks");
            if (!placed_writes(a) || is_told(halo, a)) continue;
            for (uint32_t n = 0; n < space->member_count && !is_told(halo, a); n++)
                for (uint32_t j = 0; j < halo_summary(halo, n)->access_count && !is_told(halo, a); j++)
                    are_none &= check_pair(halo, a, &space->accesses[n][j]);
        }
    return are_none;
}

/* --- the whole
 * -------------------------------------------------------------------------------------------------- */

/* As if every cell that has a thread ran it in one block: those of borders between blocks are few. What fewer
 * threads than a device runs at a time do takes them no longer. */
static double repeats_of(const struct halo *halo, uint32_t member)
{
    isl_map *own = own_cells(halo, member, true);
    isl_set *once = isl_map_domain(own), *run = isl_map_domain(isl_map_copy(halo->spreads[member].cells));
    double threads = halo_source_cell_count(once), cells = halo_source_asked_count(halo->space->memo, run);
    isl_set_free(once);
    isl_set_free(run);
    if (threads < AT_A_TIME) threads = AT_A_TIME;
    return cells / threads;
}

static bool is_all_dense(const struct spread *spread)
{
    return !memcmp(spread->low, spread->dense_low, sizeof spread->low) &&
           !memcmp(spread->high, spread->dense_high, sizeof spread->high);
}

static double sparse_share(const struct halo *halo, const struct spread *spread)
{
    const uint32_t *all = halo->group->cells;
    if (is_all_dense(spread) || !spread->sparse) return 0;
    return halo_source_asked_count(halo->space->memo, spread->sparse) / ((double)all[0] * all[1] * all[2]);
}

/* Recomputed members have a stage each, others between them share one. */
static void find_stages(struct halo *halo)
{
    struct group *group = halo->group;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct spread *spread = &halo->spreads[m];
        if (m == 0 || spread->is_recomputed || halo->spreads[m - 1].is_recomputed) {
            struct group_stage *stage = &group->stages[group->stage_count++];
            stage->first_member = m;
            memcpy(stage->low, spread->low, sizeof stage->low);
            memcpy(stage->high, spread->high, sizeof stage->high);
            memcpy(stage->dense_low, spread->dense_low, sizeof stage->dense_low);
            memcpy(stage->dense_high, spread->dense_high, sizeof stage->dense_high);
            stage->sparse = sparse_share(halo, spread);
            if (spread->is_recomputed && spread->is_small) stage->repeats = repeats_of(halo, m);
        }
        struct group_stage *stage = &group->stages[group->stage_count - 1];
        stage->is_flat = spread->is_flat && (stage->is_flat || !stage->member_count);
        if (!stage->is_flat && halo->layers && !spread->is_recomputed)
            stage->high[2] = stage->dense_high[2] = 0;
        stage->member_count++;
        halo->space->stages[m] = group->stage_count - 1;
    }
}

/* The cells that run their own thread of a member whose threads have other cells' coordinates. */
static __isl_give isl_set *own_of(const struct halo *halo, uint32_t member)
{
    isl_map *own = isl_map_copy(halo->spreads[member].cells);
    return isl_set_coalesce(isl_map_domain(isl_map_intersect(own, isl_map_identity(isl_map_get_space(own)))));
}

static bool fill_remaps(struct halo *halo)
{
    for (uint32_t m = 0; m < halo->group->member_count; m++) {
        struct remap *remap = &halo->space->remaps[m];
        const struct spread *spread = &halo->spreads[m];
        *remap = (struct remap){.kind = REMAP_CELLS, .is_recomputed = spread->is_recomputed};
        if (!spread->is_recomputed && !spread->is_small) continue;
        isl_map *threads = isl_map_copy(spread->cells);
        if (spread->threads) threads = isl_map_apply_range(threads, isl_map_copy(spread->threads));
        remap->coordinates = isl_pw_multi_aff_from_map(threads);
        if (spread->is_recomputed && spread->threads) remap->own = own_of(halo, m);
        if (!remap->coordinates || (spread->is_recomputed && spread->threads && !remap->own)) return false;
        if (is_all_dense(spread)) continue;
        remap->sparse = isl_set_copy(spread->sparse);
        if (!remap->sparse) return false;
    }
    return true;
}

static bool allocate(struct halo *halo)
{
    struct group *group = halo->group;
    uint32_t accesses = 1;
    for (uint32_t m = 0; m < group->member_count; m++) accesses += halo_summary(halo, m)->access_count;
    struct arena *arena = halo->space->arena;
    halo->spreads = arena_calloc(arena, group->member_count, sizeof *halo->spreads);
    halo->space->stages = arena_calloc(arena, group->member_count, sizeof *halo->space->stages);
    group->stages = arena_calloc(arena, group->member_count, sizeof *group->stages);
    group->tiles = arena_calloc(arena, accesses, sizeof *group->tiles);
    return halo->spreads && halo->space->stages && group->stages && group->tiles;
}

static bool list_prefetches(struct halo *halo)
{
    bool *placed_apart = arena_calloc(halo->space->arena, halo->group->member_count, sizeof *placed_apart);
    for (uint32_t m = 0; placed_apart && m < halo->group->member_count; m++)
        placed_apart[m] = halo->spreads[m].threads;
    return placed_apart && prefetch_list(halo->group, halo->space, placed_apart);
}

static bool find(struct halo *halo)
{
    bool is_recomputed = false;
    if (!halo_place_members(halo) || !list_loads(halo) || !find_recomputed(halo) || !halo_make_ways(halo))
        return false;
    for (uint32_t m = halo->space->member_count; m-- > 0;) {
        if (!spread_member(halo, m)) return false;
        is_recomputed |= halo->spreads[m].is_recomputed;
    }
    if (!halo_add_twins(halo)) return false;
    share_tiles(halo);
    if (!is_recomputed || !sort_fetches(halo) || !check_hazards(halo)) return false;
    find_stages(halo);
    return fill_remaps(halo) &&
           halo_tile_choose(halo->group, halo->space->memo->march_layers, halo->failure) &&
           list_prefetches(halo);
}

/* Cells of a tile and its border are no blocks of a member. */
static const char *tie_of(const struct group *group, uint32_t *member)
{
    for (*member = 0; *member < group->member_count; ++*member)
        if (group->members[*member].summary->whole_block) return group->members[*member].summary->whole_block;
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

static bool find_cells(struct group *group, struct space *space, struct memo *memo,
                       struct placement_failure *failure)
{
    static const uint32_t one_block[3] = {1, 1, 1};
    struct halo halo = {.group = group, .space = space, .failure = failure};
    memset(failure, 0, sizeof *failure);
    uint32_t cells[3];
    cell_extents(group, cells);
    if (!cells[0] || !cells[1] || !cells[2]) return false;
    if (!space_open(space, memo, group->arena, group->members, group->member_count, one_block, cells))
        return false;
    struct quota quota = quota_begin(memo->ctx, (unsigned long)HALO_OPERATIONS * group->member_count);
    bool found = allocate(&halo) && find(&halo);
    if (!found && !failure->reason[0] && quota_is_used_up(memo->ctx))
        snprintf(failure->reason, sizeof failure->reason, "it takes too long to decide");
    quota_end(&quota);
    for (uint32_t m = 0; halo.spreads && m < group->member_count; m++) halo_clear_spread(&halo.spreads[m]);
    for (uint32_t i = 0; i < halo.load_count; i++) halo_clear_load(&halo.loads[i]);
    if (!found) {
        group_forget_stages(group);
        space_clear(space);
    }
    return found;
}

/* Members with loops become launches with a thread for each iteration. False when none does; *why: of the
 * first that does not, or NULL. */
static bool expand_members(struct group *group, const char **why)
{
    struct bound_launch *members = arena_calloc(group->arena, group->member_count, sizeof *members);
    group->expansions = arena_calloc(group->arena, group->member_count, sizeof(struct expansion *));
    bool has_iterations = false;
    *why = NULL;
    for (uint32_t m = 0; members && group->expansions && m < group->member_count; m++) {
        const struct expansion *expansion = expansion_of(group->members[m].summary);
        members[m] = group->members[m];
        if (expansion && expansion->refusal && !*why) *why = expansion->refusal;
        if (!expansion || expansion->refusal) continue;
        group->expansions[m] = expansion;
        members[m].summary = &expansion->summary;
        has_iterations = true;
    }
    if (has_iterations)
        group->members = members;
    else
        group->expansions = NULL;
    return has_iterations;
}

bool halo_place_all(struct group *group, struct space *space, struct memo *memo,
                    struct placement_failure *failure)
{
    const struct bound_launch *members = group->members;
    uint32_t tied;
    const char *tie = tie_of(group, &tied), *why;
    if (tie || memo->without_halo) {
        memset(failure, 0, sizeof *failure);
        failure->last = tie ? tied : 0;
        if (tie)
            snprintf(failure->reason, sizeof failure->reason, "blocks must stay whole: %s", tie);
        else
            snprintf(failure->reason, sizeof failure->reason, "they are not looked for");
        return false;
    }
    if (find_cells(group, space, memo, failure)) return true;
    if (group->rename_count) return false; /* its view is not that of the expanded launches */
    struct placement_failure of_iterations = {0};
    if (expand_members(group, &why) && find_cells(group, space, memo, &of_iterations)) return true;
    group->members = members;
    group->expansions = NULL;
    if (why)
        snprintf(failure->reason, sizeof failure->reason, "%s", why);
    else if (of_iterations.reason[0])
        memcpy(failure->reason, of_iterations.reason, sizeof failure->reason);
    if (of_iterations.last > failure->last) failure->last = of_iterations.last;
    return false;
}

bool halo_place_rows(struct group *group, struct space *space, struct memo *memo,
                     struct placement_failure *failure)
{
    const struct bound_launch *members = group->members;
    uint32_t tied;
    memset(failure, 0, sizeof *failure);
    if (tie_of(group, &tied) || memo->without_halo) return false;
    const struct bound_launch *cut = rows_cut(group);
    if (!cut) return false;
    group->members = cut;
    if (find_cells(group, space, memo, failure)) return true;
    group->members = members;
    group->cuts = NULL;
    return false;
}
