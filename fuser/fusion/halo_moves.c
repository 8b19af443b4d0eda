/* SPDX-License-Identifier: Apache-2.0
 * See halo_moves.h. */
#include "fuser/fusion/halo_moves.h"

#include "fuser/fusion/halo_source.h"

#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>
#include <string.h>

enum {
    CELL_Z = 3,       /* dimension of z; then y, x */
    MOVES_MOST = 128, /* of a relation */
    MOVES_OF_PART = 6
};

struct move {
    int64_t offset[ACCESS_THREAD_DIMENSIONS];
    isl_set *cells;
};
struct moves {
    struct move list[MOVES_MOST];
    uint32_t count;
};

static void moves_close(struct moves *moves)
{
    for (uint32_t i = 0; i < moves->count; i++) isl_set_free(moves->list[i].cells);
    moves->count = 0;
}

/* Takes the cells. False: there is no room. */
static bool add_move(struct moves *moves, const int64_t *offset, __isl_take isl_set *cells)
{
    uint32_t i = 0;
    while (i < moves->count && memcmp(moves->list[i].offset, offset, sizeof moves->list[i].offset)) i++;
    if (i == MOVES_MOST || !cells) {
        isl_set_free(cells);
        return false;
    }
    struct move *move = &moves->list[i];
    if (i == moves->count) {
        moves->count++;
        memcpy(move->offset, offset, sizeof move->offset);
        move->cells = cells;
    } else {
        move->cells = isl_set_union(move->cells, cells);
    }
    return move->cells;
}

/* Takes the value. */
static bool read_number(__isl_take isl_val *value, int64_t *number)
{
    bool is_whole = value && isl_val_is_int(value) == isl_bool_true;
    *number = is_whole ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_whole;
}

/* As the part says itself. */
static bool is_plain_move(__isl_keep isl_set *deltas, int64_t *offset)
{
    bool is_fixed = deltas;
    for (int d = 0; is_fixed && d < ACCESS_THREAD_DIMENSIONS; d++)
        is_fixed = read_number(isl_set_plain_get_val_if_fixed(deltas, isl_dim_set, (unsigned)d), &offset[d]);
    return is_fixed;
}

/* The cells of the part that move so far; NULL: there is no such move. Blocks stay where they are. */
static __isl_give isl_set *cells_at(__isl_keep isl_map *part, const int64_t *offset)
{
    int64_t distance[3]; /* x y z */
    for (int d = 0; d < 3; d++) {
        if (offset[d]) return NULL;
        distance[d] = offset[CELL_Z + 2 - d];
    }
    isl_map *moved = halo_source_translation(isl_map_get_ctx(part), distance);
    return isl_map_domain(isl_map_intersect(isl_map_copy(part), moved));
}

static bool read_point(__isl_keep isl_point *point, int64_t *offset)
{
    bool is_one = point && isl_point_is_void(point) == isl_bool_false;
    for (int d = 0; is_one && d < ACCESS_THREAD_DIMENSIONS; d++)
        is_one = read_number(isl_point_get_coordinate_val(point, isl_dim_set, d), &offset[d]);
    return is_one;
}

/* The least first, as isl samples. Takes the distances. False: they are many. */
static bool add_samples(struct moves *moves, __isl_keep isl_map *part, __isl_take isl_set *deltas)
{
    bool is_fit = true;
    for (uint32_t count = 0; is_fit && isl_set_is_empty(deltas) == isl_bool_false; count++) {
        int64_t offset[ACCESS_THREAD_DIMENSIONS];
        isl_point *point = isl_set_sample_point(isl_set_copy(deltas));
        is_fit = count < MOVES_OF_PART && read_point(point, offset) &&
                 add_move(moves, offset, cells_at(part, offset));
        deltas = isl_set_subtract(deltas, isl_set_from_point(point));
    }
    is_fit = is_fit && deltas;
    isl_set_free(deltas);
    return is_fit;
}

static isl_stat add_part(__isl_take isl_basic_map *basic, void *user)
{
    struct moves *moves = user;
    int64_t offset[ACCESS_THREAD_DIMENSIONS];
    isl_map *part = isl_map_from_basic_map(basic);
    isl_set *deltas = isl_map_deltas(isl_map_copy(part));
    bool is_fit = is_plain_move(deltas, offset) ? add_move(moves, offset, isl_map_domain(isl_map_copy(part)))
                                                : deltas && add_samples(moves, part, isl_set_copy(deltas));
    isl_set_free(deltas);
    isl_map_free(part);
    return is_fit ? isl_stat_ok : isl_stat_error;
}

/* Empty where there are none, or too many. */
static bool moves_open(struct moves *moves, __isl_keep isl_map *map)
{
    moves->count = 0;
    if (map && isl_map_foreach_basic_map(map, add_part, moves) == isl_stat_ok) return true;
    moves_close(moves);
    return false;
}

__isl_give isl_map *halo_moves_coalesce(__isl_take isl_map *map)
{
    struct moves moves;
    isl_map *all = NULL;
    if (!moves_open(&moves, map)) return isl_map_coalesce(map);
    for (uint32_t i = 0; i < moves.count; i++) {
        const int64_t *offset = moves.list[i].offset;
        isl_map *moved =
            halo_source_translation(isl_map_get_ctx(map), (int64_t[3]){offset[5], offset[4], offset[3]});
        moved = isl_map_intersect_domain(moved, isl_set_coalesce(isl_set_copy(moves.list[i].cells)));
        all = all ? isl_map_union(all, moved) : moved;
    }
    moves_close(&moves);
    if (!all) return map; /* empty */
    isl_map_free(map);
    return all;
}

static bool are_apart(const struct moves *a, const struct moves *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++)
            if (memcmp(a->list[i].offset, b->list[j].offset, sizeof a->list[i].offset) &&
                isl_set_is_disjoint(a->list[i].cells, b->list[j].cells) != isl_bool_true)
                return false;
    return true;
}

static bool agree_as_relations(__isl_keep isl_map *a, __isl_keep isl_map *b)
{
    if (a == b) return isl_map_is_single_valued(a) == isl_bool_true;
    isl_map *held = isl_map_intersect_domain(isl_map_copy(a), isl_map_domain(isl_map_copy(b)));
    bool is = isl_map_is_subset(held, b) == isl_bool_true;
    isl_map_free(held);
    return is;
}

bool halo_moves_agree(__isl_keep isl_map *a, __isl_keep isl_map *b)
{
    struct moves of_a, of_b;
    of_b.count = 0;
    bool is_known = moves_open(&of_a, a) && moves_open(&of_b, b);
    bool is = is_known ? are_apart(&of_a, &of_b) : agree_as_relations(a, b);
    moves_close(&of_a);
    moves_close(&of_b);
    return is;
}
