/* SPDX-License-Identifier: Apache-2.0
 * Words of the arguments that only shift addresses, as a time level or the number of a step does: everything
 * through a pointer lies by so many times the word further on. Such a word is a dimension of the instances
 * without bounds, so that whatever else it may decide shows in a set or a form. */
#include "fuser/access/analysis.h"

static unsigned dimension_of(uint32_t shift)
{
    return ACCESS_THREAD_DIMENSIONS + shift;
}

const struct value *shifts_load(struct analysis *analysis, uint32_t offset, uint32_t size, unsigned bits)
{
    for (uint32_t k = 0; k < analysis->input->shift_count; k++) {
        const struct launch_shift *shift = &analysis->input->shifts[k];
        if (shift->offset + shift->size <= offset || offset + size <= shift->offset) continue;
        if (shift->offset == offset && shift->size == size && bits == 8 * size)
            return value_integer(analysis, bits, affine_dimension(analysis, dimension_of(k)),
                                 (struct range){shift->low, shift->high}, NULL);
        analysis->summary->shaping |= 1u << k;
    }
    return NULL;
}

void shifts_note(struct analysis *analysis, isl_set *set)
{
    for (uint32_t k = 0; set && k < analysis->input->shift_count; k++)
        if (isl_set_involves_dims(set, isl_dim_set, dimension_of(k), 1) != isl_bool_false)
            analysis->summary->shaping |= 1u << k;
}

struct factor {
    unsigned dimension;
    isl_val *value; /* NULL: none yet */
    bool is_one;    /* for all pieces */
};

static isl_stat read_factor(isl_set *piece, isl_aff *form, void *context)
{
    struct factor *factor = context;
    isl_val *value = isl_aff_get_coefficient_val(form, isl_dim_in, (int)factor->dimension);
    if (!factor->value)
        factor->value = isl_val_copy(value);
    else if (isl_val_eq(factor->value, value) != isl_bool_true)
        factor->is_one = false;
    isl_val_free(value);
    isl_set_free(piece);
    isl_aff_free(form);
    return isl_stat_ok;
}

/* The part of the form that goes with the dimension, if that is a multiple of it. */
static bool find_factor(struct analysis *analysis, isl_pw_aff *form, unsigned dimension, int64_t *result)
{
    struct factor factor = {.dimension = dimension, .is_one = true};
    wide number = 0;
    bool done = isl_pw_aff_foreach_piece(form, read_factor, &factor) == isl_stat_ok && factor.value;
    done = done && factor.is_one;
    if (done)
        done = affine_number(factor.value, &number);
    else
        isl_val_free(factor.value);
    *result = (int64_t)number;
    if (!done) affine_recover(analysis);
    return done && number == *result;
}

isl_pw_aff *shifts_take(struct analysis *analysis, isl_pw_aff *form, int64_t *factors, struct range *range)
{
    for (uint32_t k = 0; k < analysis->input->shift_count; k++) {
        const struct launch_shift *shift = &analysis->input->shifts[k];
        unsigned dimension = dimension_of(k);
        factors[k] = 0;
        if (isl_pw_aff_involves_dims(form, isl_dim_in, dimension, 1) == isl_bool_false) continue;
        if (find_factor(analysis, form, dimension, &factors[k]) && factors[k]) {
            isl_pw_aff *part = affine_scale(analysis, affine_dimension(analysis, dimension), factors[k]);
            wide ends[2] = {(wide)factors[k] * shift->low, (wide)factors[k] * shift->high};
            form = isl_pw_aff_sub(form, part);
            range->low -= ends[0] > ends[1] ? ends[0] : ends[1];
            range->high -= ends[0] < ends[1] ? ends[0] : ends[1];
        }
        if (isl_pw_aff_involves_dims(form, isl_dim_in, dimension, 1) != isl_bool_false)
            analysis->summary->shaping |= 1u << k;
        else
            analysis->summary->shifting |= 1u << k;
    }
    return form;
}

void shifts_refuse(struct analysis *analysis, const int64_t *factors)
{
    for (uint32_t k = 0; k < analysis->input->shift_count; k++)
        if (factors[k]) analysis->summary->shaping |= 1u << k;
}

isl_set *shifts_drop(const struct analysis *analysis, isl_set *set)
{
    uint32_t count = analysis->input->shift_count;
    return count ? isl_set_project_out(set, isl_dim_set, ACCESS_THREAD_DIMENSIONS, count) : set;
}
