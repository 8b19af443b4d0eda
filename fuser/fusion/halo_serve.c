/* SPDX-License-Identifier: Apache-2.0
 * Where in a tile a load finds what it reads, and which cells therefore run what: see halo.h. */
#include "fuser/fusion/halo_moves.h"
#include "fuser/fusion/halo_nearest.h"
#include "fuser/fusion/halo_parts.h"
#include "fuser/fusion/halo_source.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t tile_of(const struct halo *halo, const struct placed_access *store)
{
    struct group *group = halo->group;
    for (uint32_t i = 0; i < group->tile_count; i++)
        if (group->tiles[i].member == store->member &&
            group->tiles[i].instruction == store->access->instruction)
            return i;
    group->tiles[group->tile_count] =
        (struct group_tile){store->member, store->access->instruction, store->access->width,
                            group->tile_count, halo_is_masked(halo, store)};
    return group->tile_count++;
}

/* low, high: of p; so much and more, as q has its border there, and what it needs lies offset away. */
static void widen(const struct spread *p, int32_t low[3], int32_t high[3], const int32_t q_low[3],
                  const int32_t q_high[3], const int64_t offset[3])
{
    for (int d = 0; d < (p->is_flat ? 2 : 3); d++) {
        int64_t before = q_low[d] - offset[d], behind = q_high[d] + offset[d];
        if (before > low[d]) low[d] = (int32_t)before;
        if (behind > high[d]) high[d] = (int32_t)behind;
    }
}

/* Takes cells of q that need what lies offset away from them. False: isl gave up. */
static bool add_sparse(struct spread *p, __isl_take isl_set *cells, const int64_t offset[3])
{
    if (!cells) return false;
    isl_set *sparse = isl_set_apply(cells, halo_place_of(p, isl_set_get_ctx(cells), offset));
    p->sparse = p->sparse ? isl_set_coalesce(isl_set_union(p->sparse, sparse)) : sparse;
    return p->sparse;
}

/* Rule 7. Where few cells of q need something, they are sparse cells of p, whichever tile they are in; else
 * all dense ones of q need dense ones of p, and its sparse ones sparse ones. */
static bool spread_to(const struct halo *halo, struct spread *p, const struct spread *q,
                      __isl_keep isl_map *needed, const int64_t offset[3])
{
    const double few = 1.0 / 16;
    const uint32_t *all = halo->group->cells, layers = halo->layers ? 1 : all[2];
    bool is_same = !offset[0] && !offset[1] && !offset[2], is_done = true;
    isl_set *cells = isl_map_domain(isl_map_copy(needed));
    widen(p, p->low, p->high, q->low, q->high, offset);
    if (halo_source_asked_count(halo->space->memo, cells) <= few * all[0] * all[1] * layers) {
        if (!is_same || q->is_recomputed) is_done = add_sparse(p, isl_set_copy(cells), offset);
    } else {
        widen(p, p->dense_low, p->dense_high, q->dense_low, q->dense_high, offset);
        if (q->sparse)
            is_done = add_sparse(p, isl_set_intersect(isl_set_copy(cells), isl_set_copy(q->sparse)), offset);
    }
    isl_set_free(cells);
    return is_done;
}

static bool add_fetch(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                      const int64_t offset[3], __isl_take isl_set *covered)
{
    struct group *group = halo->group;
    uint32_t count = group->fetch_count;
    struct group_fetch *fetches = arena_grow(group->arena, group->fetches, count, count + 1, sizeof *fetches);
    if (!fetches) {
        isl_set_free(covered);
        return false;
    }
    group->fetches = fetches;
    group->fetches[group->fetch_count++] =
        (struct group_fetch){load->member,
                             load->access->instruction,
                             tile_of(halo, store),
                             {(int32_t)offset[0], (int32_t)offset[1], (int32_t)offset[2]},
                             covered,
                             false};
    return covered;
}

/* Takes needed. is_new: it is not known to have its places already. */
static bool serve_at(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                     __isl_take isl_map *needed, const int64_t offset[3], bool is_new)
{
    struct spread *p = &halo->spreads[store->member];
    if (is_new) p->cells = halo_moves_coalesce(isl_map_union(p->cells, halo_placed(p, needed, offset)));
    bool is_spread = spread_to(halo, p, &halo->spreads[load->member], needed, offset);
    return is_spread && p->cells &&
           add_fetch(halo, store, load, offset, isl_set_coalesce(isl_map_domain(needed)));
}

/* --- what has been served before ----------------------------------------------------------------------- */

/* Many loads, of several arrays too, need the same cells at the same places. */
static const struct halo_served *find_served(const struct spread *p, __isl_keep isl_map *needed)
{
    const struct halo_served *served = p->served;
    while (served && isl_map_plain_is_equal(served->needed, needed) != isl_bool_true) served = served->next;
    return served;
}

static bool remember(struct halo *halo, const struct placed_access *store, __isl_keep isl_map *needed,
                     const int64_t offset[3])
{
    struct spread *p = &halo->spreads[store->member];
    struct halo_served *served = arena_alloc(halo->space->arena, sizeof *served);
    if (!served) return false;
    *served = (struct halo_served){isl_map_copy(needed), {offset[0], offset[1], offset[2]}, p->served};
    p->served = served;
    return true;
}

/* --- what lies at several distances ----------------------------------------------------------------- */

struct pieces {
    struct halo *halo;
    const struct placed_access *store, *load;
};

/* Takes needed, which finds places at this offset. */
static bool serve_all(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                      __isl_take isl_map *needed, const int64_t offset[3])
{
    if (remember(halo, store, needed, offset)) return serve_at(halo, store, load, needed, offset, true);
    isl_map_free(needed);
    return false;
}

static isl_stat serve_piece(__isl_take isl_basic_map *piece, void *user)
{
    struct pieces *pieces = user;
    isl_map *needed = isl_map_from_basic_map(piece);
    const struct spread *p = &pieces->halo->spreads[pieces->store->member];
    const struct halo_served *served = find_served(p, needed);
    int64_t offset[3];
    bool is_served;
    if (served) {
        is_served = serve_at(pieces->halo, pieces->store, pieces->load, needed, served->offset, false);
    } else if (halo_find_nearest(pieces->halo, pieces->store->member, needed, offset)) {
        is_served = serve_all(pieces->halo, pieces->store, pieces->load, needed, offset);
    } else {
        isl_map_free(needed);
        is_served = false;
    }
    return is_served ? isl_stat_ok : isl_stat_error;
}

/* Takes needed. */
static bool serve_nearest(struct halo *halo, const struct placed_access *store,
                          const struct placed_access *load, __isl_take isl_map *needed)
{
    struct pieces pieces = {halo, store, load};
    int64_t offset[3];
    if (halo_find_nearest(halo, store->member, needed, offset))
        return serve_all(halo, store, load, needed, offset);
    needed = isl_map_make_disjoint(needed);
    bool is_served = isl_map_foreach_basic_map(needed, serve_piece, &pieces) == isl_stat_ok;
    isl_map_free(needed);
    return is_served;
}

/* At the distance that holds for most of it; elsewhere what does not fit there. Takes needed. */
static bool serve_mostly_at(struct halo *halo, const struct placed_access *store,
                            const struct placed_access *load, __isl_take isl_map *needed,
                            const int64_t offset[3])
{
    if (halo_is_free(&halo->spreads[store->member], needed, offset))
        return serve_all(halo, store, load, needed, offset);
    isl_map *held = isl_map_intersect(
        isl_map_copy(needed), halo_place_of(&halo->spreads[store->member], isl_map_get_ctx(needed), offset));
    needed = isl_map_subtract(needed, isl_map_copy(held));
    if (serve_at(halo, store, load, held, offset, true)) return serve_nearest(halo, store, load, needed);
    isl_map_free(needed);
    return false;
}

bool halo_serve(struct halo *halo, struct halo_load *load, const struct halo_writer *writer)
{
    struct spread *p = &halo->spreads[writer->store->member];
    const struct spread *q = &halo->spreads[load->load->member];
    if (!p->periodic && !p->is_small) p->periodic = halo_periodic_places(halo, writer->store->member);
    int64_t offset[3];
    bool is_served = false;
    isl_map *needed =
        halo_moves_coalesce(isl_map_apply_range(isl_map_copy(q->cells), isl_map_copy(writer->source)));
    const struct halo_served *before = find_served(p, needed);
    if (before)
        is_served = serve_at(halo, writer->store, load->load, needed, before->offset, false);
    else if (p->is_small || q->is_small)
        is_served = serve_nearest(halo, writer->store, load->load, needed);
    else if (halo_source_place(halo->space->memo, writer->source, p->is_flat, offset))
        is_served = serve_mostly_at(halo, writer->store, load->load, needed, offset);
    else if (halo->layers) /* each component's is one, and near */
        is_served = serve_nearest(halo, writer->store, load->load, needed);
    else
        isl_map_free(needed);
    return is_served || halo_refuse(halo, writer->store, load->load, "they lie at no bounded distance");
}

static void clip(int32_t *dense, int32_t *border, int64_t cells)
{
    if (*border > cells) *border = cells > 0 ? (int32_t)cells : 0;
    if (*dense > *border) *dense = *border;
}

bool halo_clip_layers(const struct halo *halo, struct spread *spread)
{
    int64_t first, last;
    isl_set *places = isl_map_domain(isl_map_copy(spread->cells));
    bool is_known = halo_source_range(places, 2, &first, &last);
    isl_set_free(places);
    if (!is_known) return false;
    clip(&spread->dense_low[2], &spread->low[2], -first);
    clip(&spread->dense_high[2], &spread->high[2], last + 1 - (int64_t)halo->layers);
    return true;
}

bool halo_add_twins(struct halo *halo)
{
    const struct group *group = halo->group;
    for (uint32_t i = 0; i < halo->twin_count; i++) {
        const struct placed_access *of = halo->twins[i].of;
        uint32_t tile = 0;
        while (tile < group->tile_count && (group->tiles[tile].member != of->member ||
                                            group->tiles[tile].instruction != of->access->instruction))
            tile++;
        if (tile == group->tile_count) continue;
        uint32_t twin = tile_of(halo, halo->twins[i].store);
        if (group->tiles[twin].kept_in != twin && group->tiles[twin].kept_in != tile) return false;
        group->tiles[twin].kept_in = tile;
    }
    return true;
}

void halo_clear_spread(struct spread *spread)
{
    isl_map_free(spread->cells);
    isl_map_free(spread->threads);
    isl_map_free(spread->periodic);
    isl_set_free(spread->sparse);
    for (struct halo_served *served = spread->served; served; served = served->next)
        isl_map_free(served->needed);
}
