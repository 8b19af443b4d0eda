/* SPDX-License-Identifier: Apache-2.0
 * Membership in sets, from their constraints. */
#include "tests/analysis/members.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>

/* number * terms: dimensions, then divisions, then a constant. */
struct row {
    int64_t *terms;
    int64_t denominator; /* of a division: floor(row / denominator) */
    bool is_equality;
};

struct part {
    struct row *divisions, *constraints;
    unsigned division_count, constraint_count;
    isl_basic_set *beyond; /* a number of it does not fit: isl is asked */
};

struct members {
    unsigned dimensions;
    struct part *parts;
    unsigned part_count;
};

/* Takes the value; clears *fits, and returns 1, where it has more than 55 bits. */
static int64_t number_of(isl_val *value, bool *fits)
{
    bool is_small = isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, 1) <= 7;
    int64_t number = is_small ? isl_val_get_num_si(value) : 1;

    *fits &= is_small;
    isl_val_free(value);
    return number;
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (!memory) abort();
    return memory;
}

static struct row division_row(isl_aff *division, unsigned dimensions, unsigned divisions, bool *fits)
{
    isl_val *denominator = isl_aff_get_denominator_val(division);
    struct row row = {.terms = zeroed(dimensions + divisions + 1, sizeof(int64_t))};

    if (!isl_aff_plain_is_zero(division) && isl_aff_is_nan(division)) {
        fprintf(stderr, "members: a division that is not known\n");
        abort();
    }
    division = isl_aff_scale_val(division, isl_val_copy(denominator));
    for (unsigned d = 0; d < dimensions; d++)
        row.terms[d] = number_of(isl_aff_get_coefficient_val(division, isl_dim_in, (int)d), fits);
    for (unsigned d = 0; d < divisions; d++)
        row.terms[dimensions + d] =
            number_of(isl_aff_get_coefficient_val(division, isl_dim_div, (int)d), fits);
    row.terms[dimensions + divisions] = number_of(isl_aff_get_constant_val(division), fits);
    row.denominator = number_of(denominator, fits);
    isl_aff_free(division);
    return row;
}

struct filling {
    struct part *part;
    unsigned dimensions;
    bool fits;
};

static isl_stat add_constraint(isl_constraint *constraint, void *context)
{
    struct filling *filling = context;
    struct part *part = filling->part;
    struct row *row = &part->constraints[part->constraint_count++];
    unsigned dimensions = filling->dimensions;
    bool *fits = &filling->fits;

    row->terms = zeroed(dimensions + part->division_count + 1, sizeof(int64_t));
    row->is_equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    for (unsigned d = 0; d < dimensions; d++)
        row->terms[d] = number_of(isl_constraint_get_coefficient_val(constraint, isl_dim_set, (int)d), fits);
    for (unsigned d = 0; d < part->division_count; d++)
        row->terms[dimensions + d] =
            number_of(isl_constraint_get_coefficient_val(constraint, isl_dim_div, (int)d), fits);
    row->terms[dimensions + part->division_count] =
        number_of(isl_constraint_get_constant_val(constraint), fits);
    isl_constraint_free(constraint);
    return isl_stat_ok;
}

static isl_stat add_part(isl_basic_set *basic, void *context)
{
    struct members *members = context;
    struct part *part = &members->parts[members->part_count++];
    isl_local_space *space = isl_basic_set_get_local_space(basic);
    struct filling filling = {.part = part, .dimensions = members->dimensions, .fits = true};

    part->division_count = (unsigned)isl_local_space_dim(space, isl_dim_div);
    part->divisions = zeroed(part->division_count, sizeof *part->divisions);
    for (unsigned d = 0; d < part->division_count; d++)
        part->divisions[d] = division_row(isl_local_space_get_div(space, (int)d), members->dimensions,
                                          part->division_count, &filling.fits);
    part->constraints = zeroed((size_t)isl_basic_set_n_constraint(basic), sizeof *part->constraints);
    isl_basic_set_foreach_constraint(basic, add_constraint, &filling);
    isl_local_space_free(space);
    if (!filling.fits) part->beyond = isl_basic_set_copy(basic);
    isl_basic_set_free(basic);
    return isl_stat_ok;
}

struct members *members_new(isl_set *set)
{
    struct members *members = zeroed(1, sizeof *members);

    set = isl_set_compute_divs(set);
    members->dimensions = (unsigned)isl_set_dim(set, isl_dim_set);
    members->parts = zeroed((size_t)isl_set_n_basic_set(set), sizeof *members->parts);
    if (isl_set_foreach_basic_set(set, add_part, members) != isl_stat_ok) abort();
    isl_set_free(set);
    return members;
}

static __int128 row_value(const struct row *row, const int64_t *values, unsigned count)
{
    __int128 sum = row->terms[count];

    for (unsigned i = 0; i < count; i++) sum += (__int128)row->terms[i] * values[i];
    return sum;
}

static int64_t floor_divided(__int128 number, int64_t denominator)
{
    __int128 quotient = number / denominator;

    return (int64_t)(quotient - (quotient * denominator > number));
}

static bool basic_has(isl_basic_set *basic, unsigned dimensions, const int64_t *point)
{
    isl_ctx *ctx = isl_basic_set_get_ctx(basic);

    basic = isl_basic_set_copy(basic);
    for (unsigned d = 0; d < dimensions; d++)
        basic = isl_basic_set_fix_val(basic, isl_dim_set, d, isl_val_int_from_si(ctx, point[d]));
    isl_bool empty = isl_basic_set_is_empty(basic);
    isl_basic_set_free(basic);
    if (empty < 0) abort();
    return !empty;
}

static bool part_has(const struct part *part, unsigned dimensions, const int64_t *point)
{
    unsigned count = dimensions + part->division_count;
    int64_t values[count + 1];

    if (part->beyond) return basic_has(part->beyond, dimensions, point);
    for (unsigned d = 0; d < dimensions; d++) values[d] = point[d];
    for (unsigned d = dimensions; d < count; d++) values[d] = 0;
    /* A division's definition names only those before it. */
    for (unsigned d = 0; d < part->division_count; d++) {
        const struct row *row = &part->divisions[d];
        values[dimensions + d] = floor_divided(row_value(row, values, count), row->denominator);
    }
    for (unsigned c = 0; c < part->constraint_count; c++) {
        __int128 value = row_value(&part->constraints[c], values, count);
        if (part->constraints[c].is_equality ? value != 0 : value < 0) return false;
    }
    return true;
}

bool members_has(const struct members *members, const int64_t *point)
{
    for (unsigned p = 0; p < members->part_count; p++)
        if (part_has(&members->parts[p], members->dimensions, point)) return true;
    return false;
}

void members_free(struct members *members)
{
    for (unsigned p = 0; members && p < members->part_count; p++) {
        struct part *part = &members->parts[p];
        for (unsigned d = 0; d < part->division_count; d++) free(part->divisions[d].terms);
        for (unsigned c = 0; c < part->constraint_count; c++) free(part->constraints[c].terms);
        isl_basic_set_free(part->beyond);
        free(part->divisions);
        free(part->constraints);
    }
    if (members) free(members->parts);
    free(members);
}
