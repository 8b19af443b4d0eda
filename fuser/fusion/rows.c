/* SPDX-License-Identifier: Apache-2.0
 * See rows.h. */
#include "fuser/fusion/rows.h"
#include "fuser/access/line.h"
#include "fuser/fusion/halo_parts.h"
#include "fuser/solver/quota.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_LEAST = 5,           /* threads: neighbours lie nearer */
    ROWS_NEAR = 4,            /* cells from one row, or layer, to a neighbour in the next one */
    ROWS_OPERATIONS = 100000, /* of isl */
    ROWS_DISTANCES = 256,     /* that are looked at */
    ROWS_SMALL_PART = 2,      /* of the largest member's threads: halo.h calls such a member small */
};

struct row_shape {
    uint32_t row, rows; /* 0: not known; one layer */
};
struct row_pitch { /* of an array: bytes from row to row, from layer to layer (0: not known) */
    uint32_t array;
    int64_t row, layer;
};
struct row_guess {
    const struct group *group;
    const struct line **lines; /* by member; NULL: it stays as it is */
    struct row_shape *shapes;  /* by member */
    struct row_pitch *pitches;
    uint32_t pitch_count;
};

static const struct access_summary *summary_of(const struct row_guess *guess, uint32_t member)
{
    return guess->group->members[member].summary;
}

/* --- what can be cut ---------------------------------------------------------------------------------------- */

static uint64_t threads_of(const struct row_guess *guess, uint32_t member)
{
    return remap_threads(summary_of(guess, member)->grid, summary_of(guess, member)->block);
}

/* Of members that have so many threads that `layers` of them are no small member. */
static bool find_lines(struct row_guess *guess, uint32_t layers)
{
    uint64_t most = 0;
    bool has_line = false;
    for (uint32_t m = 0; m < guess->group->member_count; m++)
        if (threads_of(guess, m) > most) most = threads_of(guess, m);
    for (uint32_t m = 0; m < guess->group->member_count; m++) {
        const struct access_summary *summary = summary_of(guess, m);
        if (guess->lines[m] || !line_is(summary) || layers * threads_of(guess, m) <= most / ROWS_SMALL_PART)
            continue;
        guess->lines[m] = line_analyse(summary);
        if (!guess->lines[m]) return false;
        has_line = true;
    }
    return has_line;
}

/* --- from jumps ----------------------------------------------------------------------------------------------- */

/* Of parts of rows, the rest of which lies between them: not the ends at which an index wraps, nor what all rows
 * share. */
static bool tells_row(const struct line_form *form)
{
    return form->row >= ROWS_LEAST && form->step && form->pitch / form->step > form->row;
}

static bool find_jumps(struct row_guess *guess)
{
    bool found = false;
    for (uint32_t m = 0; m < guess->group->member_count; m++) {
        struct row_shape *shape = &guess->shapes[m];
        for (uint32_t i = 0; guess->lines[m] && i < summary_of(guess, m)->access_count; i++) {
            const struct line_form *form = &guess->lines[m]->forms[i];
            if (!tells_row(form) || (shape->row && !form->rows)) continue;
            *shape = (struct row_shape){form->row, form->rows};
            found = true;
        }
    }
    return found;
}

/* What jumps after whole layers alone has the rows of another member, where these make up a layer. */
static void split_layers(struct row_guess *guess)
{
    for (uint32_t m = 0; m < guess->group->member_count; m++)
        for (uint32_t other = 0; other < guess->group->member_count; other++) {
            struct row_shape *shape = &guess->shapes[m];
            uint32_t row = guess->shapes[other].row;
            if (shape->row && !shape->rows && row && row < shape->row && shape->row % row == 0)
                *shape = (struct row_shape){row, shape->row / row};
        }
}

static struct row_pitch *pitch_of(const struct row_guess *guess, uint32_t array)
{
    for (uint32_t i = 0; i < guess->pitch_count; i++)
        if (guess->pitches[i].array == array) return &guess->pitches[i];
    return NULL;
}

/* Of the arrays that a member with known rows touches. */
static bool learn_pitches(struct row_guess *guess, uint32_t member)
{
    const struct bound_launch *launch = &guess->group->members[member];
    const struct row_shape *shape = &guess->shapes[member];
    bool has_learned = false;
    for (uint32_t i = 0; i < launch->summary->access_count; i++) {
        const struct line_form *form = &guess->lines[member]->forms[i];
        uint32_t array = launch->bindings[launch->summary->accesses[i].base].array;
        if (!form->is_known || !form->step || pitch_of(guess, array)) continue;
        if (form->row && (form->row != shape->row || !tells_row(form))) continue;
        struct row_pitch pitch = {array, llabs(form->row ? form->pitch : form->step * shape->row), 0};
        if (shape->rows)
            pitch.layer = form->rows == shape->rows ? llabs(form->layer) : pitch.row * shape->rows;
        guess->pitches[guess->pitch_count++] = pitch;
        has_learned = true;
    }
    return has_learned;
}

/* Of a member whose elements follow each other through whole arrays. */
static bool take_pitch(struct row_guess *guess, uint32_t member)
{
    const struct bound_launch *launch = &guess->group->members[member];
    for (uint32_t i = 0; i < launch->summary->access_count; i++) {
        const struct line_form *form = &guess->lines[member]->forms[i];
        const struct row_pitch *pitch =
            pitch_of(guess, launch->bindings[launch->summary->accesses[i].base].array);
        if (!form->is_known || form->row || !form->step || !pitch || pitch->row % form->step) continue;
        int64_t row = pitch->row / llabs(form->step), rows = pitch->layer / pitch->row;
        if (row < ROWS_LEAST || row > INT32_MAX || rows < 0 || rows > INT32_MAX) continue;
        guess->shapes[member] = (struct row_shape){(uint32_t)row, (uint32_t)rows};
        return true;
    }
    return false;
}

/* --- from launches of planes -------------------------------------------------------------------------------
 */

/* The byte that the cell's thread touches. */
static bool byte_of_cell(const struct access_summary *summary, __isl_keep isl_pw_aff *form,
                         const uint64_t cell[3], int64_t *byte)
{
    isl_ctx *ctx = isl_pw_aff_get_ctx(form);
    isl_point *point = isl_point_zero(isl_pw_aff_get_domain_space(form));
    for (int d = 0; d < 3; d++) {
        isl_val *block = isl_val_int_from_ui(ctx, cell[d] / summary->block[d]);
        isl_val *thread = isl_val_int_from_ui(ctx, cell[d] % summary->block[d]);
        point = isl_point_set_coordinate_val(point, isl_dim_set, 2 - d, block);
        point = isl_point_set_coordinate_val(point, isl_dim_set, 5 - d, thread);
    }
    isl_val *value = isl_pw_aff_eval(isl_pw_aff_copy(form), point);
    bool is_known = value && isl_val_is_int(value) == isl_bool_true;
    *byte = is_known ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_known;
}

/* In the middle of the launch. */
static bool pitch_of_access(const struct access_summary *summary, const struct access *access,
                            struct row_pitch *pitch)
{
    if (!access->relation || !access->is_once || isl_map_is_single_valued(access->relation) != isl_bool_true)
        return false;
    isl_pw_multi_aff *function = isl_pw_multi_aff_from_map(isl_map_copy(access->relation));
    isl_pw_aff *form = isl_pw_multi_aff_get_at(function, 0);
    isl_pw_multi_aff_free(function);
    uint64_t cell[3];
    int64_t here, next;
    for (int d = 0; d < 3; d++) cell[d] = (uint64_t)summary->grid[d] * summary->block[d] / 2;
    bool is_known = form && byte_of_cell(summary, form, cell, &here);
    for (int d = 1; is_known && d < 3; d++) {
        if (d == 2 && summary->grid[2] == 1 && summary->block[2] == 1) continue;
        cell[d]--;
        is_known = byte_of_cell(summary, form, cell, &next);
        *(d == 1 ? &pitch->row : &pitch->layer) = llabs(next - here);
        cell[d]++;
    }
    isl_pw_aff_free(form);
    return is_known && pitch->row;
}

static bool find_planes(struct row_guess *guess)
{
    bool found = false;
    for (uint32_t m = 0; m < guess->group->member_count; m++) {
        const struct bound_launch *launch = &guess->group->members[m];
        const struct access_summary *summary = launch->summary;
        if ((uint64_t)summary->grid[1] * summary->block[1] < ROWS_LEAST) continue;
        for (uint32_t i = 0; i < summary->access_count; i++) {
            struct row_pitch pitch = {.array = launch->bindings[summary->accesses[i].base].array};
            if (pitch_of(guess, pitch.array) || !pitch_of_access(summary, &summary->accesses[i], &pitch))
                continue;
            guess->pitches[guess->pitch_count++] = pitch;
            found = true;
        }
    }
    return found;
}

static void spread_rows(struct row_guess *guess)
{
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t m = 0; m < guess->group->member_count; m++) {
            if (!guess->lines[m]) continue;
            has_changed |= guess->shapes[m].row ? learn_pitches(guess, m) : take_pitch(guess, m);
        }
    }
}

/* --- from distances -------------------------------------------------------------------------------------------- */

struct distances {
    int64_t list[ROWS_DISTANCES]; /* threads, without sign */
    uint32_t count;
};

static void add_distance(struct distances *distances, const struct line_form *store, int64_t store_offset,
                         const struct line_form *load, int64_t load_offset)
{
    if (!store->is_known || !load->is_known || store->row || load->row || store->step != load->step ||
        !store->step)
        return;
    int64_t bytes = llabs(load->start + load_offset - store->start - store_offset), step = llabs(store->step);
    if (bytes % step || bytes / step < ROWS_LEAST || distances->count == ROWS_DISTANCES) return;
    distances->list[distances->count++] = bytes / step;
}

static void add_distances(const struct row_guess *guess, uint32_t p, uint32_t q, struct distances *distances)
{
    const struct bound_launch *first = &guess->group->members[p], *second = &guess->group->members[q];
    for (uint32_t i = 0; i < first->summary->access_count; i++)
        for (uint32_t j = 0; j < second->summary->access_count; j++) {
            const struct access *a = &first->summary->accesses[i], *b = &second->summary->accesses[j];
            const struct array_binding *from = &first->bindings[a->base], *to = &second->bindings[b->base];
            if (a->kind == ACCESS_WRITE && b->kind == ACCESS_READ && from->array == to->array)
                add_distance(distances, &guess->lines[p]->forms[i], from->offset, &guess->lines[q]->forms[j],
                             to->offset);
        }
}

static int compare_distances(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The middle one of those from `least` on that lie this near to each other; 0: there are none. */
static int64_t middle_distance(const struct distances *distances, int64_t least, int64_t near)
{
    uint32_t first = 0, last;
    while (first < distances->count && distances->list[first] < least) first++;
    if (first == distances->count) return 0;
    for (last = first;
         last + 1 < distances->count && distances->list[last + 1] <= distances->list[first] + 2 * near;)
        last++;
    return distances->list[first + (last - first) / 2];
}

static bool is_open(const struct row_guess *guess, uint32_t member)
{
    return guess->lines[member] && !guess->shapes[member].row;
}

/* Of those that have none yet, from each other. */
static bool find_distances(struct row_guess *guess)
{
    struct distances distances = {.count = 0};
    for (uint32_t q = 0; q < guess->group->member_count; q++)
        for (uint32_t p = 0; p < q; p++)
            if (is_open(guess, p) && is_open(guess, q)) add_distances(guess, p, q, &distances);
    qsort(distances.list, distances.count, sizeof *distances.list, compare_distances);
    int64_t row = middle_distance(&distances, ROWS_LEAST, ROWS_NEAR);
    if (!row || row > INT32_MAX) return false;
    int64_t layer = middle_distance(&distances, (ROWS_NEAR + 1) * row, row + ROWS_NEAR);
    struct row_shape shape = {(uint32_t)row, layer % row ? 0 : (uint32_t)(layer / row)};
    for (uint32_t m = 0; m < guess->group->member_count; m++)
        if (is_open(guess, m)) guess->shapes[m] = shape;
    return true;
}

/* --- the cut launches --------------------------------------------------------------------------------------------- */

static bool cut(const struct group *group, struct bound_launch *launch, struct group_cut *cut,
                const struct row_shape *shape)
{
    const struct access_summary *line = launch->summary;
    const struct line_cut *found = line_cut(line, shape->row, shape->rows);
    struct access_summary *summary = arena_alloc(group->arena, sizeof *summary);
    struct access *accesses = arena_calloc(group->arena, line->access_count + 1, sizeof *accesses);
    if (!found || !summary || !accesses) return false;
    *summary = *line;
    summary->accesses = accesses;
    for (uint32_t i = 0; i < line->access_count; i++) {
        accesses[i] = line->accesses[i];
        accesses[i].relation = found->relations[i];
    }
    for (int d = 0; d < 3; d++) summary->grid[d] = 1, summary->block[d] = found->extents[d];
    summary->threads = found->threads;
    summary->effective = found->effective;
    summary->expansion = NULL;
    summary->line = NULL;
    summary->rounds = NULL;
    summary->ways = NULL;
    summary->round_count = 0;
    launch->summary = summary;
    *cut = (struct group_cut){found, line};
    return true;
}

/* Threads up to the last one that does anything. */
static uint64_t effective_threads(const struct access_summary *summary)
{
    isl_local_space *threads = isl_local_space_from_space(isl_set_get_space(summary->effective));
    isl_aff *number =
        isl_aff_set_coefficient_si(isl_aff_zero_on_domain(threads), isl_dim_in, 2, (int)summary->block[0]);
    number = isl_aff_set_coefficient_si(number, isl_dim_in, 5, 1);
    isl_val *last = isl_set_max_val(summary->effective, number);
    isl_aff_free(number);
    uint64_t count = last && isl_val_is_int(last) ? (uint64_t)isl_val_get_num_si(last) + 1 : 0;
    isl_val_free(last);
    return count;
}

/* Of the member that has most; 1: none is known to have any. */
static uint32_t layers_of(const struct row_guess *guess)
{
    uint64_t most = 1;
    for (uint32_t m = 0; m < guess->group->member_count; m++) {
        const struct access_summary *summary = summary_of(guess, m);
        uint64_t cells = (uint64_t)guess->shapes[m].row * guess->shapes[m].rows,
                 layers = cells ? (effective_threads(summary) + cells - 1) / cells : 1;
        if (!guess->lines[m]) layers = (uint64_t)summary->grid[2] * summary->block[2];
        if (layers > most) most = layers;
    }
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static bool are_layers(uint64_t all, uint64_t rows)
{
    return rows > 1 && rows < all && all % rows == 0 && all / rows <= HALO_MOST_LAYERS;
}

/* Where layers follow each other as rows do, no jump tells how many rows one has: the member does that has but one layer, as many
 * rows or some more or less (what lies between rows, and beside them). */
static uint32_t rows_of_flat(const struct row_guess *guess, uint32_t flat, uint32_t member)
{
    const struct row_shape *shape = &guess->shapes[member], *of = &guess->shapes[flat];
    if (!shape->row || shape->rows || !of->row) return 0;
    uint64_t rows = (effective_threads(summary_of(guess, flat)) + of->row - 1) / of->row,
             all = (effective_threads(summary_of(guess, member)) + shape->row - 1) / shape->row;
    for (uint64_t more = 0; more <= ROWS_NEAR; more++) {
        if (are_layers(all, rows - more)) return (uint32_t)(rows - more);
        if (are_layers(all, rows + more)) return (uint32_t)(rows + more);
    }
    return 0;
}

/* What is computed once for a few layers is no small member (halo.h, rule 9): where its rows are known, it is cut, too. */
static bool find_flat_rows(struct row_guess *guess)
{
    uint32_t count = guess->group->member_count, layers = layers_of(guess);
    bool *was_line = arena_calloc(guess->group->arena, count, sizeof *was_line);
    if (!was_line) return false;
    if (layers > HALO_MOST_LAYERS) return true;
    for (uint32_t m = 0; m < count; m++) was_line[m] = guess->lines[m];
    if (!find_lines(guess, layers > 1 ? layers : HALO_MOST_LAYERS)) return true;
    find_jumps(guess);
    split_layers(guess);
    spread_rows(guess);
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t flat = 0; was_line[m] && flat < count; flat++)
            if (guess->lines[flat] && !was_line[flat] && !guess->shapes[m].rows)
                guess->shapes[m].rows = rows_of_flat(guess, flat, m);
    layers = layers_of(guess);
    for (uint32_t m = 0; m < count; m++)
        if (!was_line[m] && (is_open(guess, m) || layers < 2)) guess->lines[m] = NULL;
    return true;
}

/* What has to do with none of the others may have any rows: the first's. */
static bool find_rows(struct row_guess *guess)
{
    const struct row_shape *first = NULL;
    if (!find_lines(guess, 1)) return false;
    bool has_jumps = find_jumps(guess), has_planes = find_planes(guess);
    split_layers(guess);
    if (has_jumps || has_planes) spread_rows(guess);
    find_distances(guess);
    if (!find_flat_rows(guess)) return false;
    for (uint32_t m = 0; !first && m < guess->group->member_count; m++)
        if (guess->shapes[m].row) first = &guess->shapes[m];
    for (uint32_t m = 0; first && m < guess->group->member_count; m++)
        if (is_open(guess, m)) guess->shapes[m] = *first;
    return first;
}

struct bound_launch *rows_cut(struct group *group)
{
    uint32_t count = group->member_count, accesses = 1;
    for (uint32_t m = 0; m < count; m++) accesses += group->members[m].summary->access_count;
    struct row_guess guess = {.group = group,
                              .lines = arena_calloc(group->arena, count, sizeof *guess.lines),
                              .shapes = arena_calloc(group->arena, count, sizeof *guess.shapes),
                              .pitches = arena_calloc(group->arena, accesses, sizeof *guess.pitches)};
    struct bound_launch *members = arena_calloc(group->arena, count, sizeof *members);
    struct group_cut *cuts = arena_calloc(group->arena, count, sizeof *cuts);
    if (!guess.lines || !guess.shapes || !guess.pitches || !members || !cuts) return NULL;
    struct quota quota = quota_begin(isl_set_get_ctx(group->members[0].summary->threads), ROWS_OPERATIONS);
    bool found = find_rows(&guess);
    quota_end(&quota);
    if (!found) return NULL;
    memcpy(members, group->members, count * sizeof *members);
    for (uint32_t m = 0; m < count; m++)
        if (guess.lines[m] && !cut(group, &members[m], &cuts[m], &guess.shapes[m])) return NULL;
    group->cuts = cuts;
    return members;
}
