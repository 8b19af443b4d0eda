/* SPDX-License-Identifier: Apache-2.0
 * Affine forms: the few operations of isl that the analysis uses, over 128-bit numbers. */
#include "fuser/access/analysis.h"
#include "fuser/solver/quota.h"

#include <isl/ilp.h>
#include <isl/local_space.h>

void affine_begin(struct analysis *analysis)
{
    analysis->operations += quota_spent(analysis->ctx);
    isl_ctx_reset_operations(analysis->ctx);
}

void affine_recover(struct analysis *analysis)
{
    if (isl_ctx_last_error(analysis->ctx) == isl_error_quota) analysis->quota_failures++;
    analysis->operations += quota_spent(analysis->ctx);
    isl_ctx_reset_error(analysis->ctx);
    isl_ctx_reset_operations(analysis->ctx);
}

unsigned affine_counter(const struct analysis *analysis, int32_t loop)
{
    return analysis->first_counter + analysis->forest->loops[loop].depth - 1;
}

isl_val *affine_value(struct analysis *analysis, wide number)
{
    if (number >= INT32_MIN && number <= INT32_MAX) return isl_val_int_from_si(analysis->ctx, (long)number);
    unsigned __int128 magnitude = number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;
    isl_val *value = isl_val_int_from_chunks(analysis->ctx, 1, sizeof magnitude, &magnitude);
    return number < 0 ? isl_val_neg(value) : value;
}

bool affine_number(isl_val *value, wide *number)
{
    unsigned __int128 magnitude = 0;
    bool fits = value && isl_val_is_int(value) == isl_bool_true &&
                isl_val_n_abs_num_chunks(value, sizeof magnitude) <= 1 &&
                isl_val_get_abs_num_chunks(value, sizeof magnitude, &magnitude) >= 0 && magnitude >> 126 == 0;

    if (fits) *number = isl_val_is_neg(value) == isl_bool_true ? -(wide)magnitude : (wide)magnitude;
    isl_val_free(value);
    return fits;
}

isl_pw_aff *affine_constant(struct analysis *analysis, wide number)
{
    isl_local_space *space = isl_local_space_from_space(isl_space_copy(analysis->space));

    return isl_pw_aff_from_aff(isl_aff_val_on_domain(space, affine_value(analysis, number)));
}

isl_pw_aff *affine_dimension(struct analysis *analysis, unsigned position)
{
    isl_local_space *space = isl_local_space_from_space(isl_space_copy(analysis->space));

    return isl_pw_aff_from_aff(isl_aff_var_on_domain(space, isl_dim_set, position));
}

isl_pw_aff *affine_scale(struct analysis *analysis, isl_pw_aff *form, wide factor)
{
    return factor == 1 ? form : isl_pw_aff_scale_val(form, affine_value(analysis, factor));
}

isl_pw_aff *affine_shift(struct analysis *analysis, isl_pw_aff *form, wide summand)
{
    return summand == 0 ? form : isl_pw_aff_add(form, affine_constant(analysis, summand));
}

isl_pw_aff *affine_floor_divide(struct analysis *analysis, isl_pw_aff *form, wide divisor)
{
    return divisor == 1 ? form
                        : isl_pw_aff_floor(isl_pw_aff_scale_down_val(form, affine_value(analysis, divisor)));
}

isl_pw_aff *affine_modulo(struct analysis *analysis, isl_pw_aff *form, wide modulus)
{
    return isl_pw_aff_mod_val(form, affine_value(analysis, modulus));
}

isl_pw_aff *affine_split(struct analysis *analysis, isl_pw_aff *form, wide bound, isl_pw_aff *below,
                         isl_pw_aff *above)
{
    isl_set *low = isl_pw_aff_lt_set(isl_pw_aff_copy(form), affine_constant(analysis, bound));
    isl_set *high = isl_pw_aff_ge_set(isl_pw_aff_copy(form), affine_constant(analysis, bound));

    below = isl_pw_aff_intersect_domain(below, isl_set_coalesce(low));
    above = isl_pw_aff_intersect_domain(above, isl_set_coalesce(high));
    return isl_pw_aff_coalesce(isl_pw_aff_union_add(below, above));
}

bool affine_bounds(struct analysis *analysis, isl_pw_aff *form, isl_set *set, struct range *range)
{
    isl_pw_aff *inside = isl_pw_aff_intersect_domain(isl_pw_aff_copy(form), isl_set_copy(set));
    struct range found;
    bool fits = affine_number(isl_pw_aff_min_val(isl_pw_aff_copy(inside)), &found.low) &&
                affine_number(isl_pw_aff_max_val(isl_pw_aff_copy(inside)), &found.high) &&
                range_is_sane(found);

    isl_pw_aff_free(inside);
    if (fits)
        *range = found;
    else
        affine_recover(analysis);
    return fits;
}

bool affine_involves_from(isl_pw_aff *form, unsigned position)
{
    isl_size count = isl_pw_aff_dim(form, isl_dim_in);

    return count < 0 || (position < (unsigned)count &&
                         isl_pw_aff_involves_dims(form, isl_dim_in, position, (unsigned)count - position) !=
                             isl_bool_false);
}

isl_set *affine_forget_from(struct analysis *analysis, isl_set *set, unsigned position)
{
    if (position >= analysis->dimensions) return set;
    return isl_set_eliminate(set, isl_dim_set, position, analysis->dimensions - position);
}

static isl_stat check_piece(isl_set *set, isl_aff *aff, void *context)
{
    bool *simple = context;
    isl_size divisions = isl_aff_dim(aff, isl_dim_div);

    *simple = *simple && divisions >= 0 && divisions <= ANALYSIS_DIVISION_LIMIT;
    isl_set_free(set);
    isl_aff_free(aff);
    return isl_stat_ok;
}

bool affine_is_simple(isl_pw_aff *form)
{
    isl_size pieces = isl_pw_aff_n_piece(form);
    bool simple = pieces >= 0 && pieces <= ANALYSIS_PIECE_LIMIT;

    return simple && isl_pw_aff_foreach_piece(form, check_piece, &simple) == isl_stat_ok && simple;
}

static isl_stat check_basic_set(isl_basic_set *set, void *context)
{
    bool *simple = context;
    isl_size divisions = isl_basic_set_dim(set, isl_dim_div);

    *simple = *simple && divisions >= 0 && divisions <= 2 * ANALYSIS_DIVISION_LIMIT;
    isl_basic_set_free(set);
    return isl_stat_ok;
}

bool affine_is_simple_set(isl_set *set)
{
    isl_size pieces = isl_set_n_basic_set(set);
    bool simple = pieces >= 0 && pieces <= ANALYSIS_SET_LIMIT;

    return simple && isl_set_foreach_basic_set(set, check_basic_set, &simple) == isl_stat_ok && simple;
}
