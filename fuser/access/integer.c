/* SPDX-License-Identifier: Apache-2.0
 * Integer instructions over abstract values -- ISA 9.7.1, 9.7.6 to 9.7.9. */
#include "fuser/access/analysis.h"

static const struct value *give_up(struct analysis *analysis, const struct value *const *operands,
                                   unsigned count, unsigned bits, const char *why)
{
    return value_give_up(analysis, operands, count, bits, why);
}

static bool both_integers(const struct value *a, const struct value *b)
{
    return a->kind == VALUE_INTEGER && b->kind == VALUE_INTEGER;
}

static bool is_signed(const struct ptx_instruction *instruction)
{
    return ptx_type_is_signed(instruction->types[0]);
}

static isl_pw_aff *canonical(struct analysis *analysis, const struct value *value, bool as_signed,
                             struct range *range)
{
    return as_signed ? value_as_signed(analysis, value, range) : value_as_unsigned(analysis, value, range);
}

static unsigned min_zeros(const struct value *a, const struct value *b)
{
    return a->zeros < b->zeros ? a->zeros : b->zeros;
}

/* The same number in a register of another width, the notes kept. */
static const struct value *resize(struct analysis *analysis, const struct value *value, unsigned bits)
{
    if (value->kind != VALUE_INTEGER || value->bits == bits) return value;
    return value_annotate(
        analysis, value_integer(analysis, bits, isl_pw_aff_copy(value->form), value->range, value->sources),
        *value);
}

/* --- sums -------------------------------------------------------------------------------------------- */

static const struct value *offset_pointer(struct analysis *analysis, const struct value *pointer,
                                          const struct value *offset, bool subtract, unsigned bits)
{
    const struct value *both[] = {pointer, offset};

    if (offset->kind == VALUE_UNKNOWN && !offset->is_address)
        return value_pointer(analysis, pointer->base, NULL, range_point(0), NULL, offset->reason);
    if (offset->kind != VALUE_INTEGER || bits != 64)
        return give_up(analysis, both, 2, bits, "arithmetic on two pointers");
    if (!pointer->form) return pointer;
    isl_pw_aff *form = isl_pw_aff_copy(pointer->form), *other = isl_pw_aff_copy(offset->form);
    form = subtract ? isl_pw_aff_sub(form, other) : isl_pw_aff_add(form, other);
    return value_pointer(analysis, pointer->base, form,
                         subtract ? range_subtract(pointer->range, offset->range)
                                  : range_add(pointer->range, offset->range),
                         sources_join(analysis, pointer->sources, offset->sources), NULL);
}

static bool is_same_form(isl_pw_aff *a, isl_pw_aff *b)
{
    return a && b && isl_pw_aff_plain_is_equal(a, b) == isl_bool_true;
}

/* What a sum with a quotient is, where that is again one: q + x, and ((x - q) >> 1) + q; NULL: nothing
 * special. */
static const struct value *add_to_quotient(struct analysis *analysis, const struct value *quotient,
                                           const struct value *other, unsigned bits)
{
    if (!quotient->numerator) return NULL;
    wide one = wide_power(quotient->shift);
    const uint64_t *sources = sources_join(analysis, quotient->sources, other->sources);
    if (is_same_form(quotient->numerator, other->form) && quotient->shift > 0)
        return value_quotient(analysis, bits, isl_pw_aff_copy(quotient->numerator), quotient->numerator_range,
                              quotient->multiplier + one, quotient->shift, sources);
    if (other->residue && other->residue_is_halved && other->residue->shift == quotient->shift &&
        other->residue->multiplier == quotient->multiplier &&
        is_same_form(other->residue->numerator, quotient->numerator))
        return value_quotient(analysis, bits, isl_pw_aff_copy(quotient->numerator), quotient->numerator_range,
                              quotient->multiplier + one, quotient->shift + 1, sources);
    return NULL;
}

const struct value *integer_sum(struct analysis *analysis, const struct value *a, const struct value *b,
                                unsigned bits)
{
    const struct value *both[] = {a, b};

    if (a->kind == VALUE_POINTER && b->kind != VALUE_POINTER)
        return offset_pointer(analysis, a, b, false, bits);
    if (b->kind == VALUE_POINTER && a->kind != VALUE_POINTER)
        return offset_pointer(analysis, b, a, false, bits);
    if (!both_integers(a, b)) return give_up(analysis, both, 2, bits, "sum of something unknown");
    const struct value *quotient = add_to_quotient(analysis, a, b, bits);
    if (!quotient) quotient = add_to_quotient(analysis, b, a, bits);
    if (quotient && quotient->kind == VALUE_INTEGER) return quotient;
    const struct value *sum =
        value_integer(analysis, bits, isl_pw_aff_add(isl_pw_aff_copy(a->form), isl_pw_aff_copy(b->form)),
                      range_add(a->range, b->range), sources_join(analysis, a->sources, b->sources));
    return min_zeros(a, b) ? value_annotate(analysis, sum, (struct value){.zeros = min_zeros(a, b)}) : sum;
}

const struct value *integer_add(struct analysis *analysis, const struct ptx_instruction *instruction,
                                const struct value *const *operands, unsigned bits)
{
    (void)instruction;
    return integer_sum(analysis, operands[0], operands[1], bits);
}

static const struct value *subtract(struct analysis *analysis, const struct value *a, const struct value *b,
                                    unsigned bits)
{
    const struct value *both[] = {a, b};
    bool pointers =
        a->kind == VALUE_POINTER && b->kind == VALUE_POINTER && a->base == b->base && a->form && b->form;

    if (a->kind == VALUE_POINTER && b->kind != VALUE_POINTER)
        return offset_pointer(analysis, a, b, true, bits);
    if (!pointers && !both_integers(a, b))
        return give_up(analysis, both, 2, bits, "difference of something unknown");
    const struct value *difference =
        value_integer(analysis, bits, isl_pw_aff_sub(isl_pw_aff_copy(a->form), isl_pw_aff_copy(b->form)),
                      range_subtract(a->range, b->range), sources_join(analysis, a->sources, b->sources));
    struct value notes = {.zeros = (uint8_t)min_zeros(a, b)};
    if (!pointers && is_same_form(b->numerator, a->form)) notes.residue = b;
    return notes.zeros || notes.residue ? value_annotate(analysis, difference, notes) : difference;
}

const struct value *integer_subtract(struct analysis *analysis, const struct ptx_instruction *instruction,
                                     const struct value *const *operands, unsigned bits)
{
    (void)instruction;
    return subtract(analysis, operands[0], operands[1], bits);
}

const struct value *integer_negate(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *const *operands, unsigned bits)
{
    (void)instruction;
    return subtract(analysis, value_number(analysis, bits, 0, NULL), operands[0], bits);
}

const struct value *integer_not(struct analysis *analysis, const struct ptx_instruction *instruction,
                                const struct value *const *operands, unsigned bits)
{
    if (bits == 1) return predicate_not(analysis, instruction, operands, bits);
    return subtract(analysis, value_number(analysis, bits, -1, NULL), operands[0], bits);
}

/* --- products ---------------------------------------------------------------------------------------- */

/* x * factor in a register of `bits`; the representatives of x count modulo 2^bits. */
static const struct value *scale(struct analysis *analysis, const struct value *x, wide factor,
                                 const uint64_t *sources, unsigned bits)
{
    struct range range;
    unsigned zeros = x->zeros;

    if (!range_scale(x->range, factor, &range))
        return give_up(analysis, &x, 1, bits, "product out of bounds");
    for (wide rest = factor; rest != 0 && rest % 2 == 0 && zeros < bits; rest /= 2) zeros++;
    sources = sources_join(analysis, x->sources, sources);
    if (x->range.low >= 0 && factor >= 256 && range.high < wide_power(bits))
        return value_quotient(analysis, bits, isl_pw_aff_copy(x->form), x->range, factor, 0, sources);
    const struct value *product = value_integer(
        analysis, bits, affine_scale(analysis, isl_pw_aff_copy(x->form), factor), range, sources);
    return zeros ? value_annotate(analysis, product, (struct value){.zeros = (uint8_t)zeros}) : product;
}

/* .wide and .hi see the registers' own values. */
static const struct value *multiply_fully(struct analysis *analysis,
                                          const struct ptx_instruction *instruction, const struct value *x,
                                          const struct value *factor, unsigned bits)
{
    bool as_signed = is_signed(instruction), high = ptx_has_modifier(instruction, PTX_MOD_HI);
    unsigned source_bits = 8 * ptx_type_bytes(instruction->types[0]);
    wide number = 0;
    struct range range;
    isl_pw_aff *form = canonical(analysis, x, as_signed, &range);

    if (!form || !value_is_number(factor, as_signed, &number)) {
        isl_pw_aff_free(form);
        return give_up(analysis, &x, 1, bits, "32-bit arithmetic may wrap before it is extended");
    }
    return value_quotient(analysis, bits, form, range, number, high ? source_bits : 0,
                          sources_join(analysis, x->sources, factor->sources));
}

const struct value *integer_multiply(struct analysis *analysis, const struct ptx_instruction *instruction,
                                     const struct value *const *operands, unsigned bits)
{
    const struct value *x = operands[0], *factor = operands[1];
    wide number;

    if (!both_integers(x, factor))
        return give_up(analysis, operands, 2, bits, "product of something unknown");
    if (!value_is_number(factor, true, &number)) {
        const struct value *swap = x;
        x = factor;
        factor = swap;
        if (!value_is_number(factor, true, &number))
            return give_up(analysis, operands, 2, bits, "product of two values that vary");
    }
    if (ptx_has_modifier(instruction, PTX_MOD_WIDE) || ptx_has_modifier(instruction, PTX_MOD_HI))
        return multiply_fully(analysis, instruction, x, factor, bits);
    return scale(analysis, x, number, factor->sources, bits);
}

const struct value *integer_multiply_add(struct analysis *analysis, const struct ptx_instruction *instruction,
                                         const struct value *const *operands, unsigned bits)
{
    const struct value *product = integer_multiply(analysis, instruction, operands, bits);

    return integer_sum(analysis, product, operands[2], bits);
}

/* --- shifts ------------------------------------------------------------------------------------------ */

const struct value *integer_shift_left(struct analysis *analysis, const struct ptx_instruction *instruction,
                                       const struct value *const *operands, unsigned bits)
{
    wide amount;

    (void)instruction;
    if (operands[0]->kind != VALUE_INTEGER || !value_is_number(operands[1], false, &amount))
        return give_up(analysis, operands, 2, bits, "shift of or by something unknown");
    if (amount >= bits) return value_number(analysis, bits, 0, operands[1]->sources);
    return scale(analysis, operands[0], wide_power((unsigned)amount), operands[1]->sources, bits);
}

static bool is_within(struct range range, unsigned bits, bool as_signed)
{
    wide lowest = as_signed ? -wide_power(bits) / 2 : 0;

    return range.low >= lowest && range.high < lowest + wide_power(bits);
}

static const struct value *shift_right(struct analysis *analysis, const struct value *x, unsigned amount,
                                       bool as_signed, const uint64_t *sources, unsigned bits)
{
    struct range range;

    sources = sources_join(analysis, x->sources, sources);
    if (value_quotient_range(x, &range) && is_within(range, x->bits, as_signed) && x->shift + amount <= 120)
        return value_quotient(analysis, bits, isl_pw_aff_copy(x->numerator), x->numerator_range,
                              x->multiplier, x->shift + amount, sources);
    isl_pw_aff *form = canonical(analysis, x, as_signed, &range);
    if (!form) return give_up(analysis, &x, 1, bits, "shift of a value that may have wrapped");
    range.low = wide_floor_divide(range.low, wide_power(amount));
    range.high = wide_floor_divide(range.high, wide_power(amount));
    const struct value *shifted = value_integer(
        analysis, bits, affine_floor_divide(analysis, form, wide_power(amount)), range, sources);
    if (amount == 1 && value_residue_range(x, &range) && is_within(range, x->bits, as_signed))
        return value_annotate(analysis, shifted,
                              (struct value){.residue = x->residue, .residue_is_halved = true});
    return shifted;
}

const struct value *integer_shift_right(struct analysis *analysis, const struct ptx_instruction *instruction,
                                        const struct value *const *operands, unsigned bits)
{
    wide amount;

    if (operands[0]->kind != VALUE_INTEGER || !value_is_number(operands[1], false, &amount))
        return give_up(analysis, operands, 2, bits, "shift of or by something unknown");
    if (amount >= bits) {
        if (!is_signed(instruction)) return value_number(analysis, bits, 0, operands[1]->sources);
        amount = bits - 1;
    }
    return shift_right(analysis, operands[0], (unsigned)amount, is_signed(instruction), operands[1]->sources,
                       bits);
}

/* --- bits -------------------------------------------------------------------------------------------- */

/* x modulo 2^count: right for every representative. */
static const struct value *low_bits(struct analysis *analysis, const struct value *x, unsigned count,
                                    const uint64_t *sources, unsigned bits)
{
    wide modulus = wide_power(count);

    sources = sources_join(analysis, x->sources, sources);
    if (x->zeros >= count) return value_number(analysis, bits, 0, sources);
    if (x->range.low >= 0 && x->range.high < modulus)
        return value_annotate(analysis,
                              value_integer(analysis, bits, isl_pw_aff_copy(x->form), x->range, sources), *x);
    return value_annotate(analysis,
                          value_integer(analysis, bits,
                                        affine_modulo(analysis, isl_pw_aff_copy(x->form), modulus),
                                        (struct range){0, modulus - 1}, sources),
                          (struct value){.zeros = x->zeros});
}

static unsigned bit_length(wide number)
{
    unsigned length = 0;

    while (number > 0) {
        number >>= 1;
        length++;
    }
    return length;
}

/* The bits of x in a mask of one run of ones, [low, high), and the rest of x; false: mask is not one run. */
static bool take_run(struct analysis *analysis, const struct value *x, wide mask, const uint64_t *sources,
                     unsigned bits, const struct value **rest, const struct value **run)
{
    unsigned low = 0, high = bit_length(mask);

    while ((mask >> low & 1) == 0) low++;
    if (mask != wide_power(high) - wide_power(low)) return false;
    const struct value *below = low_bits(analysis, x, low, sources, bits);
    const struct value *upper = high == bits ? x : low_bits(analysis, x, high, sources, bits);
    bool is_run = low == 0 || upper->kind != VALUE_INTEGER || x->zeros >= low;
    *run = is_run ? upper
                  : value_annotate(analysis, subtract(analysis, upper, below, bits),
                                   (struct value){.zeros = (uint8_t)low});
    *rest = high == bits ? below : subtract(analysis, x, *run, bits);
    return true;
}

static const struct value *mask_bits(struct analysis *analysis, const struct value *x, wide mask,
                                     const uint64_t *sources, unsigned bits)
{
    const struct value *rest, *run;

    if (mask == 0) return value_number(analysis, bits, 0, sources);
    if (take_run(analysis, x, mask, sources, bits, &rest, &run)) return run;
    return give_up(analysis, &x, 1, bits, "mask that is not one run of bits");
}

/* Puts a constant last; false when neither operand is one. */
static bool find_constant(const struct value *const *operands, const struct value **x,
                          const struct value **constant, wide *number)
{
    *x = operands[0];
    *constant = operands[1];
    if (value_is_number(*constant, false, number)) return true;
    *x = operands[1];
    *constant = operands[0];
    return value_is_number(*constant, false, number);
}

const struct value *integer_and(struct analysis *analysis, const struct ptx_instruction *instruction,
                                const struct value *const *operands, unsigned bits)
{
    const struct value *x, *constant;
    wide mask, number;

    if (bits == 1) return predicate_and(analysis, instruction, operands, bits);
    if (!both_integers(operands[0], operands[1]) || !find_constant(operands, &x, &constant, &mask))
        return give_up(analysis, operands, 2, bits, "and of values that vary");
    if (value_is_number(x, false, &number))
        return value_number(analysis, bits, number & mask,
                            sources_join(analysis, x->sources, constant->sources));
    return mask_bits(analysis, x, mask, constant->sources, bits);
}

/* What the run becomes when all its bits are set; nvcc writes -4 - 4 * i as an exclusive or with -4. */
static const struct value *full_run(struct analysis *analysis, wide mask, const uint64_t *sources,
                                    unsigned bits)
{
    return value_number(analysis, bits, mask >> (bits - 1) ? mask - wide_power(bits) : mask, sources);
}

/* All bits of b lie below the zeros of a. */
static bool fits_below(const struct value *a, const struct value *b)
{
    return b->range.low >= 0 && b->range.high < wide_power(a->zeros);
}

/* Unknown, but for its sign: nvcc tests several indices at once, as (i | j) < 0. */
static const struct value *varied_or(struct analysis *analysis, const struct value *const *operands,
                                     unsigned bits, const char *why)
{
    struct value *value = arena_alloc(analysis->arena, sizeof *value);
    const struct value *unknown = give_up(analysis, operands, 2, bits, why);

    if (!value || unknown->kind != VALUE_UNKNOWN) return unknown;
    *value = *unknown;
    value->either[0] = operands[0];
    value->either[1] = operands[1];
    value->either_loop = analysis->forest->loop_of[analysis->block];
    return value;
}

const struct value *integer_or(struct analysis *analysis, const struct ptx_instruction *instruction,
                               const struct value *const *operands, unsigned bits)
{
    wide a, b;

    if (bits == 1) return predicate_or(analysis, instruction, operands, bits);
    if (!both_integers(operands[0], operands[1]))
        return varied_or(analysis, operands, bits, "or of unknowns");
    if (value_is_number(operands[0], false, &a) && value_is_number(operands[1], false, &b))
        return value_number(analysis, bits, a | b,
                            sources_join(analysis, operands[0]->sources, operands[1]->sources));
    if (fits_below(operands[0], operands[1]) || fits_below(operands[1], operands[0]))
        return integer_sum(analysis, operands[0], operands[1], bits);
    const struct value *x, *constant, *rest, *run;
    wide mask;
    if (!find_constant(operands, &x, &constant, &mask))
        return varied_or(analysis, operands, bits, "or of values that vary");
    if (!take_run(analysis, x, mask, constant->sources, bits, &rest, &run))
        return give_up(analysis, operands, 2, bits, "or with a mask that is not one run of bits");
    return integer_sum(analysis, rest, full_run(analysis, mask, constant->sources, bits), bits);
}

const struct value *integer_xor(struct analysis *analysis, const struct ptx_instruction *instruction,
                                const struct value *const *operands, unsigned bits)
{
    const struct value *x, *constant, *rest, *run;
    wide mask, number;

    if (bits == 1) return predicate_xor(analysis, instruction, operands, bits);
    if (!both_integers(operands[0], operands[1]) || !find_constant(operands, &x, &constant, &mask))
        return give_up(analysis, operands, 2, bits, "exclusive or of values that vary");
    if (value_is_number(x, false, &number))
        return value_number(analysis, bits, number ^ mask,
                            sources_join(analysis, x->sources, constant->sources));
    if (mask == 0) return x;
    if (mask == wide_power(bits - 1) || fits_below(x, constant))
        return integer_sum(analysis, x, constant, bits);
    if (!take_run(analysis, x, mask, constant->sources, bits, &rest, &run))
        return give_up(analysis, operands, 2, bits, "exclusive or with a mask that is not one run of bits");
    const struct value *full = full_run(analysis, mask, constant->sources, bits);
    return integer_sum(analysis, rest, subtract(analysis, full, run, bits), bits);
}

const struct value *integer_extract(struct analysis *analysis, const struct ptx_instruction *instruction,
                                    const struct value *const *operands, unsigned bits)
{
    const struct value *x = operands[0];
    wide position, length;

    if (x->kind != VALUE_INTEGER || !value_is_number(operands[1], false, &position) ||
        !value_is_number(operands[2], false, &length) || length == 0 || position + length > bits)
        return give_up(analysis, operands, 3, bits, "bit field that varies");
    const uint64_t *sources = sources_join(analysis, operands[1]->sources, operands[2]->sources);
    const struct value *field = low_bits(analysis, x, (unsigned)(position + length), sources, bits);
    if (is_signed(instruction)) {
        if (position + length != bits) return give_up(analysis, operands, 3, bits, "signed bit field");
        return shift_right(analysis, x, (unsigned)position, true, sources, bits);
    }
    if (field->kind != VALUE_INTEGER) return field;
    return shift_right(analysis, field, (unsigned)position, false, sources, bits);
}

/* bfi: the low bits of a in place of a run of b's. nvcc writes a column of a red-black grid so, 2 * i + (b & 1). */
const struct value *integer_insert(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *const *operands, unsigned bits)
{
    const struct value *rest, *run, *inserted = operands[0];
    wide position, length;

    (void)instruction;
    if (!both_integers(operands[0], operands[1]) || !value_is_number(operands[2], false, &position) ||
        !value_is_number(operands[3], false, &length) || length == 0 || length > UINT8_MAX ||
        position >= bits)
        return give_up(analysis, operands, 4, bits, "bit field that varies");
    if (length > bits - position) length = bits - position;
    const uint64_t *sources = sources_join(analysis, operands[2]->sources, operands[3]->sources);
    wide mask = wide_power((unsigned)(position + length)) - wide_power((unsigned)position);
    if (!take_run(analysis, operands[1], mask, sources, bits, &rest, &run))
        return give_up(analysis, operands, 4, bits, "bit field that varies");
    if (position + length < bits) inserted = low_bits(analysis, inserted, (unsigned)length, sources, bits);
    if (inserted->kind != VALUE_INTEGER) return inserted;
    return integer_sum(analysis, rest,
                       scale(analysis, inserted, wide_power((unsigned)position), sources, bits), bits);
}

/* --- division ---------------------------------------------------------------------------------------- */

/* C's division, towards zero. */
static isl_pw_aff *divide_form(struct analysis *analysis, isl_pw_aff *form, struct range *range, wide divisor)
{
    bool negative = divisor < 0;
    wide magnitude = negative ? -divisor : divisor;
    isl_pw_aff *quotient;

    if (range->low >= 0) {
        quotient = affine_floor_divide(analysis, form, magnitude);
    } else {
        isl_pw_aff *down = affine_floor_divide(analysis, isl_pw_aff_copy(form), magnitude);
        isl_pw_aff *up =
            isl_pw_aff_neg(affine_floor_divide(analysis, isl_pw_aff_neg(isl_pw_aff_copy(form)), magnitude));
        quotient = range->high < 0 ? (isl_pw_aff_free(down), up) : affine_split(analysis, form, 0, up, down);
        isl_pw_aff_free(form);
    }
    *range = (struct range){range->low / magnitude, range->high / magnitude};
    if (!negative) return quotient;
    *range = (struct range){-range->high, -range->low};
    return isl_pw_aff_neg(quotient);
}

const struct value *integer_divide(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *const *operands, unsigned bits)
{
    bool as_signed = is_signed(instruction);
    wide divisor = 0;
    struct range range;

    if (!both_integers(operands[0], operands[1]) || !value_is_number(operands[1], as_signed, &divisor) ||
        divisor == 0)
        return give_up(analysis, operands, 2, bits, "division of or by something that varies");
    isl_pw_aff *form = canonical(analysis, operands[0], as_signed, &range);
    if (!form) return give_up(analysis, operands, 2, bits, "division of a value that may have wrapped");
    form = divide_form(analysis, form, &range, divisor);
    return value_integer(analysis, bits, form, range,
                         sources_join(analysis, operands[0]->sources, operands[1]->sources));
}

const struct value *integer_remainder(struct analysis *analysis, const struct ptx_instruction *instruction,
                                      const struct value *const *operands, unsigned bits)
{
    bool as_signed = is_signed(instruction);
    wide divisor = 0;
    struct range range, quotient_range;

    if (!both_integers(operands[0], operands[1]) || !value_is_number(operands[1], as_signed, &divisor) ||
        divisor == 0)
        return give_up(analysis, operands, 2, bits, "remainder of or by something that varies");
    isl_pw_aff *form = canonical(analysis, operands[0], as_signed, &range);
    if (!form) return give_up(analysis, operands, 2, bits, "remainder of a value that may have wrapped");
    wide magnitude = divisor < 0 ? -divisor : divisor;
    const uint64_t *sources = sources_join(analysis, operands[0]->sources, operands[1]->sources);
    if (range.low > -magnitude && range.high < magnitude)
        return value_integer(analysis, bits, form, range, sources);
    quotient_range = range;
    isl_pw_aff *quotient = divide_form(analysis, isl_pw_aff_copy(form), &quotient_range, magnitude);
    form = isl_pw_aff_sub(form, affine_scale(analysis, quotient, magnitude));
    range = (struct range){range.low < 0 ? 1 - magnitude : 0, range.high > 0 ? magnitude - 1 : 0};
    return value_integer(analysis, bits, form, range, sources);
}

/* --- minimum, maximum, magnitude --------------------------------------------------------------------- */

static const struct value *extremum(struct analysis *analysis, const struct value *const *operands,
                                    unsigned bits, bool as_signed, bool maximum)
{
    struct range a_range, b_range;
    isl_pw_aff *a = NULL, *b = NULL, *form;

    if (both_integers(operands[0], operands[1])) {
        a = canonical(analysis, operands[0], as_signed, &a_range);
        b = canonical(analysis, operands[1], as_signed, &b_range);
    }
    if (!a || !b) {
        isl_pw_aff_free(a);
        isl_pw_aff_free(b);
        return give_up(analysis, operands, 2, bits, "minimum or maximum of something unknown");
    }
    struct range range = maximum ? (struct range){a_range.low > b_range.low ? a_range.low : b_range.low,
                                                  a_range.high > b_range.high ? a_range.high : b_range.high}
                                 : (struct range){a_range.low < b_range.low ? a_range.low : b_range.low,
                                                  a_range.high < b_range.high ? a_range.high : b_range.high};
    bool a_wins = maximum ? a_range.low >= b_range.high : a_range.high <= b_range.low;
    bool b_wins = maximum ? b_range.low >= a_range.high : b_range.high <= a_range.low;
    if (a_wins || b_wins) {
        isl_pw_aff_free(a_wins ? b : a);
        form = a_wins ? a : b;
    } else {
        form = maximum ? isl_pw_aff_max(a, b) : isl_pw_aff_min(a, b);
    }
    return value_integer(analysis, bits, form, range,
                         sources_join(analysis, operands[0]->sources, operands[1]->sources));
}

const struct value *integer_minimum(struct analysis *analysis, const struct ptx_instruction *instruction,
                                    const struct value *const *operands, unsigned bits)
{
    return extremum(analysis, operands, bits, is_signed(instruction), false);
}

const struct value *integer_maximum(struct analysis *analysis, const struct ptx_instruction *instruction,
                                    const struct value *const *operands, unsigned bits)
{
    return extremum(analysis, operands, bits, is_signed(instruction), true);
}

const struct value *integer_absolute(struct analysis *analysis, const struct ptx_instruction *instruction,
                                     const struct value *const *operands, unsigned bits)
{
    const struct value *both[] = {operands[0], integer_negate(analysis, instruction, operands, bits)};

    return extremum(analysis, both, bits, true, true);
}

/* --- moves and conversions --------------------------------------------------------------------------- */

/* The low `from` bits of x, extended to `bits`. */
static const struct value *extend(struct analysis *analysis, const struct value *x, unsigned from,
                                  bool as_signed, unsigned bits)
{
    struct range range;
    const struct value *narrow = resize(analysis, x, from);

    if (from >= bits || narrow->kind != VALUE_INTEGER) return resize(analysis, narrow, bits);
    isl_pw_aff *form = canonical(analysis, narrow, as_signed, &range);
    if (!form) return give_up(analysis, &x, 1, bits, "32-bit arithmetic may wrap before it is extended");
    const struct value *extended = value_integer(analysis, bits, form, range, x->sources);
    /* the other notes hold modulo 2^from only */
    if (!value_quotient_range(narrow, &range) || !is_within(range, from, as_signed))
        return value_annotate(analysis, extended, (struct value){.zeros = narrow->zeros});
    return value_annotate(analysis, extended,
                          (struct value){.zeros = narrow->zeros,
                                         .numerator = narrow->numerator,
                                         .numerator_range = narrow->numerator_range,
                                         .multiplier = narrow->multiplier,
                                         .shift = narrow->shift});
}

const struct value *integer_convert(struct analysis *analysis, const struct ptx_instruction *instruction,
                                    const struct value *const *operands, unsigned bits)
{
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    unsigned to_bits = 8 * ptx_type_bytes(to), from_bits = 8 * ptx_type_bytes(from);

    if (instruction->type_count < 2 || ptx_type_is_float(to) || ptx_type_is_float(from) ||
        ptx_has_modifier(instruction, PTX_MOD_SAT))
        return give_up(analysis, operands, 1, bits, "conversion of a floating-point number");
    if (operands[0]->kind == VALUE_POINTER && to_bits == 64 && from_bits == 64) return operands[0];
    if (operands[0]->kind != VALUE_INTEGER)
        return give_up(analysis, operands, 1, bits, "conversion of an unknown");
    if (to_bits <= from_bits) return extend(analysis, operands[0], to_bits, ptx_type_is_signed(to), bits);
    const struct value *value = extend(analysis, operands[0], from_bits, ptx_type_is_signed(from), to_bits);
    return bits > to_bits ? extend(analysis, value, to_bits, ptx_type_is_signed(to), bits) : value;
}

const struct value *integer_move(struct analysis *analysis, const struct ptx_instruction *instruction,
                                 const struct value *const *operands, unsigned bits)
{
    const struct value *x = operands[0];

    (void)instruction;
    if (x->kind == VALUE_INTEGER && x->bits != bits) return extend(analysis, x, x->bits, false, bits);
    if (x->bits != bits) return give_up(analysis, operands, 1, bits, "part of an unknown value");
    return x;
}

const struct value *integer_select(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *const *operands, unsigned bits)
{
    const struct value *predicate = operands[2];

    if (predicate->kind != VALUE_PREDICATE)
        return value_give_up(analysis, operands, 2, bits, "selected by something unknown");
    struct candidate candidates[] = {
        {predicate->when_true, integer_move(analysis, instruction, operands, bits)},
        {predicate->when_false, integer_move(analysis, instruction, operands + 1, bits)}};
    const struct value *merged = value_merge(analysis, candidates, 2);
    if (merged->kind != VALUE_INTEGER && merged->kind != VALUE_POINTER) return merged;
    return value_with_sources(analysis, merged, predicate->sources);
}
