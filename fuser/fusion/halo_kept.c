/* SPDX-License-Identifier: Apache-2.0
 * Rule 8 of halo.h: elements that two members write in different cells, as corners are by the kernels of two sides. */
#include "fuser/fusion/forward.h"
#include "fuser/fusion/halo_parts.h"
#include "fuser/fusion/halo_source.h"

#include <isl/space.h>

/* A load finds in memory what the store leaves there, before the other one does: in its own thread, or in a member's cell that is
 * the store's. */
static bool is_read_between(struct halo *halo, const struct placed_access *store,
                            const struct placed_access *last)
{
    for (uint32_t i = 0; i < halo->load_count; i++) {
        const struct halo_load *load = &halo->loads[i];
        uint32_t member = load->load->member;
        if (member < store->member || member > last->member || load->is_served) continue;
        bool is_first =
            member == store->member && load->load->access->instruction < store->access->instruction;
        const struct placed_access *a = is_first ? load->load : store, *b = is_first ? store : load->load;
        if (space_overlap(halo->space, a, b) != OVERLAP_NONE) return true;
    }
    return false;
}

/* Entry of the store, with all its cells where it is new; NULL: memory is out. */
static struct group_kept *kept_of(struct halo *halo, const struct placed_access *store)
{
    struct group *group = halo->group;
    const struct group_kept *known = group_kept_of(group, store->member, store->access->instruction);
    if (known) return &group->kept[known - group->kept];
    struct group_kept *kept =
        arena_grow(group->arena, group->kept, group->kept_count, group->kept_count + 1, sizeof *kept);
    if (!kept) return NULL;
    group->kept = kept;
    kept = &group->kept[group->kept_count++];
    *kept = (struct group_kept){.member = store->member, .instruction = store->access->instruction};
    kept->cells = isl_map_domain(isl_map_copy(halo->space->shapes[store->shape].touch.bytes));
    return kept;
}

static bool keep_others(struct halo *halo, const struct placed_access *store, __isl_take isl_set *overwritten)
{
    struct group_kept *kept = kept_of(halo, store);
    if (!kept) {
        isl_set_free(overwritten);
        return false;
    }
    isl_set *all = isl_map_domain(isl_map_copy(halo->space->shapes[store->shape].touch.bytes));
    kept->cells = isl_set_coalesce(isl_set_subtract(kept->cells, overwritten));
    kept->share = kept->cells && all ? halo_source_asked_count(halo->space->memo, kept->cells) /
                                           halo_source_asked_count(halo->space->memo, all)
                                     : 1;
    isl_set_free(all);
    return kept->cells;
}

bool halo_make_way(struct halo *halo, const struct placed_access *first, const struct placed_access *last)
{
    const struct group *group = halo->group;
    const struct touch *touch = &halo->space->shapes[first->shape].touch;
    isl_map *source = NULL;
    if (first->member == last->member || first->access->kind != ACCESS_WRITE ||
        last->access->kind != ACCESS_WRITE || !touch->bytes || group_expansion_of(group, first->member) ||
        group_expansion_of(group, last->member) || group_cut_of(group, first->member) ||
        group_cut_of(group, last->member) || !forward_is_certain(halo->space, first) ||
        !forward_is_certain(halo->space, last) || is_read_between(halo, first, last) ||
        !halo_source_cells(halo->space, touch->bytes, first->access->width, last, &source) || !source)
        return false;
    return keep_others(halo, first, isl_map_domain(source));
}

bool halo_make_ways(struct halo *halo)
{
    struct space *space = halo->space;
    for (uint32_t q = 1; q < space->member_count; q++)
        for (uint32_t j = 0; j < halo_summary(halo, q)->access_count; j++)
            for (uint32_t p = 0; p < q && placed_writes(&space->accesses[q][j]); p++)
                for (uint32_t i = 0; i < halo_summary(halo, p)->access_count; i++) {
                    const struct placed_access *first = &space->accesses[p][i],
                                               *last = &space->accesses[q][j];
                    if (placed_writes(first) && space_overlap(space, first, last) == OVERLAP_OTHER)
                        halo_make_way(halo, first, last);
                }
    for (uint32_t i = 0; i < halo->group->kept_count; i++)
        if (!halo->group->kept[i].cells) return false;
    return true;
}

bool halo_gives_way(const struct halo *halo, uint32_t member)
{
    for (uint32_t i = 0; i < halo->group->kept_count; i++)
        if (halo->group->kept[i].member == member) return true;
    return false;
}

__isl_give isl_set *halo_storing(const struct halo *halo, uint32_t member)
{
    const struct space *space = halo->space;
    isl_set *storing = isl_set_empty(isl_space_domain(isl_map_get_space(space->maps[member])));
    for (uint32_t i = 0; i < halo_summary(halo, member)->access_count; i++) {
        const struct placed_access *store = &space->accesses[member][i];
        if (!placed_writes(store)) continue;
        const struct group_kept *kept = group_kept_of(halo->group, member, store->access->instruction);
        isl_map *bytes = space->shapes[store->shape].touch.bytes;
        if (!kept && !bytes) {
            isl_set_free(storing);
            return isl_map_domain(isl_map_copy(space->maps[member]));
        }
        storing =
            isl_set_union(storing, kept ? isl_set_copy(kept->cells) : isl_map_domain(isl_map_copy(bytes)));
    }
    return isl_set_coalesce(storing);
}
