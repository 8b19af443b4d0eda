/* SPDX-License-Identifier: Apache-2.0
 * The box of bytes that a set is: rows, and layers of rows, found at its holes and then compared with it. What boxes
 * have in common: see box.h. */
#include "fuser/fusion/box.h"

#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/val.h>
#include <stdio.h>

static isl_stat add_part(__isl_take isl_basic_set *part, void *user)
{
    isl_set **parts = user;
    if (isl_basic_set_is_empty(part) == isl_bool_true) {
        isl_basic_set_free(part);
        return isl_stat_ok;
    }
    *parts = isl_set_union(*parts, isl_set_from_basic_set(part));
    return *parts ? isl_stat_ok : isl_stat_error;
}

/* isl (0.25) takes 0 for the least of a first part that has none, however it is hidden: parts without a point
 * are left out. */
static __isl_give isl_set *drop_empty_parts(__isl_take isl_set *set)
{
    isl_set *parts = isl_set_empty(isl_set_get_space(set));
    bool is_whole = isl_set_foreach_basic_set(set, add_part, &parts) == isl_stat_ok;
    isl_set_free(set);
    return is_whole ? parts : isl_set_free(parts);
}

/* The least of the set from this byte on; false when there is none, or isl gives up. */
static bool least_from(__isl_keep isl_set *set, int64_t from, int64_t *least)
{
    isl_ctx *ctx = isl_set_get_ctx(set);
    isl_set *rest =
        isl_set_lower_bound_val(isl_set_copy(set), isl_dim_set, 0, isl_val_int_from_si(ctx, from));
    isl_val *value = isl_set_dim_min_val(drop_empty_parts(rest), 0);
    bool is_known = value && isl_val_is_int(value);
    if (is_known) *least = isl_val_get_num_si(value);
    isl_val_free(value);
    return is_known && *least >= from;
}

static bool greatest(__isl_keep isl_set *set, int64_t *most)
{
    isl_val *value = isl_set_dim_max_val(drop_empty_parts(isl_set_copy(set)), 0);
    bool is_known = value && isl_val_is_int(value);
    if (is_known) *most = isl_val_get_num_si(value);
    isl_val_free(value);
    return is_known;
}

static bool is_box(__isl_keep isl_set *set, const struct group_box *box)
{
    char text[400];
    long long pitch = (long long)box->row_pitch;
    snprintf(
        text, sizeof text,
        "{ [x] : exists b, r, l : x = %lld + b + %lld r + %lld l and 0 <= b < %lld and 0 <= r < %u and 0 "
        "<= l < %u }",
        (long long)box->from, pitch, pitch * box->layer_rows, (long long)box->width, box->rows, box->layers);
    isl_set *all = isl_set_read_from_str(isl_set_get_ctx(set), text);
    bool is = isl_set_is_equal(all, set) == isl_bool_true;
    isl_set_free(all);
    return is;
}

/* { [r] : row r begins outside the set } */
static __isl_give isl_set *rows_outside(__isl_keep isl_set *outside, const struct group_box *box)
{
    char text[96];
    snprintf(text, sizeof text, "{ [x] -> [r] : x = %lld + %lld r and r > 0 }", (long long)box->from,
             (long long)box->row_pitch);
    return isl_set_apply(isl_set_copy(outside), isl_map_read_from_str(isl_set_get_ctx(outside), text));
}

static bool find_layers(__isl_keep isl_set *set, __isl_keep isl_set *outside, int64_t last,
                        struct group_box *box)
{
    int64_t row, layer, pitch = (int64_t)box->row_pitch;
    isl_set *missing = rows_outside(outside, box);
    bool found = least_from(missing, 1, &row) && least_from(set, box->from + row * pitch, &layer);
    isl_set_free(missing);
    if (!found || row > UINT32_MAX || (layer - box->from) % pitch) return false;
    int64_t layer_pitch = layer - box->from, end = last + 1 - (int64_t)box->width - (row - 1) * pitch;
    int64_t layers = (end - box->from) / layer_pitch + 1;
    if (end < box->from || layer_pitch / pitch > UINT32_MAX || layers > UINT32_MAX) return false;
    box->rows = (uint32_t)row;
    box->layer_rows = (uint32_t)(layer_pitch / pitch);
    box->layers = (uint32_t)layers;
    return is_box(set, box);
}

static bool find_rows(__isl_keep isl_set *set, __isl_keep isl_set *outside, int64_t last,
                      struct group_box *box)
{
    int64_t end, next;
    if (!least_from(outside, box->from, &end) || !least_from(set, end + 1, &next)) return false;
    box->width = (uint64_t)(end - box->from);
    box->row_pitch = (uint64_t)(next - box->from);
    int64_t rows = (last + 1 - end) / (int64_t)box->row_pitch + 1;
    if (rows > UINT32_MAX) return false;
    box->rows = box->layer_rows = (uint32_t)rows;
    return is_box(set, box) || find_layers(set, outside, last, box);
}

bool box_of(__isl_keep isl_set *set, struct group_box *box)
{
    int64_t first, last;
    *box = (struct group_box){.rows = 1, .layers = 1, .layer_rows = 1};
    if (!least_from(set, INT32_MIN, &first) || !greatest(set, &last)) return false;
    box->from = first;
    box->width = box->row_pitch = (uint64_t)(last + 1 - first);
    if (is_box(set, box)) return true;
    char text[96];
    snprintf(text, sizeof text, "{ [x] : %lld <= x <= %lld }", (long long)first, (long long)last);
    isl_set *outside = isl_set_subtract(isl_set_read_from_str(isl_set_get_ctx(set), text), isl_set_copy(set));
    bool found = find_rows(set, outside, last, box);
    isl_set_free(outside);
    return found;
}

/* --- of rows --- */

static bool is_all_within(__isl_keep isl_set *set, const int64_t least[3], const int64_t count[3])
{
    isl_set *all = isl_set_universe(isl_set_get_space(set));
    isl_ctx *ctx = isl_set_get_ctx(set);
    for (unsigned c = 0; c < 3; c++) {
        all = isl_set_lower_bound_val(all, isl_dim_set, c, isl_val_int_from_si(ctx, least[c]));
        all = isl_set_upper_bound_val(all, isl_dim_set, c, isl_val_int_from_si(ctx, least[c] + count[c] - 1));
    }
    bool is = isl_set_is_equal(all, set) == isl_bool_true;
    isl_set_free(all);
    return is;
}

/* One row is none, nor are rows that touch each other. */
static void simplify(struct group_box *box, uint64_t layer_pitch)
{
    if (box->layers > 1 && box->layers <= UINT32_MAX / box->rows &&
        layer_pitch == box->rows * box->row_pitch) {
        box->rows *= box->layers;
        box->layers = 1;
    }
    if (box->layers == 1) layer_pitch = box->rows * box->row_pitch;
    if (box->rows > 1 && box->width == box->row_pitch) box->width *= box->rows, box->rows = 1;
    if (box->rows == 1) {
        box->rows = box->layers;
        box->row_pitch = layer_pitch;
        box->layers = 1;
    }
    if (box->rows > 1 && box->width == box->row_pitch && box->layers == 1)
        box->width *= box->rows, box->rows = 1;
    if (box->layers == 1) box->layer_rows = box->rows;
    if (box->layers == 1 && box->rows == 1) box->row_pitch = box->width;
}

bool box_of_rows(__isl_keep isl_set *set, const struct array_rows *rows, struct group_box *box)
{
    int64_t least[3], count[3];
    for (int c = 0; c < 3; c++) {
        struct array_extent extent;
        if (!array_rows_extent(set, c, &extent)) return false;
        least[c] = extent.least;
        count[c] = extent.most - extent.least + 1;
        if (count[c] > UINT32_MAX) return false;
    }
    if (!is_all_within(set, least, count) || (count[0] > 1 && rows->layer % rows->row)) return false;
    *box = (struct group_box){.from = rows->start + least[0] * rows->layer + least[1] * rows->row +
                                      least[2] * rows->unit,
                              .width = (uint64_t)(count[2] * rows->unit),
                              .row_pitch = (uint64_t)rows->row,
                              .rows = (uint32_t)count[1],
                              .layers = (uint32_t)count[0],
                              .layer_rows = (uint32_t)(rows->layer / rows->row)};
    simplify(box, (uint64_t)rows->layer);
    return true;
}

/* --- two boxes --- */

enum { NO_PITCH_BITS = 44 }; /* of two runs: no row of one is another's of the other */

static bool is_run(const struct group_box *box)
{
    return box->rows == 1 && box->layers == 1;
}

/* Distances that both have: false where they have others each. */
static bool common_pitches(const struct group_box *a, const struct group_box *b, int64_t *pitch,
                           int64_t *layer_rows)
{
    if (!is_run(a) && !is_run(b) && a->row_pitch != b->row_pitch) return false;
    if (a->layers > 1 && b->layers > 1 && a->layer_rows != b->layer_rows) return false;
    *pitch = !is_run(a) ? (int64_t)a->row_pitch : !is_run(b) ? (int64_t)b->row_pitch : 1LL << NO_PITCH_BITS;
    *layer_rows = a->layers > 1 ? a->layer_rows : b->layers > 1 ? b->layer_rows : UINT32_MAX;
    return *pitch > 0 && *layer_rows > 0;
}

/* What is left is from -unit / 2 on, less than unit / 2. */
static int64_t nearest(int64_t value, int64_t unit, int64_t *left)
{
    int64_t units = value / unit;
    *left = value - units * unit;
    if (*left >= (unit + 1) / 2) units++, *left -= unit;
    if (*left < -(unit / 2)) units--, *left += unit;
    return units;
}

struct part { /* of a line: from the first one's beginning */
    int64_t from, to;
};

static struct part common(int64_t length, int64_t begin, int64_t other)
{
    int64_t end = begin + other;
    return (struct part){begin > 0 ? begin : 0, end < length ? end : length};
}

bool box_meet(const struct group_box *a, const struct group_box *b, struct group_box *meet)
{
    int64_t pitch, layer_rows, column, row;
    if (!common_pitches(a, b, &pitch, &layer_rows)) return false;
    int64_t layer = nearest(nearest(b->from - a->from, pitch, &column), layer_rows, &row);
    struct part x = common((int64_t)a->width, column, (int64_t)b->width), y = common(a->rows, row, b->rows),
                z = common(a->layers, layer, b->layers);
    if (x.from >= x.to || y.from >= y.to || z.from >= z.to) return false;
    *meet = (struct group_box){.from = a->from + (z.from * layer_rows + y.from) * pitch + x.from,
                               .width = (uint64_t)(x.to - x.from),
                               .row_pitch = (uint64_t)pitch,
                               .rows = (uint32_t)(y.to - y.from),
                               .layers = (uint32_t)(z.to - z.from),
                               .layer_rows = (uint32_t)layer_rows};
    if (meet->layers == 1) meet->layer_rows = meet->rows;
    if (is_run(meet)) meet->row_pitch = meet->width;
    return true;
}

uint64_t box_bytes(const struct group_box *box)
{
    return box->width * box->rows * box->layers;
}

/* The end of its last row. */
static int64_t end_of(const struct group_box *box)
{
    int64_t rows = (int64_t)(box->layers - 1) * box->layer_rows + box->rows - 1;
    return box->from + rows * (int64_t)box->row_pitch + (int64_t)box->width;
}

bool box_covers(const struct group_box *outer, const struct group_box *inner)
{
    struct group_box meet;
    if (is_run(outer))
        return outer->from <= inner->from && end_of(inner) <= outer->from + (int64_t)outer->width;
    return box_meet(inner, outer, &meet) && box_bytes(&meet) == box_bytes(inner);
}

__isl_give isl_set *box_set(isl_ctx *ctx, const struct group_box *box)
{
    char text[480];
    long long from = (long long)box->from, pitch = (long long)box->row_pitch, layer = pitch * box->layer_rows,
              width = (long long)box->width;
    if (is_run(box))
        snprintf(text, sizeof text, "{ [x] : %lld <= x < %lld }", from, from + width);
    else if (box->layers == 1)
        snprintf(text, sizeof text,
                 "{ [x] : (x - %lld) mod %lld < %lld and 0 <= floor((x - %lld) / %lld) < %u }", from, pitch,
                 width, from, pitch, box->rows);
    else
        snprintf(text, sizeof text,
                 "{ [x] : (x - %lld) mod %lld < %lld and 0 <= floor(((x - %lld) mod %lld) / %lld) < %u and "
                 "0 <= floor((x - %lld) / %lld) < %u }",
                 from, pitch, width, from, layer, pitch, box->rows, from, layer, box->layers);
    return isl_set_read_from_str(ctx, text);
}
