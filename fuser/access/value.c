/* SPDX-License-Identifier: Apache-2.0
 * Abstract values: construction, canonical representatives, merging. */
#include "fuser/access/analysis.h"

/* --- ownership --------------------------------------------------------------------------------------- */

static isl_pw_aff *own_form(struct analysis *analysis, isl_pw_aff *form)
{
    struct owned *owned = arena_alloc(analysis->arena, sizeof *owned);

    if (!owned) return isl_pw_aff_free(form);
    *owned = (struct owned){.form = form, .next = analysis->owned};
    analysis->owned = owned;
    return form;
}

static isl_set *own_set(struct analysis *analysis, isl_set *set)
{
    struct owned *owned = arena_alloc(analysis->arena, sizeof *owned);

    if (!owned) return isl_set_free(set);
    *owned = (struct owned){.set = set, .next = analysis->owned};
    analysis->owned = owned;
    return set;
}

static const struct value *new_value(struct analysis *analysis, struct value content)
{
    static const struct value out_of_memory = {.kind = VALUE_UNKNOWN, .bits = 64, .reason = "out of memory"};
    struct value *value = arena_alloc(analysis->arena, sizeof *value);

    if (!value) return &out_of_memory;
    *value = content;
    return value;
}

/* --- constructors ------------------------------------------------------------------------------------ */

const struct value *value_unknown(struct analysis *analysis, unsigned bits, bool is_address,
                                  const char *reason)
{
    if (bits == 1) return value_unknown_predicate(analysis);
    return new_value(analysis, (struct value){.kind = VALUE_UNKNOWN,
                                              .bits = (uint8_t)bits,
                                              .is_address = is_address,
                                              .reason = reason});
}

const struct value *value_unknown_predicate(struct analysis *analysis)
{
    return new_value(analysis, (struct value){.kind = VALUE_PREDICATE,
                                              .bits = 1,
                                              .when_true = analysis->universe,
                                              .when_false = analysis->universe});
}

const struct value *value_predicate(struct analysis *analysis, isl_set *when_true, isl_set *when_false,
                                    const uint64_t *sources)
{
    when_true = isl_set_coalesce(when_true);
    when_false = isl_set_coalesce(when_false);
    bool fits =
        when_true && when_false && affine_is_simple_set(when_true) && affine_is_simple_set(when_false);

    if (fits) {
        when_true = own_set(analysis, when_true);
        when_false = own_set(analysis, when_false);
        if (when_true && when_false)
            return new_value(analysis, (struct value){.kind = VALUE_PREDICATE,
                                                      .bits = 1,
                                                      .when_true = when_true,
                                                      .when_false = when_false,
                                                      .sources = sources});
    } else {
        isl_set_free(when_true);
        isl_set_free(when_false);
    }
    affine_recover(analysis);
    return value_unknown_predicate(analysis);
}

/* Few pieces, and none that the current block never sees. */
static isl_pw_aff *simplify(struct analysis *analysis, isl_pw_aff *form)
{
    if (form && isl_pw_aff_n_piece(form) > 1) {
        if (analysis->domain) form = isl_pw_aff_gist(form, isl_set_copy(analysis->domain));
        form = isl_pw_aff_coalesce(form);
    }
    if (form && !affine_is_simple(form)) form = isl_pw_aff_free(form);
    return form;
}

static const char *give_up_text(struct analysis *analysis)
{
    return reason_at(analysis, analysis->instruction, "too complex to express in affine pieces");
}

static uint8_t count_zeros(wide number, unsigned bits)
{
    uint8_t zeros = 0;

    while (zeros < bits && (number >> zeros & 1) == 0) zeros++;
    return zeros;
}

/* Moves the representative into the signed window where the whole range lies in one: later products stay
 * small. */
static isl_pw_aff *centre(struct analysis *analysis, isl_pw_aff *form, unsigned bits, struct range *range)
{
    wide modulus = wide_power(bits), half = modulus / 2;
    wide window = wide_floor_divide(range->low + half, modulus);

    if (window == 0 || wide_floor_divide(range->high + half, modulus) != window) return form;
    *range = range_add(*range, range_point(-window * modulus));
    return affine_shift(analysis, form, -window * modulus);
}

const struct value *value_integer(struct analysis *analysis, unsigned bits, isl_pw_aff *form,
                                  struct range range, const uint64_t *sources)
{
    struct value value = {.kind = VALUE_INTEGER, .bits = (uint8_t)bits, .sources = sources};

    if (form && range_is_sane(range)) {
        form = centre(analysis, form, bits, &range);
        if (range_is_point(range)) {
            isl_pw_aff_free(form);
            form = affine_constant(analysis, range.low);
            value.zeros = count_zeros(range.low, bits);
        }
        form = simplify(analysis, form);
        if (form) form = own_form(analysis, form);
        if (form) {
            value.form = form;
            value.range = range;
            return new_value(analysis, value);
        }
    } else {
        isl_pw_aff_free(form);
    }
    affine_recover(analysis);
    return value_unknown(analysis, bits, false, give_up_text(analysis));
}

const struct value *value_number(struct analysis *analysis, unsigned bits, wide number,
                                 const uint64_t *sources)
{
    return value_integer(analysis, bits, affine_constant(analysis, number), range_point(number), sources);
}

const struct value *value_pointer(struct analysis *analysis, uint32_t base, isl_pw_aff *form,
                                  struct range range, const uint64_t *sources, const char *reason)
{
    struct value value = {
        .kind = VALUE_POINTER, .bits = 64, .base = base, .sources = sources, .reason = reason};

    if (form) {
        if (range_is_sane(range)) form = simplify(analysis, centre(analysis, form, 64, &range));
        if (form && range_is_sane(range)) {
            value.form = own_form(analysis, form);
            value.range = range;
        } else {
            isl_pw_aff_free(form);
        }
    }
    if (!value.form) {
        value.sources = NULL;
        if (!value.reason) value.reason = give_up_text(analysis);
        affine_recover(analysis);
    }
    return new_value(analysis, value);
}

const struct value *value_annotate(struct analysis *analysis, const struct value *value, struct value notes)
{
    if (value->kind != VALUE_INTEGER) return value;
    struct value noted = *value;
    if (notes.zeros > noted.zeros) noted.zeros = notes.zeros < noted.bits ? notes.zeros : noted.bits;
    noted.numerator = notes.numerator;
    noted.numerator_range = notes.numerator_range;
    noted.multiplier = notes.multiplier;
    noted.shift = notes.shift;
    noted.residue = notes.residue;
    noted.residue_is_halved = notes.residue_is_halved;
    return new_value(analysis, noted);
}

const struct value *value_with_sources(struct analysis *analysis, const struct value *value,
                                       const uint64_t *sources)
{
    struct value copy = *value;

    if (value->kind == VALUE_UNKNOWN || (value->kind == VALUE_POINTER && !value->form)) return value;
    copy.sources = sources_join(analysis, value->sources, sources);
    return copy.sources == value->sources ? value : new_value(analysis, copy);
}

bool value_quotient_range(const struct value *value, struct range *range)
{
    if (!value->numerator || !range_scale(value->numerator_range, value->multiplier, range)) return false;
    range->low = wide_floor_divide(range->low, wide_power(value->shift));
    range->high = wide_floor_divide(range->high, wide_power(value->shift));
    return true;
}

bool value_residue_range(const struct value *value, struct range *range)
{
    const struct value *quotient = value->residue;

    /* n - floor(n * multiplier / 2^shift) = -floor(n * (multiplier - 2^shift) / 2^shift) */
    if (!quotient || value->residue_is_halved ||
        !range_scale(quotient->numerator_range, quotient->multiplier - wide_power(quotient->shift), range))
        return false;
    *range = (struct range){-wide_floor_divide(range->high, wide_power(quotient->shift)),
                            -wide_floor_divide(range->low, wide_power(quotient->shift))};
    return true;
}

/* --- division by constants --------------------------------------------------------------------------- */

/* With excess = multiplier * divisor - 2^shift in [0, 2^shift / |x|): floor(x * multiplier / 2^shift) is
 * floor(x / divisor) for x >= 0, and floor((x - 1) / divisor) for x < 0 unless the excess is 0. 0: no such
 * divisor. */
static wide find_divisor(wide multiplier, unsigned shift, struct range numerator, wide *excess)
{
    if (multiplier <= 0 || shift == 0 || multiplier >= wide_power(shift)) return 0;
    wide divisor = (wide_power(shift) + multiplier - 1) / multiplier;
    wide largest = numerator.high > -numerator.low ? numerator.high : -numerator.low;
    wide product;
    *excess = multiplier * divisor - wide_power(shift);
    if (__builtin_mul_overflow(largest, *excess, &product) || product >= wide_power(shift)) return 0;
    return divisor;
}

static isl_pw_aff *quotient_form(struct analysis *analysis, isl_pw_aff *numerator,
                                 struct range numerator_range, wide multiplier, unsigned shift)
{
    wide excess = 0, divisor = find_divisor(multiplier, shift, numerator_range, &excess);

    if (divisor == 0)
        return affine_floor_divide(analysis, affine_scale(analysis, isl_pw_aff_copy(numerator), multiplier),
                                   wide_power(shift));
    isl_pw_aff *quotient = affine_floor_divide(analysis, isl_pw_aff_copy(numerator), divisor);
    if (numerator_range.low >= 0 || excess == 0) return quotient;
    isl_pw_aff *before = affine_shift(analysis, isl_pw_aff_copy(numerator), -1);
    return affine_split(analysis, numerator, 0, affine_floor_divide(analysis, before, divisor), quotient);
}

const struct value *value_quotient(struct analysis *analysis, unsigned bits, isl_pw_aff *numerator,
                                   struct range numerator_range, wide multiplier, unsigned shift,
                                   const uint64_t *sources)
{
    struct range range;

    if (shift > 120 || !range_scale(numerator_range, multiplier, &range)) {
        isl_pw_aff_free(numerator);
        return value_unknown(analysis, bits, false, give_up_text(analysis));
    }
    range.low = wide_floor_divide(range.low, wide_power(shift));
    range.high = wide_floor_divide(range.high, wide_power(shift));
    isl_pw_aff *form = quotient_form(analysis, numerator, numerator_range, multiplier, shift);
    const struct value *value = value_integer(analysis, bits, form, range, sources);
    numerator = own_form(analysis, numerator);
    if (value->kind != VALUE_INTEGER || !numerator) return value;
    return value_annotate(analysis, value,
                          (struct value){.numerator = numerator,
                                         .numerator_range = numerator_range,
                                         .multiplier = multiplier,
                                         .shift = shift});
}

/* --- canonical representatives ----------------------------------------------------------------------- */

struct windows {
    wide first, last;
};

static struct windows windows_of(struct range range, wide lowest, wide modulus)
{
    return (struct windows){wide_floor_divide(range.low - lowest, modulus),
                            wide_floor_divide(range.high - lowest, modulus)};
}

/* The register as a number in [lowest, lowest + 2^bits): the representative moved by a multiple of 2^bits, in
 * two pieces where it lies in two windows; in more it is given up. While loop bounds are guessed, nothing
 * wraps far. */
static isl_pw_aff *canonical(struct analysis *analysis, const struct value *value, wide lowest,
                             struct range *range)
{
    wide modulus = wide_power(value->bits);
    struct windows windows = windows_of(value->range, lowest, modulus);

    *range = value->range;
    if (windows.first != windows.last && !analysis->is_optimistic &&
        affine_bounds(analysis, value->form, analysis->domain, range))
        windows = windows_of(*range, lowest, modulus);
    if (analysis->is_optimistic && windows.last > windows.first + 1)
        windows = windows.first < 0 && windows.last >= 0 ? (struct windows){-1, 0} : (struct windows){0, 0};
    if (windows.last > windows.first + 1) return NULL;
    isl_pw_aff *form = affine_shift(analysis, isl_pw_aff_copy(value->form), -windows.first * modulus);
    if (windows.first == windows.last) {
        *range = range_add(*range, range_point(-windows.first * modulus));
        return form;
    }
    isl_pw_aff *above = affine_shift(analysis, isl_pw_aff_copy(value->form), -windows.last * modulus);
    *range = (struct range){lowest, lowest + modulus - 1};
    return simplify(analysis,
                    affine_split(analysis, value->form, lowest + windows.last * modulus, form, above));
}

isl_pw_aff *value_as_signed(struct analysis *analysis, const struct value *value, struct range *range)
{
    if (value->kind != VALUE_INTEGER && value->kind != VALUE_POINTER) return NULL;
    if (!value->form) return NULL;
    return canonical(analysis, value, -wide_power(value->bits) / 2, range);
}

isl_pw_aff *value_as_unsigned(struct analysis *analysis, const struct value *value, struct range *range)
{
    return value->kind == VALUE_INTEGER ? canonical(analysis, value, 0, range) : NULL;
}

bool value_is_number(const struct value *value, bool is_signed, wide *number)
{
    if (value->kind != VALUE_INTEGER || !range_is_point(value->range)) return false;
    wide modulus = wide_power(value->bits), lowest = is_signed ? -modulus / 2 : 0;
    *number = value->range.low - wide_floor_divide(value->range.low - lowest, modulus) * modulus;
    return true;
}

bool value_is_exact(struct analysis *analysis, const struct value *predicate, isl_set *domain)
{
    if (predicate->kind != VALUE_PREDICATE) return false;
    isl_set *both =
        isl_set_intersect(isl_set_copy(predicate->when_true), isl_set_copy(predicate->when_false));
    if (isl_set_is_empty(both) != isl_bool_true) both = isl_set_intersect(both, isl_set_copy(domain));
    bool exact = isl_set_is_empty(both) == isl_bool_true;
    isl_set_free(both);
    if (!exact) affine_recover(analysis);
    return exact;
}

/* --- merging ----------------------------------------------------------------------------------------- */

bool value_is_same(const struct value *a, const struct value *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || a->bits != b->bits || !a->form || !b->form) return false;
    return a->base == b->base && isl_pw_aff_plain_is_equal(a->form, b->form) == isl_bool_true;
}

static bool are_disjoint(struct analysis *analysis, const struct candidate *candidates, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            isl_bool disjoint = isl_set_is_disjoint(candidates[i].set, candidates[j].set);
            if (disjoint == isl_bool_false) {
                isl_set *both =
                    isl_set_intersect(isl_set_copy(candidates[i].set), isl_set_copy(candidates[j].set));
                both = isl_set_intersect(both, isl_set_copy(analysis->domain));
                disjoint = isl_set_is_empty(both);
                isl_set_free(both);
            }
            if (disjoint != isl_bool_true) return false;
        }
    return true;
}

static const struct value *merge_predicates(struct analysis *analysis, const struct candidate *candidates,
                                            uint32_t count)
{
    isl_set *when_true = isl_set_copy(analysis->empty_set), *when_false = isl_set_copy(analysis->empty_set);
    const uint64_t *sources = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = candidates[i].value;
        isl_set *both = isl_set_intersect(isl_set_copy(candidates[i].set), isl_set_copy(value->when_true));
        when_true = isl_set_union(when_true, both);
        both = isl_set_intersect(isl_set_copy(candidates[i].set), isl_set_copy(value->when_false));
        when_false = isl_set_union(when_false, both);
        sources = sources_join(analysis, sources, value->sources);
    }
    return value_predicate(analysis, when_true, when_false, sources);
}

static const struct value *merge_forms(struct analysis *analysis, const struct candidate *candidates,
                                       uint32_t count, bool same_base)
{
    const struct value *first = candidates[0].value;
    isl_pw_aff *form = NULL;
    struct range range = first->range;
    const uint64_t *sources = NULL;
    uint8_t zeros = first->zeros;

    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = candidates[i].value;
        isl_set *set = isl_set_gist(isl_set_copy(candidates[i].set), isl_set_copy(analysis->domain));
        isl_pw_aff *piece = isl_pw_aff_intersect_domain(isl_pw_aff_copy(value->form), set);
        form = form ? isl_pw_aff_union_add(form, piece) : piece;
        if (!form) break;
        range = range_union(range, value->range);
        sources = sources_join(analysis, sources, value->sources);
        if (value->zeros < zeros) zeros = value->zeros;
    }
    if (same_base) return value_pointer(analysis, first->base, form, range, sources, NULL);
    const struct value *merged = value_integer(analysis, first->bits, form, range, sources);
    return zeros == 0 ? merged : value_annotate(analysis, merged, (struct value){.zeros = zeros});
}

/* Equal values, but each was computed from its own words. */
static const struct value *join_sources(struct analysis *analysis, const struct candidate *candidates,
                                        uint32_t count)
{
    struct value joined = *candidates[0].value;

    for (uint32_t i = 1; i < count; i++)
        joined.sources = sources_join(analysis, joined.sources, candidates[i].value->sources);
    return joined.sources == candidates[0].value->sources ? candidates[0].value : new_value(analysis, joined);
}

const struct value *value_merge(struct analysis *analysis, const struct candidate *all, uint32_t all_count)
{
    struct candidate *candidates = arena_calloc(analysis->arena, all_count + 1, sizeof *candidates);
    uint32_t count = 0, pointers = 0, integers = 0, predicates = 0;
    bool same = true, same_base = true, is_address = false;

    for (uint32_t i = 0; candidates && i < all_count; i++)
        if (isl_set_is_disjoint(all[i].set, analysis->domain) != isl_bool_true) candidates[count++] = all[i];
    if (count == 0)
        return all_count > 0 ? all[0].value : value_unknown(analysis, 64, true, "nothing reaches it");
    const struct value *first = candidates[0].value;
    const char *reason = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = candidates[i].value;
        same = same && value_is_same(first, value);
        pointers += value->kind == VALUE_POINTER;
        integers += value->kind == VALUE_INTEGER && value->bits == first->bits;
        predicates += value->kind == VALUE_PREDICATE;
        same_base = same_base && value->kind == VALUE_POINTER && value->base == first->base;
        is_address = is_address || value->is_address || value->kind == VALUE_POINTER;
        if (!reason && !value->form) reason = value->reason;
    }
    if (same && first->kind != VALUE_PREDICATE) return join_sources(analysis, candidates, count);
    if (predicates == count) return count == 1 ? first : merge_predicates(analysis, candidates, count);
    if (!reason && !are_disjoint(analysis, candidates, count))
        reason = reason_at(analysis, analysis->instruction, "which value it holds depends on data");
    if (!reason && integers == count) return merge_forms(analysis, candidates, count, false);
    if (!reason && pointers == count && same_base) return merge_forms(analysis, candidates, count, true);
    if (!reason) reason = reason_at(analysis, analysis->instruction, "one of several pointers");
    if (same_base) return value_pointer(analysis, first->base, NULL, range_point(0), NULL, reason);
    return value_unknown(analysis, first->bits, is_address, reason);
}

unsigned value_register_bits(const struct analysis *analysis, int32_t reg)
{
    enum ptx_type type = analysis->function->registers[reg].type;

    return type == PTX_PRED ? 1 : 8 * ptx_type_bytes(type);
}

const struct value *value_give_up(struct analysis *analysis, const struct value *const *operands,
                                  unsigned count, unsigned bits, const char *why)
{
    bool is_address = false;
    const char *reason = NULL;

    if (bits == 1) return value_unknown_predicate(analysis);
    for (unsigned i = 0; i < count; i++) {
        if (!operands[i]) continue;
        is_address = is_address || operands[i]->kind == VALUE_POINTER || operands[i]->is_address;
        if (!reason && operands[i]->kind != VALUE_INTEGER) reason = operands[i]->reason;
    }
    if (!reason) reason = reason_at(analysis, analysis->instruction, why);
    return value_unknown(analysis, bits, is_address, reason);
}

const struct value *value_truth(struct analysis *analysis, bool is_true, const uint64_t *sources)
{
    return value_predicate(analysis, isl_set_copy(is_true ? analysis->universe : analysis->empty_set),
                           isl_set_copy(is_true ? analysis->empty_set : analysis->universe), sources);
}
