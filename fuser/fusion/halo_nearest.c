/* SPDX-License-Identifier: Apache-2.0
 * See halo_nearest.h. */
#include "fuser/fusion/halo_moves.h"
#include "fuser/fusion/halo_nearest.h"

#include "fuser/fusion/halo_source.h"

#include <isl/point.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__isl_give isl_map *halo_place_of(const struct spread *p, isl_ctx *ctx, const int64_t offset[3])
{
    isl_map *place = halo_source_translation(ctx, offset);
    return p->is_flat ? isl_map_apply_range(halo_source_flatten(ctx), place) : place;
}

__isl_give isl_map *halo_placed(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3])
{
    return isl_map_apply_domain(isl_map_copy(needed), halo_place_of(p, isl_map_get_ctx(needed), offset));
}

bool halo_is_free(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3])
{
    isl_map *wanted = halo_placed(p, needed, offset);
    bool is = halo_moves_agree(p->cells, wanted);
    isl_map_free(wanted);
    return is;
}

/* --- some of what is needed, as numbers --- */

enum { PLACES = 2 * HALO_NEARBY + 1, DIMENSIONS = 6 /* of a cell: bz, by, bx, z, y, x */, SAMPLES_MOST = 4 };

/* Offsets at which one of a few samples would lie where another cell has its place: there it is no use to ask
 * isl about all that is needed. */
struct probe {
    const struct spread *p;
    uint32_t samples;
    int64_t place[DIMENSIONS], cell[DIMENSIONS]; /* of one */
    bool is_taken[PLACES][PLACES][PLACES];       /* by z, y, x */
};

/* False: it is no number. */
static bool read_point(__isl_keep isl_point *point, int64_t place[DIMENSIONS], int64_t cell[DIMENSIONS])
{
    bool is_known = point && isl_point_is_void(point) == isl_bool_false;
    for (int d = 0; is_known && d < 2 * DIMENSIONS; d++) {
        isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, d);
        is_known = value && isl_val_is_int(value);
        if (is_known) *(d < DIMENSIONS ? &place[d] : &cell[d - DIMENSIONS]) = isl_val_get_num_si(value);
        isl_val_free(value);
    }
    return is_known;
}

static isl_stat mark_taken(__isl_take isl_point *point, void *user)
{
    struct probe *probe = user;
    int64_t place[DIMENSIONS], cell[DIMENSIONS];
    if (read_point(point, place, cell)) {
        const int64_t *from = probe->place;
        bool *is_taken = &probe->is_taken[place[3] - from[3] + HALO_NEARBY][place[4] - from[4] + HALO_NEARBY]
                                         [place[5] - from[5] + HALO_NEARBY];
        *is_taken = *is_taken || memcmp(cell, probe->cell, sizeof cell);
    }
    isl_point_free(point);
    return isl_stat_ok;
}

static isl_stat probe_part(__isl_take isl_basic_map *part, void *user)
{
    struct probe *probe = user;
    isl_point *sample = probe->samples < SAMPLES_MOST
                            ? isl_basic_set_sample_point(isl_basic_map_wrap(isl_basic_map_copy(part)))
                            : NULL;
    if (sample && read_point(sample, probe->place, probe->cell)) {
        if (probe->p->is_flat) probe->place[3] = 0;
        isl_map *around = isl_map_copy(probe->p->cells);
        for (unsigned d = 0; d < DIMENSIONS; d++) {
            int nearby = d < 3 ? 0 : HALO_NEARBY;
            around = isl_map_lower_bound_si(around, isl_dim_in, d, (int)probe->place[d] - nearby);
            around = isl_map_upper_bound_si(around, isl_dim_in, d, (int)probe->place[d] + nearby);
        }
        isl_set *pairs = isl_map_wrap(around);
        isl_set_foreach_point(pairs, mark_taken, probe);
        isl_set_free(pairs);
        probe->samples++;
    }
    isl_point_free(sample);
    isl_basic_map_free(part);
    return isl_stat_ok;
}

static bool is_taken(const struct probe *probe, const int64_t offset[3])
{
    return probe->is_taken[offset[2] + HALO_NEARBY][offset[1] + HALO_NEARBY][offset[0] + HALO_NEARBY];
}

/* --- all of it --- */

static bool is_extended(const struct halo *halo, int d)
{
    return halo->group->cells[d] > 1;
}

__isl_give isl_map *halo_periodic_places(const struct halo *halo, uint32_t member)
{
    int64_t length[3];
    isl_set *effective = isl_set_copy(halo_summary(halo, member)->effective);
    isl_set *own =
        isl_map_domain(isl_map_intersect_range(isl_map_copy(halo->space->maps[member]), effective));
    bool is_known = true;
    for (int d = 0; d < 3 && is_known; d++) is_known = halo_source_extent(own, d, &length[d]);
    isl_set_free(own);
    if (!is_known) return NULL;
    char text[512];
    snprintf(text, sizeof text,
             "{ F[bz, by, bx, tz, ty, tx] -> F[bz, by, bx, z, y, x] : exists i, j, k : z = tz + %lld i and y "
             "= ty + "
             "%lld j and x = tx + %lld k and -1 <= i <= 1 and -1 <= j <= 1 and -1 <= k <= 1 }",
             (long long)length[2], (long long)length[1], (long long)length[0]);
    return memo_read(halo->space->memo, text);
}

static bool is_among(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3],
                     __isl_keep isl_map *places)
{
    isl_map *wanted = places ? halo_placed(p, needed, offset) : NULL;
    bool is = !places || isl_map_is_subset(wanted, places) == isl_bool_true;
    isl_map_free(wanted);
    return is;
}

/* The nearest offset at which all that is needed has one of these places (NULL: any), and a free one. */
static bool find_nearest(const struct halo *halo, const struct probe *probe, __isl_keep isl_map *needed,
                         __isl_keep isl_map *places, int64_t offset[3])
{
    for (int64_t distance = 0; distance <= 3 * HALO_NEARBY; distance++)
        for (int64_t z = -HALO_NEARBY; z <= HALO_NEARBY; z++)
            for (int64_t y = -HALO_NEARBY; y <= HALO_NEARBY; y++)
                for (int64_t x = -HALO_NEARBY; x <= HALO_NEARBY; x++) {
                    if (llabs(x) + llabs(y) + llabs(z) != distance) continue;
                    if ((x && !is_extended(halo, 0)) || (y && !is_extended(halo, 1)) ||
                        (z && (probe->p->is_flat || !is_extended(halo, 2))))
                        continue;
                    offset[0] = x, offset[1] = y, offset[2] = z;
                    if (!is_taken(probe, offset) && is_among(probe->p, needed, offset, places) &&
                        halo_is_free(probe->p, needed, offset))
                        return true;
                }
    return false;
}

struct search {
    const struct halo *halo;
    const struct spread *p;
    isl_map *needed;
};

static void find_place(const void *user, struct memo_found *found)
{
    const struct search *search = user;
    struct probe probe = {.p = search->p};
    isl_map_foreach_basic_map(search->needed, probe_part, &probe);
    found->numbers[3] = (search->p->periodic && find_nearest(search->halo, &probe, search->needed,
                                                             search->p->periodic, found->numbers)) ||
                        find_nearest(search->halo, &probe, search->needed, NULL, found->numbers);
}

/* Not kept where one of the three relations has no number. */
static struct memo_question question_of(const struct search *search)
{
    struct memo *memo = search->halo->space->memo;
    const struct spread *p = search->p;
    uint64_t where = p->is_flat, periodic = p->periodic ? memo_number(memo, p->periodic) : 0;
    for (int d = 0; d < 3; d++) where = where << 1 | is_extended(search->halo, d);
    struct memo_question question =
        memo_question_of(memo, MEMO_NEAREST, p->cells, search->needed, where << 32 | periodic);
    if (p->periodic && !periodic) question.words[0] = 0;
    return question;
}

bool halo_find_nearest(const struct halo *halo, uint32_t member, __isl_keep isl_map *needed,
                       int64_t offset[3])
{
    const struct spread *p = &halo->spreads[member];
    const struct search search = {halo, p, needed};
    struct memo_question question = question_of(&search);
    struct memo_found found = memo_ask(halo->space->memo, &question, find_place, &search);
    memcpy(offset, found.numbers, 3 * sizeof *offset);
    return found.numbers[3];
}
