/* SPDX-License-Identifier: Apache-2.0
 * See array_rows.h. */
#include "fuser/access/array_rows.h"

#include "fuser/access/overlap.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>

enum { LAYER, ROW, PLACE, COORDINATES };
enum { DIMENSIONS_MOST = 16 /* of an instance space */, REMAINDERS_MOST = 4, SPLITS_MOST = 3 };

/* --- an address as a sum -------------------------------------------------------------------------------- */

struct form { /* first byte, from the array's start */
    int64_t constant, steps[DIMENSIONS_MOST];
    uint32_t dimensions;
};

static bool take_value(__isl_take isl_val *value, int64_t unit, int64_t *to)
{
    bool is_known =
        value && isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, 8) == 1;
    if (is_known) *to = unit * isl_val_get_num_si(value);
    isl_val_free(value);
    return is_known;
}

/* What the equation says of the byte: unit is what it has there, 1 or -1. */
static bool read_equation(__isl_keep isl_constraint *equation, struct form *form)
{
    int64_t unit;
    bool is_known = take_value(isl_constraint_get_coefficient_val(equation, isl_dim_out, 0), 1, &unit) &&
                    (unit == 1 || unit == -1) &&
                    take_value(isl_constraint_get_constant_val(equation), -unit, &form->constant);
    for (uint32_t d = 0; is_known && d < form->dimensions; d++)
        is_known = take_value(isl_constraint_get_coefficient_val(equation, isl_dim_in, (int)d), -unit,
                              &form->steps[d]);
    return is_known;
}

/* Of all these instances, whatever else holds of them: that numbers are even, say. */
static bool form_of(const struct bound_launch *launch, const struct access *access,
                    __isl_keep isl_map *relation, struct form *form)
{
    isl_basic_map *hull = isl_basic_map_remove_divs(isl_map_affine_hull(isl_map_copy(relation)));
    isl_size dimensions = isl_basic_map_dim(hull, isl_dim_in);
    isl_constraint *equation = NULL;
    bool is_known = dimensions >= ACCESS_THREAD_DIMENSIONS && dimensions <= DIMENSIONS_MOST &&
                    isl_basic_map_has_defining_equality(hull, isl_dim_out, 0, &equation) == isl_bool_true;
    *form = (struct form){.dimensions = is_known ? (uint32_t)dimensions : 0};
    is_known = is_known && read_equation(equation, form);
    form->constant += launch->bindings[access->base].offset;
    isl_constraint_free(equation);
    isl_basic_map_free(hull);
    return is_known;
}

/* Of all instances of an access, or of those of a piece: an index that is clamped has one form at the border, another within. */
typedef bool use_form(const struct bound_launch *launch, const struct access *access,
                      __isl_keep isl_map *piece, const struct form *form, void *context);

/* What the function's value has of a quotient, and that of what remainder; false: of none, or of a large divisor. */
static bool find_remainder(__isl_keep isl_aff *value, isl_aff **remainder, int64_t *divisor)
{
    isl_size count = isl_aff_dim(value, isl_dim_div);
    for (int i = 0; i < count; i++) {
        isl_val *factor = isl_aff_get_coefficient_val(value, isl_dim_div, i);
        bool is_used = isl_val_is_zero(factor) == isl_bool_false;
        isl_val_free(factor);
        if (!is_used) continue;
        isl_aff *quotient = isl_aff_get_div(value, i);
        isl_val *by = isl_aff_get_denominator_val(quotient);
        bool is_small =
            take_value(isl_val_copy(by), 1, divisor) && *divisor > 1 && *divisor <= REMAINDERS_MOST;
        *remainder = isl_aff_mod_val(isl_aff_scale_val(quotient, isl_val_copy(by)), by);
        if (is_small && *remainder) return true;
        *remainder = isl_aff_free(*remainder);
    }
    return false;
}

struct splitting {
    const struct bound_launch *launch;
    const struct access *access;
    use_form *use;
    void *context;
    uint32_t depth;
};

static bool split_form(const struct splitting *splitting, __isl_take isl_map *piece);

/* A form for each remainder: of a red-black grid the column is twice the thread's, and one more in every other row. */
static isl_stat split_remainders(__isl_take isl_set *instances, __isl_take isl_multi_aff *to, void *context)
{
    struct splitting deeper = *(const struct splitting *)context;
    isl_aff *value = isl_multi_aff_get_aff(to, 0), *remainder = NULL;
    isl_ctx *ctx = isl_set_get_ctx(instances);
    int64_t divisor = 1;
    deeper.depth++;
    bool is_known = find_remainder(value, &remainder, &divisor);
    for (int64_t r = 0; is_known && r < divisor; r++) {
        isl_aff *number =
            isl_aff_val_on_domain_space(isl_aff_get_domain_space(value), isl_val_int_from_si(ctx, r));
        isl_set *part = isl_set_from_basic_set(isl_aff_eq_basic_set(isl_aff_copy(remainder), number));
        part = isl_set_intersect(part, isl_set_copy(instances));
        if (isl_set_is_empty(part) == isl_bool_true)
            isl_set_free(part);
        else
            is_known = split_form(
                &deeper, isl_map_intersect_domain(isl_map_from_multi_aff(isl_multi_aff_copy(to)), part));
    }
    isl_aff_free(value);
    isl_aff_free(remainder);
    isl_set_free(instances);
    isl_multi_aff_free(to);
    return is_known ? isl_stat_ok : isl_stat_error;
}

static bool split_form(const struct splitting *splitting, __isl_take isl_map *piece)
{
    struct form form;
    bool is_known = form_of(splitting->launch, splitting->access, piece, &form);
    if (is_known) {
        is_known = splitting->use(splitting->launch, splitting->access, piece, &form, splitting->context);
    } else if (splitting->depth < SPLITS_MOST && isl_map_is_single_valued(piece) == isl_bool_true) {
        isl_pw_multi_aff *function = isl_pw_multi_aff_from_map(isl_map_copy(piece));
        is_known =
            isl_pw_multi_aff_foreach_piece(function, split_remainders, (void *)splitting) == isl_stat_ok;
        isl_pw_multi_aff_free(function);
    }
    isl_map_free(piece);
    return is_known;
}

static bool each_form(const struct bound_launch *launch, const struct access *access, use_form *use,
                      void *context)
{
    const struct splitting splitting = {launch, access, use, context, 0};
    struct form form;
    if (!access->relation) return false;
    if (form_of(launch, access, access->relation, &form))
        return use(launch, access, access->relation, &form, context);
    isl_basic_map_list *pieces = isl_map_get_basic_map_list(access->relation);
    isl_size count = isl_basic_map_list_n_basic_map(pieces);
    bool is_known = count > 0;
    for (int i = 0; is_known && i < count; i++)
        is_known =
            split_form(&splitting, isl_map_from_basic_map(isl_basic_map_list_get_basic_map(pieces, i)));
    isl_basic_map_list_free(pieces);
    return is_known;
}

/* --- rows ------------------------------------------------------------------------------------------------- */

static int compare_steps(const void *a, const void *b)
{
    const int64_t *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

/* From element to element, from row to row, from layer to layer: what the launch's axes and its loops go on by. */
static void guess_pitches(const struct access_summary *summary, const struct form *form,
                          struct array_rows *rows)
{
    int64_t steps[DIMENSIONS_MOST];
    uint32_t count = 0, different = 0;
    for (uint32_t d = 0; d < 3; d++) /* z, y, x */
        steps[count++] = form->steps[summary->block[2 - d] > 1 ? 3 + d : d];
    for (uint32_t d = ACCESS_THREAD_DIMENSIONS; d < form->dimensions; d++) steps[count++] = form->steps[d];
    for (uint32_t i = 0; i < count; i++) steps[i] = llabs(steps[i]);
    qsort(steps, count, sizeof *steps, compare_steps);
    for (uint32_t i = 0; i < count; i++)
        if (steps[i] && (!different || steps[i] != steps[different - 1])) steps[different++] = steps[i];
    rows->row = different > 1 ? steps[1] : ARRAY_ROWS_NONE;
    rows->layer = different > 2 ? steps[2] : ARRAY_ROWS_NONE;
}

static int64_t nearest(int64_t value, int64_t unit)
{
    int64_t half = value < 0 ? -unit / 2 : unit / 2;
    return (value + half) / unit;
}

static void split(const struct array_rows *rows, int64_t value, int64_t parts[COORDINATES])
{
    parts[LAYER] = nearest(value, rows->layer);
    value -= parts[LAYER] * rows->layer;
    parts[ROW] = nearest(value, rows->row);
    parts[PLACE] = value - parts[ROW] * rows->row;
}

/* What is less than a row is no step to another one. */
static void split_step(const struct array_rows *rows, int64_t step, int64_t parts[COORDINATES])
{
    parts[LAYER] = parts[ROW] = 0;
    parts[PLACE] = step;
    if (llabs(step) >= rows->row) split(rows, step, parts);
    if (llabs(step) < rows->layer) {
        parts[ROW] += parts[LAYER] * (rows->layer / rows->row);
        parts[PLACE] += parts[LAYER] * (rows->layer % rows->row);
        parts[LAYER] = 0;
    }
}

/* { instance -> [layer, row, place] } of the first byte. */
static __isl_give isl_map *coordinates_of(const struct array_rows *rows, const struct form *form,
                                          __isl_take isl_space *instances)
{
    int64_t parts[DIMENSIONS_MOST][COORDINATES], constant[COORDINATES];
    split(rows, form->constant - rows->start, constant);
    for (uint32_t d = 0; d < form->dimensions; d++) split_step(rows, form->steps[d], parts[d]);
    isl_space *space = isl_space_from_domain(instances);
    space = isl_space_add_dims(space, isl_dim_out, COORDINATES);
    isl_multi_aff *to = isl_multi_aff_zero(isl_space_copy(space));
    isl_ctx *ctx = isl_space_get_ctx(space);
    for (int c = 0; c < COORDINATES; c++) {
        isl_aff *aff = isl_multi_aff_get_aff(to, c);
        int64_t unit = c == PLACE ? rows->unit : 1;
        aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(ctx, constant[c] / unit));
        for (uint32_t d = 0; d < form->dimensions; d++)
            aff = isl_aff_set_coefficient_val(aff, isl_dim_in, (int)d,
                                              isl_val_int_from_si(ctx, parts[d][c] / unit));
        to = isl_multi_aff_set_aff(to, c, aff);
    }
    isl_space_free(space);
    return isl_map_from_multi_aff(to);
}

/* Their next bytes, too. */
static __isl_give isl_set *widen(__isl_take isl_set *first, uint32_t width)
{
    isl_map *near = isl_map_identity(isl_space_map_from_set(isl_set_get_space(first)));
    near = isl_map_drop_constraints_involving_dims(near, isl_dim_out, PLACE, 1);
    isl_local_space *space = isl_local_space_from_space(isl_map_get_space(near));
    isl_constraint *least = isl_constraint_alloc_inequality(isl_local_space_copy(space)),
                   *most = isl_constraint_alloc_inequality(space);
    least = isl_constraint_set_coefficient_si(least, isl_dim_out, PLACE, 1);
    least = isl_constraint_set_coefficient_si(least, isl_dim_in, PLACE, -1);
    most = isl_constraint_set_coefficient_si(most, isl_dim_out, PLACE, -1);
    most = isl_constraint_set_coefficient_si(most, isl_dim_in, PLACE, 1);
    most = isl_constraint_set_constant_si(most, (int)width - 1);
    near = isl_map_add_constraint(isl_map_add_constraint(near, least), most);
    return isl_set_apply(first, near);
}

bool array_rows_extent(__isl_keep isl_set *bytes, int coordinate, struct array_extent *extent)
{
    isl_val *least = isl_set_dim_min_val(isl_set_copy(bytes), coordinate),
            *most = isl_set_dim_max_val(isl_set_copy(bytes), coordinate);
    bool is_known = take_value(least, 1, &extent->least);
    return take_value(most, 1, &extent->most) && is_known && extent->least <= extent->most;
}

/* Whole units of the one coordinate become ones of the other, of all the set, so that its least is the least there can be. */
static __isl_give isl_set *carry(__isl_take isl_set *bytes, int from, int to, int64_t units)
{
    struct array_extent extent;
    bool is_known = array_rows_extent(bytes, from, &extent);
    int64_t carried = is_known ? extent.least / units - (extent.least % units < 0) : 0;
    if (!carried) return bytes;
    isl_multi_aff *move = isl_multi_aff_identity(isl_space_map_from_set(isl_set_get_space(bytes)));
    isl_ctx *ctx = isl_set_get_ctx(bytes);
    isl_aff *less = isl_aff_add_constant_val(isl_multi_aff_get_aff(move, from),
                                             isl_val_int_from_si(ctx, -carried * units)),
            *more =
                isl_aff_add_constant_val(isl_multi_aff_get_aff(move, to), isl_val_int_from_si(ctx, carried));
    move = isl_multi_aff_set_aff(isl_multi_aff_set_aff(move, from, less), to, more);
    return isl_set_apply(bytes, isl_map_from_multi_aff(move));
}

struct placing {
    const struct array_rows *rows;
    isl_set *bytes;
};

static bool place(const struct bound_launch *launch, const struct access *access, __isl_keep isl_map *piece,
                  const struct form *form, void *context)
{
    (void)launch;
    struct placing *placing = context;
    const struct array_rows *rows = placing->rows;
    isl_set *instances = isl_map_domain(isl_map_copy(piece));
    isl_map *to = coordinates_of(rows, form, isl_set_get_space(instances));
    isl_set *first = isl_set_apply(instances, to);
    first = carry(first, PLACE, ROW, rows->row / rows->unit);
    if (rows->layer % rows->row == 0) first = carry(first, ROW, LAYER, rows->layer / rows->row);
    uint32_t width = access->width / (uint32_t)rows->unit;
    placing->bytes = isl_set_union(placing->bytes, width > 1 ? widen(first, width) : first);
    return placing->bytes;
}

__isl_give isl_set *array_rows_bytes(const struct array_rows *rows, const struct bound_launch *launch,
                                     const struct access *access)
{
    isl_space *space = isl_space_set_alloc(isl_map_get_ctx(access->relation), 0, COORDINATES);
    struct placing placing = {rows, isl_set_empty(space)};
    if (each_form(launch, access, place, &placing)) return isl_set_coalesce(placing.bytes);
    return isl_set_free(placing.bytes);
}

/* --- whether all has its place ------------------------------------------------------------------------- */

/* isl (0.25) may be wrong of sets that have a part without a point: see box.c. */
static bool is_within(__isl_keep isl_set *bytes, int coordinate, struct array_extent extent)
{
    isl_set *within = isl_set_universe(isl_set_get_space(bytes));
    within = isl_set_lower_bound_si(within, isl_dim_set, (unsigned)coordinate, (int)extent.least);
    within = isl_set_upper_bound_si(within, isl_dim_set, (unsigned)coordinate, (int)extent.most);
    bool is = isl_set_is_subset(bytes, within) == isl_bool_true;
    isl_set_free(within);
    return is;
}

static bool fits(__isl_keep isl_set *all, int coordinate, int64_t count)
{
    struct array_extent extent;
    return array_rows_extent(all, coordinate, &extent) && extent.least > INT32_MIN &&
           extent.most < INT32_MAX && extent.most - extent.least < count &&
           is_within(all, coordinate, extent);
}

static bool has_place(const struct array_rows *rows, __isl_keep isl_set *all)
{
    return fits(all, PLACE, rows->row / rows->unit) && fits(all, ROW, rows->layer / rows->row);
}

static void add_to_unit(struct array_rows *rows, int64_t bytes)
{
    if (bytes) rows->unit = (int64_t)overlap_common_divisor((uint64_t)rows->unit, (uint64_t)llabs(bytes));
}

/* The largest pitches: of a border's accesses, and of pieces, some have none. */
static bool take_pitches(const struct bound_launch *launch, const struct access *access,
                         __isl_keep isl_map *piece, const struct form *form, void *context)
{
    (void)piece;
    struct array_rows *rows = context, other = {0};
    guess_pitches(launch->summary, form, &other);
    if (other.layer > rows->layer || (other.layer == rows->layer && other.row >= rows->row)) return true;
    other.unit = access->width;
    add_to_unit(&other, other.row);
    add_to_unit(&other, other.layer);
    *rows = other;
    return true;
}

static bool refine_unit(const struct bound_launch *launch, const struct access *access,
                        __isl_keep isl_map *piece, const struct form *form, void *context)
{
    (void)launch;
    (void)piece;
    struct array_rows *rows = context;
    add_to_unit(rows, access->width);
    add_to_unit(rows, form->constant - rows->start);
    for (uint32_t d = 0; d < form->dimensions; d++) add_to_unit(rows, form->steps[d]);
    return true;
}

struct touching { /* accesses of a range, one after the other */
    const struct bound_launch *launches;
    const struct array_range *range;
    uint32_t count, member, next;
};

static const struct access *next_touch(struct touching *touching)
{
    for (; touching->member < touching->count; touching->member++, touching->next = 0) {
        const struct bound_launch *launch = &touching->launches[touching->member];
        while (touching->next < launch->summary->access_count) {
            const struct access *access = &launch->summary->accesses[touching->next++];
            if (array_range_holds(touching->range, launch, access->base)) return access;
        }
    }
    return NULL;
}

static bool begin_at_write(struct touching touching, struct array_rows *rows)
{
    *rows = (struct array_rows){.row = ARRAY_ROWS_NONE, .layer = ARRAY_ROWS_NONE};
    for (const struct access *access; (access = next_touch(&touching));)
        if (access->kind != ACCESS_READ &&
            !each_form(&touching.launches[touching.member], access, take_pitches, rows))
            return false;
    return rows->row != ARRAY_ROWS_NONE;
}

static bool refine_units(struct touching touching, struct array_rows *rows)
{
    for (const struct access *access; (access = next_touch(&touching));)
        if (!each_form(&touching.launches[touching.member], access, refine_unit, rows)) return false;
    return true;
}

static bool all_has_place(struct touching touching, const struct array_rows *rows)
{
    isl_ctx *ctx = isl_set_get_ctx(touching.launches->summary->threads);
    isl_set *all = isl_set_empty(isl_space_set_alloc(ctx, 0, COORDINATES));
    for (const struct access *access; all && (access = next_touch(&touching));)
        all = isl_set_union(all, array_rows_bytes(rows, &touching.launches[touching.member], access));
    bool has = all && has_place(rows, all);
    isl_set_free(all);
    return has;
}

bool array_rows_find(const struct bound_launch *launches, uint32_t count, const struct array_range *range,
                     struct array_rows *rows)
{
    struct touching touching = {launches, range, count, 0, 0};
    if (!begin_at_write(touching, rows)) return false;
    for (int i = 0; i < 2; i++) { /* rows begin where the array does, or the range */
        struct array_rows from = *rows;
        from.start = i ? range->from : 0;
        if (!refine_units(touching, &from) || !all_has_place(touching, &from)) continue;
        *rows = from;
        return true;
    }
    return false;
}
