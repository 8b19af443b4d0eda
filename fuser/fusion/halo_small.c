/* SPDX-License-Identifier: Apache-2.0
 * Small members among large ones (a row, a column, corners): which cell runs which of their threads. A thread
 * counts its own launch's coordinates, which need not lie near what it reads: it is placed there. */
#include "fuser/fusion/halo_parts.h"
#include "fuser/fusion/halo_source.h"

#include <isl/ilp.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PART = 2 /* of the largest member's threads */, CELL_Z = 3 };

static uint64_t threads_of(const struct access_summary *summary)
{
    return remap_threads(summary->grid, summary->block);
}

/* Along z, of its cells that do anything; 0: isl gave up. */
static uint32_t layers_of(const struct halo *halo, uint32_t member)
{
    int64_t first, last;
    isl_set *own = isl_map_domain(isl_map_intersect_range(
        isl_map_copy(halo->space->maps[member]), isl_set_copy(halo_summary(halo, member)->effective)));
    bool is_known = halo_source_range(own, 2, &first, &last);
    isl_set_free(own);
    return is_known && last < INT32_MAX ? (uint32_t)(last + 1) : 0;
}

/* Rule 9: what has one layer of so few has a cell of it for all of them. */
static void find_flat(struct halo *halo, uint64_t most)
{
    uint32_t layers = 1;
    for (uint32_t m = 0; m < halo->group->member_count; m++) {
        if (threads_of(halo_summary(halo, m)) <= most / SMALL_PART) continue;
        uint32_t own = layers_of(halo, m);
        if (own > layers || !own) layers = own ? own : UINT32_MAX;
    }
    for (uint32_t m = 0; layers > 1 && layers <= HALO_MOST_LAYERS && m < halo->group->member_count; m++) {
        bool is_small = layers * threads_of(halo_summary(halo, m)) <= most / SMALL_PART;
        halo->spreads[m].is_flat = !is_small && layers_of(halo, m) == 1;
        if (halo->spreads[m].is_flat) halo->layers = layers;
    }
}

/* Small members may have cells beyond the layers of the others, and a launch layers of threads that do nothing. */
static void set_layers(struct halo *halo)
{
    for (uint32_t m = 0; halo->layers && m < halo->group->member_count; m++) {
        uint32_t own = layers_of(halo, m);
        if (own > halo->layers) halo->layers = own;
    }
    if (halo->layers) halo->group->cells[2] = halo->layers;
    halo->group->has_all_layers = halo->layers;
    for (uint32_t m = 0; m < halo->group->member_count; m++)
        if (halo->spreads[m].is_flat)
            halo->spreads[m].high[2] = halo->spreads[m].dense_high[2] = 1 - (int32_t)halo->layers;
}

static void find_small(struct halo *halo)
{
    uint64_t most = 0;
    for (uint32_t m = 0; m < halo->group->member_count; m++)
        if (threads_of(halo_summary(halo, m)) > most) most = threads_of(halo_summary(halo, m));
    find_flat(halo, most);
    for (uint32_t m = 0; m < halo->group->member_count; m++)
        halo->spreads[m].is_small = !group_expansion_of(halo->group, m) && !halo->spreads[m].is_flat &&
                                    threads_of(halo_summary(halo, m)) <= most / SMALL_PART;
}

/* Its threads, by the cells that have their coordinates. */
static __isl_give isl_map *own_threads(const struct halo *halo, uint32_t member)
{
    isl_map *threads = isl_map_copy(halo->space->maps[member]);
    return isl_map_intersect_range(threads, isl_set_copy(halo_summary(halo, member)->effective));
}

/* { cell of the member -> cell of another one }, where they touch an element; NULL: nowhere, or not so. */
static __isl_give isl_map *meeting(const struct halo *halo, const struct placed_access *own,
                                   const struct placed_access *other)
{
    bool is_first = own->member < other->member;
    const struct placed_access *store = is_first ? own : other, *load = is_first ? other : own;
    isl_map *source = NULL, *read = halo->space->shapes[load->shape].touch.bytes;
    if (!read || !halo->space->shapes[store->shape].touch.bytes || !placed_writes(store) ||
        space_overlap(halo->space, store, load) == OVERLAP_NONE)
        return NULL;
    halo_source_cells(halo->space, read, load->access->width, store, &source);
    return is_first && source ? isl_map_reverse(source) : source;
}

struct part { /* of a map, the largest one that is one quasi-affine function */
    isl_multi_aff *function;
    double cells;
};

static isl_stat compare_part(__isl_take isl_set *domain, __isl_take isl_multi_aff *function, void *user)
{
    struct part *part = user;
    double cells = halo_source_cell_count(domain);
    isl_set_free(domain);
    if (cells > part->cells) {
        isl_multi_aff_free(part->function);
        *part = (struct part){function, cells};
    } else {
        isl_multi_aff_free(function);
    }
    return isl_stat_ok;
}

/* The translation that brings all cells of the set where none has a coordinate below 0. */
static bool find_shift(__isl_keep isl_set *cells, int64_t shift[3])
{
    bool is_known = true;
    for (int d = 0; d < 3; d++) {
        isl_val *least = isl_set_dim_min_val(isl_set_copy(cells), CELL_Z + 2 - d);
        is_known = is_known && least && isl_val_is_int(least);
        shift[d] = is_known && isl_val_is_neg(least) ? -isl_val_get_num_si(least) : 0;
        isl_val_free(least);
    }
    return is_known;
}

/* Takes { cell of the member -> cell that it belongs to }, for most of its cells; { cell -> cell of the
 * member } for all. NULL: not one to one. */
static __isl_give isl_map *places(const struct halo *halo, uint32_t member, __isl_take isl_map *meeting)
{
    struct part part = {NULL, 0};
    int64_t shift[3];
    if (isl_map_is_single_valued(meeting) != isl_bool_true) {
        isl_map_free(meeting);
        return NULL;
    }
    isl_pw_multi_aff *function = isl_pw_multi_aff_from_map(meeting);
    isl_pw_multi_aff_foreach_piece(function, compare_part, &part);
    isl_pw_multi_aff_free(function);
    if (!part.function) return NULL;
    isl_map *own = own_threads(halo, member);
    isl_map *to = isl_map_intersect_domain(isl_map_from_multi_aff(part.function), isl_map_domain(own));
    isl_set *found = isl_map_range(isl_map_copy(to));
    bool is_known = find_shift(found, shift);
    isl_set_free(found);
    if (is_known) to = isl_map_apply_range(to, halo_source_translation(halo->space->ctx, shift));
    if (is_known && isl_map_is_injective(to) == isl_bool_true) return isl_map_reverse(to);
    isl_map_free(to);
    return NULL;
}

/* Cells of the meeting lie as they are near those that they meet, most of them. */
static bool is_near(const struct halo *halo, __isl_keep isl_map *meeting)
{
    int64_t offset[3];
    if (!halo_source_place(halo->space->memo, meeting, false, offset)) return false;
    for (int d = 0; d < 3; d++)
        if (llabs(offset[d]) > HALO_NEARBY) return false;
    isl_map *near =
        isl_map_intersect(halo_source_translation(isl_map_get_ctx(meeting), offset), isl_map_copy(meeting));
    isl_set *all = isl_map_domain(isl_map_copy(meeting)), *held = isl_map_domain(near);
    bool is = 2 * halo_source_cell_count(held) > halo_source_cell_count(all);
    isl_set_free(all);
    isl_set_free(held);
    return is;
}

static bool is_same(__isl_keep isl_map *meeting)
{
    isl_map *same = isl_map_identity(isl_map_get_space(meeting));
    bool is = isl_map_is_subset(meeting, same) == isl_bool_true;
    isl_map_free(same);
    return is;
}

/* Looks at what large members share with it; at what both write, or at what one reads of the other. *threads:
 * its places, where others are better than its own; true where its own are good. */
static bool look_around(const struct halo *halo, uint32_t member, bool both_write, isl_map **threads)
{
    struct space *space = halo->space;
    bool is_good = false;
    for (uint32_t other = 0; other < space->member_count && !is_good; other++) {
        if (other == member || halo->spreads[other].is_small) continue;
        for (uint32_t i = 0; i < halo_summary(halo, member)->access_count && !is_good; i++)
            for (uint32_t j = 0; j < halo_summary(halo, other)->access_count && !is_good; j++) {
                const struct placed_access *a = &space->accesses[member][i], *b = &space->accesses[other][j];
                if (both_write != (placed_writes(a) && placed_writes(b))) continue;
                isl_map *met = meeting(halo, a, b);
                if (!met) continue;
                is_good = both_write ? is_same(met) : is_near(halo, met);
                if (!is_good && !*threads)
                    *threads = places(halo, member, met);
                else
                    isl_map_free(met);
            }
    }
    return is_good;
}

/* What is written in two cells may not be: it is looked at first. */
static __isl_give isl_map *find_places(const struct halo *halo, uint32_t member)
{
    isl_map *threads = NULL;
    bool is_good = look_around(halo, member, true, &threads);
    if (!is_good && !threads) is_good = look_around(halo, member, false, &threads);
    return is_good ? isl_map_free(threads) : threads;
}

static bool place_small(struct halo *halo, uint32_t member)
{
    isl_map *threads = find_places(halo, member);
    isl_map *own = own_threads(halo, member);
    if (threads) own = isl_map_apply_range(isl_map_copy(threads), own);
    halo->spreads[member].threads = threads;
    return space_place_by(halo->space, member, own);
}

static void cover(struct halo *halo, __isl_take isl_set *cells)
{
    for (int d = 0; d < 3; d++) {
        isl_val *most = isl_set_dim_max_val(isl_set_copy(cells), CELL_Z + 2 - d);
        int64_t end = most && isl_val_is_int(most) ? isl_val_get_num_si(most) + 1 : 0;
        if (end > (int64_t)halo->group->cells[d] && end < INT32_MAX) halo->group->cells[d] = (uint32_t)end;
        isl_val_free(most);
    }
    isl_set_free(cells);
}

bool halo_place_members(struct halo *halo)
{
    struct space *space = halo->space;
    for (uint32_t m = 0; m < space->member_count; m++)
        if (!space_place(space, m, REMAP_GLOBAL)) return false;
    find_small(halo);
    for (int d = 0; d < 3; d++) {
        halo->group->cells[d] = 1;
        for (uint32_t m = 0; m < space->member_count; m++) {
            uint32_t own = halo_summary(halo, m)->grid[d] * halo_summary(halo, m)->block[d];
            if (!halo->spreads[m].is_small && own > halo->group->cells[d]) halo->group->cells[d] = own;
        }
    }
    for (uint32_t m = 0; m < space->member_count; m++) {
        if (!halo->spreads[m].is_small) continue;
        if (!place_small(halo, m)) return false;
        cover(halo, isl_map_domain(isl_map_copy(space->maps[m])));
    }
    set_layers(halo);
    return true;
}
