/* SPDX-License-Identifier: Apache-2.0
 * Where in a tile a load finds what it reads, and which cells therefore run what: see halo.h. */
#include "fuser/analysis/halo_parts.h"
#include "fuser/analysis/halo_source.h"

#include <stdlib.h>

enum { NEAR = 2 }; /* cells along each dimension to a place that is chosen freely */

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
                             tile_of(group, store),
                             {(int32_t)offset[0], (int32_t)offset[1], (int32_t)offset[2]},
                             covered};
    return covered;
}

/* { place in the tile -> cell that runs there }, where what is needed of a cell lies offset away from it. */
static __isl_give isl_map *placed(__isl_keep isl_map *needed, const int64_t offset[3])
{
    return isl_map_apply_domain(isl_map_copy(needed),
                                halo_source_translation(isl_map_get_ctx(needed), offset));
}

/* Takes needed. */
static bool serve_at(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                     __isl_take isl_map *needed, const int64_t offset[3])
{
    struct spread *p = &halo->spreads[store->member];
    p->cells = isl_map_coalesce(isl_map_union(p->cells, placed(needed, offset)));
    widen(p, &halo->spreads[load->member], offset);
    return p->cells && add_fetch(halo, store, load, offset, isl_set_coalesce(isl_map_domain(needed)));
}

/* --- places that are chosen freely ------------------------------------------------------------------- */

/* The places are free, or hold these very cells. */
static bool is_free(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3])
{
    isl_map *all = isl_map_union(isl_map_copy(p->cells), placed(needed, offset));
    bool is = isl_map_is_single_valued(all) == isl_bool_true;
    isl_map_free(all);
    return is;
}

static bool is_extended(const struct halo *halo, int d)
{
    return halo->group->cells[d] > 1;
}

/* The nearest offset at which all that is needed has a place. */
static bool find_near(const struct halo *halo, const struct spread *p, __isl_keep isl_map *needed,
                      int64_t offset[3])
{
    for (int64_t distance = 0; distance <= 3 * NEAR; distance++)
        for (int64_t z = -NEAR; z <= NEAR; z++)
            for (int64_t y = -NEAR; y <= NEAR; y++)
                for (int64_t x = -NEAR; x <= NEAR; x++) {
                    if (llabs(x) + llabs(y) + llabs(z) != distance) continue;
                    if ((x && !is_extended(halo, 0)) || (y && !is_extended(halo, 1)) ||
                        (z && !is_extended(halo, 2)))
                        continue;
                    offset[0] = x, offset[1] = y, offset[2] = z;
                    if (is_free(p, needed, offset)) return true;
                }
    return false;
}

struct pieces {
    struct halo *halo;
    const struct placed_access *store, *load;
};

static isl_stat serve_piece(__isl_take isl_basic_map *piece, void *user)
{
    struct pieces *pieces = user;
    isl_map *needed = isl_map_from_basic_map(piece);
    int64_t offset[3];
    if (!find_near(pieces->halo, &pieces->halo->spreads[pieces->store->member], needed, offset)) {
        isl_map_free(needed);
        return isl_stat_error;
    }
    return serve_at(pieces->halo, pieces->store, pieces->load, needed, offset) ? isl_stat_ok : isl_stat_error;
}

/* Takes needed. */
static bool serve_near(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                       __isl_take isl_map *needed)
{
    struct pieces pieces = {halo, store, load};
    int64_t offset[3];
    if (find_near(halo, &halo->spreads[store->member], needed, offset))
        return serve_at(halo, store, load, needed, offset);
    needed = isl_map_make_disjoint(needed);
    bool is_served = isl_map_foreach_basic_map(needed, serve_piece, &pieces) == isl_stat_ok;
    isl_map_free(needed);
    return is_served;
}

/* At the distance that holds for most of it; elsewhere what does not fit there. Takes needed. */
static bool serve_far(struct halo *halo, const struct placed_access *store, const struct placed_access *load,
                      __isl_take isl_map *needed, const int64_t offset[3])
{
    if (is_free(&halo->spreads[store->member], needed, offset))
        return serve_at(halo, store, load, needed, offset);
    isl_map *held =
        isl_map_intersect(isl_map_copy(needed), halo_source_translation(isl_map_get_ctx(needed), offset));
    needed = isl_map_subtract(needed, isl_map_copy(held));
    if (serve_at(halo, store, load, held, offset)) return serve_near(halo, store, load, needed);
    isl_map_free(needed);
    return false;
}

bool halo_serve(struct halo *halo, struct halo_load *load, const struct halo_origin *origin)
{
    const struct spread *p = &halo->spreads[origin->store->member], *q = &halo->spreads[load->load->member];
    int64_t offset[3];
    bool is_served = false;
    isl_map *needed =
        isl_map_coalesce(isl_map_apply_range(isl_map_copy(q->cells), isl_map_copy(origin->source)));
    if (p->is_small || q->is_small)
        is_served = serve_near(halo, origin->store, load->load, needed);
    else if (halo_source_place(origin->source, offset))
        is_served = serve_far(halo, origin->store, load->load, needed, offset);
    else
        isl_map_free(needed);
    return is_served || halo_refuse(halo, origin->store, load->load, "they lie at no bounded distance");
}
