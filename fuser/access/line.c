/* SPDX-License-Identifier: Apache-2.0
 * See line.h. */
#include "fuser/access/line.h"
#include "fuser/solver/quota.h"

#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_OPERATIONS = 500000, THREAD_X = 5 };

/* --- by the thread's number ------------------------------------------------------------------------------ */

static uint64_t threads_of(const struct access_summary *summary)
{
    return (uint64_t)summary->grid[0] * summary->block[0];
}

/* With the counters' dimensions, each equal to itself. */
static __isl_give isl_map *with_counters(__isl_take isl_map *map, unsigned count)
{
    isl_size in = isl_map_dim(map, isl_dim_in), out = isl_map_dim(map, isl_dim_out);
    if (in < 0 || out < 0) return isl_map_free(map);
    map = isl_map_add_dims(isl_map_add_dims(map, isl_dim_in, count), isl_dim_out, count);
    for (unsigned c = 0; c < count; c++)
        map = isl_map_equate(map, isl_dim_in, (unsigned)in + c, isl_dim_out, (unsigned)out + c);
    return map;
}

/* { [0, 0, bx, 0, 0, tx] -> [i] } */
static __isl_give isl_map *numbers(isl_ctx *ctx, const struct access_summary *summary)
{
    char text[256];
    snprintf(text, sizeof text, "{ [0, 0, bx, 0, 0, tx] -> [%u bx + tx] : 0 <= bx < %u and 0 <= tx < %u }",
             summary->block[0], summary->grid[0], summary->block[0]);
    return isl_map_read_from_str(ctx, text);
}

/* What only the number decides, read off as if there were one block of all threads: NULL where the relation
 * says more. */
static __isl_give isl_map *read_off(const struct access_summary *summary, __isl_keep isl_map *relation,
                                    __isl_keep isl_map *number)
{
    isl_ctx *ctx = isl_map_get_ctx(relation);
    isl_set *all = isl_map_domain(isl_map_copy(number));
    isl_map *free = isl_map_gist_domain(isl_map_copy(relation), all);
    for (unsigned d = 0; d < THREAD_X; d++) free = isl_map_fix_si(free, isl_dim_in, d, 0);
    free = isl_map_project_out(free, isl_dim_in, 0, THREAD_X);
    free = isl_map_lower_bound_si(free, isl_dim_in, 0, 0);
    free = isl_map_upper_bound_val(free, isl_dim_in, 0, isl_val_int_from_ui(ctx, threads_of(summary) - 1));
    isl_map *again = isl_map_apply_range(isl_map_copy(number), isl_map_copy(free));
    if (isl_map_is_equal(again, relation) != isl_bool_true) free = isl_map_free(free);
    isl_map_free(again);
    return free;
}

/* { [i, counters] -> [byte] } */
static __isl_give isl_map *by_number(const struct access_summary *summary, __isl_keep isl_map *relation)
{
    isl_map *bytes = isl_map_reset_tuple_id(isl_map_copy(relation), isl_dim_in);
    isl_size count = isl_map_dim(bytes, isl_dim_in);
    if (count < ACCESS_THREAD_DIMENSIONS) return isl_map_free(bytes);
    isl_map *number =
        with_counters(numbers(isl_map_get_ctx(bytes), summary), (unsigned)count - ACCESS_THREAD_DIMENSIONS);
    isl_map *found = number ? read_off(summary, bytes, number) : NULL;
    if (!found && !quota_is_used_up(isl_map_get_ctx(bytes)))
        found = isl_map_apply_domain(isl_map_copy(bytes), isl_map_copy(number));
    isl_map_free(number);
    isl_map_free(bytes);
    return isl_map_coalesce(found);
}

/* --- how it moves ----------------------------------------------------------------------------------------- */

struct walk {
    isl_pw_aff *byte;
    uint64_t threads;
};

static bool byte_at(const struct walk *walk, uint64_t thread, int64_t *byte)
{
    if (thread >= walk->threads) return false;
    isl_ctx *ctx = isl_pw_aff_get_ctx(walk->byte);
    isl_point *point = isl_point_zero(isl_pw_aff_get_domain_space(walk->byte));
    point = isl_point_set_coordinate_val(point, isl_dim_set, 0, isl_val_int_from_ui(ctx, thread));
    isl_val *value = isl_pw_aff_eval(isl_pw_aff_copy(walk->byte), point);
    bool is_known = value && isl_val_is_int(value) == isl_bool_true;
    *byte = is_known ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_known;
}

/* It is where it would be without a jump. Unknown places are none. */
static bool goes_on(const struct walk *walk, uint64_t from, uint64_t stride, uint64_t times, int64_t first,
                    int64_t step)
{
    int64_t byte;
    return !byte_at(walk, from + stride * times, &byte) || byte == first + step * (int64_t)times;
}

/* From this thread on, so many strides further it first is elsewhere than the steps before tell; 0: never, as
 * far as doubling and halving see. */
static uint64_t next_jump(const struct walk *walk, uint64_t from, uint64_t stride)
{
    int64_t first, second;
    if (!stride || !byte_at(walk, from, &first) || !byte_at(walk, from + stride, &second)) return 0;
    uint64_t last = 1, next = 2;
    while (from + stride * next < walk->threads && goes_on(walk, from, stride, next, first, second - first))
        last = next, next *= 2;
    uint64_t most = (walk->threads - 1 - from) / stride;
    if (next > most) next = most;
    if (next <= last || goes_on(walk, from, stride, next, first, second - first)) return 0;
    while (next - last > 1) {
        uint64_t middle = last + (next - last) / 2;
        *(goes_on(walk, from, stride, middle, first, second - first) ? &last : &next) = middle;
    }
    return next;
}

/* From the first jump to the second is a row, or of rows a layer. */
static void find_jumps(const struct walk *walk, uint64_t middle, struct line_form *form)
{
    int64_t first, second;
    uint64_t begin = middle + next_jump(walk, middle, 1);
    uint64_t row = begin > middle ? next_jump(walk, begin, 1) : 0;
    if (!row || row > INT32_MAX || !byte_at(walk, begin, &first) || !byte_at(walk, begin + row, &second))
        return;
    if (next_jump(walk, begin + row, 1) != row) return; /* an index that wraps, as at the ends of rows */
    form->row = (uint32_t)row;
    form->pitch = second - first;
    uint64_t layer = begin + row * next_jump(walk, begin, row);
    uint64_t rows = layer > begin ? next_jump(walk, layer, row) : 0;
    if (!rows || rows > INT32_MAX || !byte_at(walk, layer, &first) ||
        !byte_at(walk, layer + row * rows, &second))
        return;
    form->rows = (uint32_t)rows;
    form->layer = second - first;
}

/* In the middle, or a little further where that is the end of a row. */
static struct line_form form_of(const struct walk *walk)
{
    static const uint32_t further[] = {0, 5, 41, 333};
    struct line_form form = {0};
    for (size_t k = 0; k < sizeof further / sizeof *further && !form.is_known; k++) {
        uint64_t middle = walk->threads / 2 + further[k];
        int64_t bytes[3];
        bool is_known = true;
        for (uint32_t j = 0; j < 3; j++) is_known &= byte_at(walk, middle + j, &bytes[j]);
        if (!is_known || bytes[1] - bytes[0] != bytes[2] - bytes[1]) continue;
        form.is_known = true;
        form.step = bytes[1] - bytes[0];
        form.start = bytes[0] - form.step * (int64_t)middle;
        if (form.step) find_jumps(walk, middle, &form);
    }
    return form;
}

static struct line_form form_of_access(const struct access *access, __isl_keep isl_map *bytes,
                                       uint64_t threads)
{
    struct line_form form = {0};
    if (!bytes || !access->is_once || isl_map_is_single_valued(bytes) != isl_bool_true) return form;
    isl_pw_multi_aff *function = isl_pw_multi_aff_from_map(isl_map_copy(bytes));
    struct walk walk = {isl_pw_multi_aff_get_at(function, 0), threads};
    isl_pw_multi_aff_free(function);
    if (walk.byte) form = form_of(&walk);
    isl_pw_aff_free(walk.byte);
    return form;
}

/* --- the line ---------------------------------------------------------------------------------------------- */

static bool fill(struct line *line, const struct access_summary *summary)
{
    line->bytes = arena_calloc(summary->arena, summary->access_count + 1, sizeof *line->bytes);
    line->forms = arena_calloc(summary->arena, summary->access_count + 1, sizeof *line->forms);
    for (uint32_t i = 0; line->bytes && line->forms && i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (!access->relation) continue;
        line->bytes[i] = by_number(summary, access->relation);
        if (!line->bytes[i]) return false;
        line->forms[i] = form_of_access(access, line->bytes[i], line->threads);
    }
    return line->bytes && line->forms;
}

const struct line *line_analyse(const struct access_summary *summary)
{
    if (!summary->line || !line_is(summary) || threads_of(summary) > INT32_MAX) return NULL;
    struct line *line = *summary->line;
    if (!line) {
        line = arena_calloc(summary->arena, 1, sizeof *line);
        if (!line) return NULL;
        line->threads = threads_of(summary);
        struct quota quota = quota_begin(isl_set_get_ctx(summary->threads), LINE_OPERATIONS);
        if (!fill(line, summary)) line->threads = 0;
        quota_end(&quota);
        *summary->line = line;
    }
    return line->threads ? line : NULL;
}

/* --- cut in rows ------------------------------------------------------------------------------------------- */

/* { L[0, 0, 0, z, y, x, counters] -> [i, counters] } */
static __isl_give isl_map *cells(isl_ctx *ctx, const struct line *line, const struct line_cut *cut,
                                 unsigned counters)
{
    char text[512];
    uint64_t layer = (uint64_t)cut->row * cut->rows;
    int length = snprintf(text, sizeof text, "{ [0, 0, 0, z, y, x] -> [x");
    if (cut->extents[1] > 1)
        length += snprintf(text + length, sizeof text - (size_t)length, " + %u y", cut->row);
    if (cut->extents[2] > 1)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, " + %llu z", (unsigned long long)layer);
    length += snprintf(text + length, sizeof text - (size_t)length,
                       "] : 0 <= x < %u and 0 <= y < %u and 0 <= z < %u", cut->extents[0], cut->extents[1],
                       cut->extents[2]);
    snprintf(text + length, sizeof text - (size_t)length, " and x + %u y + %llu z < %llu }", cut->row,
             (unsigned long long)layer, (unsigned long long)line->threads);
    return with_counters(isl_map_read_from_str(ctx, text), counters);
}

struct tightening {
    isl_basic_map *map;
    const uint32_t *extents;
};

static bool read_number(__isl_take isl_val *value, int64_t *number)
{
    bool is_small = value && isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT32_MAX) < 0 &&
                    isl_val_cmp_si(value, -INT32_MAX) > 0;
    *number = is_small ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_small;
}

/* An inequality of x, y and z alone: of[0] x + of[1] y + of[2] z + constant >= 0. */
static bool bounds_cells(__isl_keep isl_constraint *constraint, int64_t of[3], int64_t *constant)
{
    isl_size in = isl_constraint_dim(constraint, isl_dim_in);
    bool is = isl_constraint_is_equality(constraint) == isl_bool_false &&
              isl_constraint_involves_dims(constraint, isl_dim_out, 0, 1) == isl_bool_false;
    for (int d = ACCESS_THREAD_DIMENSIONS; d < in; d++)
        is &= isl_constraint_involves_dims(constraint, isl_dim_in, (unsigned)d, 1) == isl_bool_false;
    for (int d = 0; d < isl_constraint_dim(constraint, isl_dim_div); d++)
        is &= isl_constraint_involves_dims(constraint, isl_dim_div, (unsigned)d, 1) == isl_bool_false;
    for (int d = 0; is && d < 3; d++)
        is = read_number(isl_constraint_get_coefficient_val(constraint, isl_dim_in, THREAD_X - d), &of[d]);
    return is && read_number(isl_constraint_get_constant_val(constraint), constant);
}

static int64_t floor_of(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

/* A bound of row and column together that is one of the row, as no column can change it: isl does not see
 * that. The same of row and layer. */
static isl_stat tighten(__isl_take isl_constraint *constraint, void *user)
{
    struct tightening *tightening = user;
    int64_t of[3], constant, reach = 0;
    isl_local_space *space = isl_constraint_get_local_space(constraint);
    bool is_known = bounds_cells(constraint, of, &constant);
    isl_constraint_free(constraint);
    for (int d = 1; is_known && d < 3; d++) {
        reach += of[d - 1] * (tightening->extents[d - 1] - 1);
        int64_t weight = llabs(of[d]);
        if (!weight || !reach || (reach < 0) != (of[d] < 0) || (d == 1 && of[2] % weight) ||
            floor_of(constant, weight) != floor_of(constant + reach, weight))
            continue;
        isl_constraint *bound = isl_constraint_alloc_inequality(isl_local_space_copy(space));
        for (int k = d; k < 3; k++)
            bound = isl_constraint_set_coefficient_si(bound, isl_dim_in, THREAD_X - k, (int)(of[k] / weight));
        bound = isl_constraint_set_constant_si(bound, (int)floor_of(constant, weight));
        tightening->map = isl_basic_map_add_constraint(tightening->map, bound);
    }
    isl_local_space_free(space);
    return isl_stat_ok;
}

struct tightened {
    isl_map *map;
    const struct line_cut *cut;
};

static isl_stat add_tightened(__isl_take isl_basic_map *part, void *user)
{
    struct tightened *tightened = user;
    struct tightening tightening = {part, tightened->cut->extents};
    isl_basic_map *as_is = isl_basic_map_copy(part);
    isl_basic_map_foreach_constraint(as_is, tighten, &tightening);
    bool is_same = isl_basic_map_is_subset(as_is, tightening.map) == isl_bool_true;
    isl_basic_map_free(is_same ? as_is : tightening.map);
    part = isl_basic_map_remove_redundancies(is_same ? tightening.map : as_is);
    tightened->map = isl_map_union(tightened->map, isl_map_from_basic_map(part));
    return tightened->map ? isl_stat_ok : isl_stat_error;
}

/* Divisions by the row, which kernels that tell row and column apart make, go away here. */
static __isl_give isl_map *cut_bytes(const struct line *line, const struct line_cut *cut,
                                     __isl_keep isl_map *bytes)
{
    isl_size count = isl_map_dim(bytes, isl_dim_in);
    if (count < 1) return NULL;
    isl_map *map = cells(isl_map_get_ctx(bytes), line, cut, (unsigned)count - 1);
    map = isl_map_detect_equalities(isl_map_apply_range(map, isl_map_copy(bytes)));
    struct tightened tightened = {isl_map_empty(isl_map_get_space(map)), cut};
    if (isl_map_foreach_basic_map(map, add_tightened, &tightened) != isl_stat_ok)
        tightened.map = isl_map_free(tightened.map);
    isl_map_free(map);
    return isl_map_set_tuple_name(isl_map_coalesce(tightened.map), isl_dim_in, "L");
}

static __isl_give isl_set *effective(const struct access_summary *summary, const struct line_cut *cut)
{
    isl_set *all = isl_set_empty(isl_set_get_space(cut->threads));
    for (uint32_t i = 0; i < summary->access_count; i++) {
        struct access access = summary->accesses[i];
        if (access.kind == ACCESS_READ) continue;
        access.relation = cut->relations[i];
        isl_map *bytes = access_thread_relation(&access);
        all = isl_set_union(all, bytes ? isl_map_domain(bytes) : isl_set_copy(cut->threads));
    }
    return isl_set_coalesce(all);
}

static bool fill_cut(const struct line *line, const struct access_summary *summary, struct line_cut *cut)
{
    uint64_t layer = (uint64_t)cut->row * cut->rows;
    cut->extents[0] = cut->row;
    cut->extents[1] = cut->rows;
    cut->extents[2] = (uint32_t)((line->threads + layer - 1) / layer);
    cut->relations = arena_calloc(summary->arena, summary->access_count + 1, sizeof *cut->relations);
    if (!cut->relations || layer * cut->extents[2] > INT32_MAX) return false;
    isl_map *own = cells(isl_set_get_ctx(summary->threads), line, cut, 0);
    cut->threads = isl_set_set_tuple_name(isl_map_domain(own), "L");
    for (uint32_t i = 0; i < summary->access_count; i++) {
        if (!line->bytes[i]) continue;
        cut->relations[i] = cut_bytes(line, cut, line->bytes[i]);
        if (!cut->relations[i]) return false;
    }
    if (cut->threads) cut->effective = effective(summary, cut);
    return cut->effective;
}

const struct line_cut *line_cut(const struct access_summary *summary, uint32_t row, uint32_t rows)
{
    const struct line *line = line_analyse(summary);
    if (!line || !row || row >= line->threads) return NULL;
    if (!rows) rows = (uint32_t)((line->threads + row - 1) / row);
    struct line_cut *cut = line->cuts;
    while (cut && (cut->row != row || cut->rows != rows)) cut = cut->next;
    if (!cut) {
        cut = arena_calloc(summary->arena, 1, sizeof *cut);
        if (!cut) return NULL;
        *cut = (struct line_cut){.row = row, .rows = rows, .next = line->cuts};
        struct quota quota = quota_begin(isl_set_get_ctx(summary->threads), LINE_OPERATIONS);
        cut->is_refused = !fill_cut(line, summary, cut);
        quota_end(&quota);
        (*summary->line)->cuts = cut;
    }
    return cut->is_refused ? NULL : cut;
}

isl_set *line_cut_threads(const struct access_summary *summary, const struct line_cut *cut, isl_set *threads)
{
    struct line line = {.threads = threads_of(summary)};
    isl_ctx *ctx = isl_set_get_ctx(threads);
    isl_set *numbered = isl_set_apply(isl_set_reset_tuple_id(isl_set_copy(threads)), numbers(ctx, summary));
    isl_map *back = isl_map_reverse(cells(ctx, &line, cut, 0));
    return isl_set_set_tuple_name(isl_set_coalesce(isl_set_apply(numbered, back)), "L");
}
