/* SPDX-License-Identifier: Apache-2.0
 * See halo_source.h. */
#include "fuser/fusion/halo_source.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

enum {
    CELL_Z = 3,       /* dimension of z; then y, x */
    MOST_CELLS = 64,  /* along one dimension to the place in the tile */
    MOST_PLACES = 16, /* that are looked at */
};

struct translation {
    int64_t offset[3]; /* x y z */
    double cells;      /* that it holds for, from above */
};
struct translations {
    __isl_keep isl_map *source;
    struct translation best;
    uint32_t count;
};

__isl_give isl_map *halo_source_translation(isl_ctx *ctx, const int64_t offset[3])
{
    isl_space *cells = isl_space_set_alloc(ctx, 0, ACCESS_THREAD_DIMENSIONS);
    isl_multi_aff *moved =
        isl_multi_aff_identity_on_domain_space(isl_space_set_tuple_name(cells, isl_dim_set, "F"));
    for (int d = 0; d < 3; d++) {
        isl_aff *coordinate = isl_multi_aff_get_at(moved, CELL_Z + 2 - d);
        coordinate = isl_aff_add_constant_val(coordinate, isl_val_int_from_si(ctx, offset[d]));
        moved = isl_multi_aff_set_at(moved, CELL_Z + 2 - d, coordinate);
    }
    return isl_map_from_multi_aff(moved);
}

__isl_give isl_map *halo_source_flatten(isl_ctx *ctx)
{
    return isl_map_read_from_str(ctx, "{ F[bz, by, bx, z, y, x] -> F[bz, by, bx, 0, y, x] }");
}

static int64_t distance(const int64_t offset[3])
{
    int64_t sum = 0;
    for (int d = 0; d < 3; d++) sum += offset[d] < 0 ? -offset[d] : offset[d];
    return sum;
}

bool halo_source_range(__isl_keep isl_set *set, int d, int64_t *first, int64_t *last)
{
    isl_val *least = isl_set_dim_min_val(isl_set_copy(set), CELL_Z + 2 - d);
    isl_val *most = isl_set_dim_max_val(isl_set_copy(set), CELL_Z + 2 - d);
    bool is_known = least && most && isl_val_is_int(least) && isl_val_is_int(most);
    *first = is_known ? isl_val_get_num_si(least) : 0;
    *last = is_known ? isl_val_get_num_si(most) : -1;
    isl_val_free(least);
    isl_val_free(most);
    return is_known;
}

bool halo_source_extent(__isl_keep isl_set *set, int d, int64_t *cells)
{
    int64_t first, last;
    bool is_known = halo_source_range(set, d, &first, &last);
    *cells = last - first + 1;
    return is_known;
}

double halo_source_cell_count(__isl_keep isl_set *set)
{
    double cells = isl_set_is_empty(set) == isl_bool_false;
    int64_t extent;
    for (int d = 0; cells && d < 3; d++) cells *= halo_source_extent(set, d, &extent) ? (double)extent : 0;
    return cells;
}

static isl_stat add_cells(__isl_take isl_basic_set *part, void *user)
{
    isl_set *set = isl_set_from_basic_set(part);
    *(double *)user += halo_source_cell_count(set);
    isl_set_free(set);
    return isl_stat_ok;
}

double halo_source_set_count(__isl_keep isl_set *set)
{
    double cells = 0;
    isl_set *parts = isl_set_make_disjoint(isl_set_copy(set));
    isl_set_foreach_basic_set(parts, add_cells, &cells);
    isl_set_free(parts);
    return cells;
}

static void count_cells(const void *set, struct memo_found *found)
{
    double cells = halo_source_set_count((isl_set *)set);
    memcpy(found->numbers, &cells, sizeof cells);
}

double halo_source_asked_count(struct memo *memo, __isl_keep isl_set *set)
{
    double cells;
    isl_map *named = isl_map_from_range(isl_set_copy(set));
    struct memo_question question = memo_question_of(memo, MEMO_CELLS, named, NULL, 0);
    struct memo_found found = memo_ask(memo, &question, count_cells, set);
    isl_map_free(named);
    memcpy(&cells, found.numbers, sizeof cells);
    return cells;
}

static isl_stat weigh_translation(__isl_take isl_point *point, void *user)
{
    struct translations *all = user;
    struct translation found;
    for (int d = 0; d < 3; d++) {
        isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, CELL_Z + 2 - d);
        found.offset[d] = isl_val_get_num_si(value);
        isl_val_free(value);
    }
    isl_map *map = halo_source_translation(isl_point_get_ctx(point), found.offset);
    isl_point_free(point);
    isl_set *held = isl_map_domain(isl_map_intersect(map, isl_map_copy(all->source)));
    found.cells = halo_source_cell_count(held);
    isl_set_free(held);
    if (found.cells > all->best.cells ||
        (found.cells == all->best.cells && distance(found.offset) < distance(all->best.offset)))
        all->best = found;
    return ++all->count < MOST_PLACES ? isl_stat_ok : isl_stat_error;
}

/* Of each part of the source that has one. */
static isl_stat weigh_part(__isl_take isl_basic_map *part, void *user)
{
    struct translations *all = user;
    isl_set *deltas = isl_map_deltas(isl_map_from_basic_map(part));
    for (unsigned d = CELL_Z; d < ACCESS_THREAD_DIMENSIONS; d++) {
        deltas = isl_set_lower_bound_si(deltas, isl_dim_set, d, -MOST_CELLS);
        deltas = isl_set_upper_bound_si(deltas, isl_dim_set, d, MOST_CELLS);
    }
    if (isl_set_is_singleton(deltas) == isl_bool_true) isl_set_foreach_point(deltas, weigh_translation, all);
    isl_set_free(deltas);
    return deltas ? isl_stat_ok : isl_stat_error;
}

/* It holds for more than half of the cells. */
static bool is_most(const struct translations *all)
{
    isl_set *cells = isl_map_domain(isl_map_copy(all->source));
    bool is = 2 * all->best.cells > halo_source_cell_count(cells) ||
              2 * all->best.cells > halo_source_set_count(cells);
    isl_set_free(cells);
    return is;
}

static bool find_place(__isl_keep isl_map *source, int64_t offset[3])
{
    struct translations all = {.source = source};
    isl_set *deltas = isl_map_deltas(isl_map_copy(source));
    for (unsigned d = CELL_Z; d < ACCESS_THREAD_DIMENSIONS; d++) {
        deltas = isl_set_lower_bound_si(deltas, isl_dim_set, d, -MOST_CELLS);
        deltas = isl_set_upper_bound_si(deltas, isl_dim_set, d, MOST_CELLS);
    }
    isl_stat status = deltas ? isl_set_foreach_point(deltas, weigh_translation, &all) : isl_stat_error;
    isl_set_free(deltas);
    if (all.count == MOST_PLACES) { /* as where all of a row are clamped to one cell */
        all = (struct translations){.source = source};
        status = isl_map_foreach_basic_map(source, weigh_part, &all);
    }
    memcpy(offset, all.best.offset, sizeof all.best.offset);
    return status == isl_stat_ok && all.best.cells > 0 && is_most(&all);
}

static void find_place_of(const void *source, struct memo_found *found)
{
    found->numbers[0] = find_place((isl_map *)source, &found->numbers[1]);
}

static void find_flat_place_of(const void *source, struct memo_found *found)
{
    isl_map *flat = isl_map_copy((isl_map *)source);
    flat = isl_map_coalesce(isl_map_apply_domain(flat, halo_source_flatten(isl_map_get_ctx(flat))));
    find_place_of(flat, found);
    isl_map_free(flat);
}

bool halo_source_place(struct memo *memo, __isl_keep isl_map *source, bool is_flat, int64_t offset[3])
{
    struct memo_question question = memo_question_of(memo, MEMO_PLACE, source, NULL, is_flat);
    struct memo_found found = memo_ask(memo, &question, is_flat ? find_flat_place_of : find_place_of, source);
    memcpy(offset, &found.numbers[1], 3 * sizeof *offset);
    return found.numbers[0];
}

struct reading {
    const struct touch *read, *written;
};

/* numbers[0]: as halo_source_cells returns. */
static void find_cells(const void *user, struct memo_found *found)
{
    const struct reading *reading = user;
    isl_map *pairs = overlap_relation(reading->read, reading->written);
    isl_bool is_none = isl_map_is_empty(pairs);
    isl_map *source = NULL;
    if (is_none == isl_bool_false)
        source = isl_map_coalesce(isl_map_apply_range(
            isl_map_copy(reading->read->bytes), isl_map_reverse(isl_map_copy(reading->written->bytes))));
    bool is_whole = source && isl_map_is_subset(pairs, source) == isl_bool_true &&
                    isl_map_is_single_valued(source) == isl_bool_true;
    isl_map_free(pairs);
    found->relation = is_whole ? source : isl_map_free(source);
    found->numbers[0] = is_none == isl_bool_true || is_whole;
}

bool halo_source_cells(const struct space *space, __isl_keep isl_map *read, uint32_t width,
                       const struct placed_access *store, isl_map **source)
{
    const struct touch *written = &space->shapes[store->shape].touch;
    struct touch touch = touch_of(space->memo, read, width);
    const struct reading reading = {&touch, written};
    struct memo_question question = memo_question_of(space->memo, MEMO_SOURCE, read, written->bytes,
                                                     (uint64_t)width << 32 | written->width);
    struct memo_found found = memo_ask(space->memo, &question, find_cells, &reading);
    *source = found.relation;
    return found.numbers[0];
}
