/* SPDX-License-Identifier: Apache-2.0
 * Comparisons and predicates -- ISA 9.7.6, 9.7.8. A predicate is a pair of sets that may overlap where it is
 * unknown. */
#include "fuser/access/analysis.h"

enum comparison { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_NONE };

struct spelling {
    enum ptx_modifier modifier;
    enum comparison comparison;
    bool is_unsigned;
};

static const struct spelling *find_comparison(const struct ptx_instruction *instruction)
{
    static const struct spelling spellings[] = {
        {PTX_MOD_EQ, COMPARE_EQ, false}, {PTX_MOD_NE, COMPARE_NE, false}, {PTX_MOD_LT, COMPARE_LT, false},
        {PTX_MOD_LE, COMPARE_LE, false}, {PTX_MOD_GT, COMPARE_GT, false}, {PTX_MOD_GE, COMPARE_GE, false},
        {PTX_MOD_LO, COMPARE_LT, true},  {PTX_MOD_LS, COMPARE_LE, true},  {PTX_MOD_HI, COMPARE_GT, true},
        {PTX_MOD_HS, COMPARE_GE, true},
    };

    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (ptx_has_modifier(instruction, spellings[i].modifier)) return &spellings[i];
    return NULL;
}

static isl_set *compare_forms(enum comparison comparison, isl_pw_aff *a, isl_pw_aff *b)
{
    switch (comparison) {
    case COMPARE_EQ:
        return isl_pw_aff_eq_set(a, b);
    case COMPARE_NE:
        return isl_pw_aff_ne_set(a, b);
    case COMPARE_LT:
        return isl_pw_aff_lt_set(a, b);
    case COMPARE_LE:
        return isl_pw_aff_le_set(a, b);
    case COMPARE_GT:
        return isl_pw_aff_gt_set(a, b);
    case COMPARE_GE:
        return isl_pw_aff_ge_set(a, b);
    case COMPARE_NONE:
        break;
    }
    isl_pw_aff_free(a);
    isl_pw_aff_free(b);
    return NULL;
}

static enum comparison negate(enum comparison comparison)
{
    static const enum comparison negated[] = {
        [COMPARE_EQ] = COMPARE_NE, [COMPARE_NE] = COMPARE_EQ, [COMPARE_LT] = COMPARE_GE,
        [COMPARE_LE] = COMPARE_GT, [COMPARE_GT] = COMPARE_LE, [COMPARE_GE] = COMPARE_LT,
    };

    return negated[comparison];
}

/* What the ranges alone decide: 1 true, 0 false, -1 open. */
static int decide(enum comparison comparison, struct range a, struct range b)
{
    bool apart = a.high < b.low || b.high < a.low;
    bool equal = range_is_point(a) && range_is_point(b) && a.low == b.low;

    switch (comparison) {
    case COMPARE_EQ:
        return equal ? 1 : apart ? 0 : -1;
    case COMPARE_NE:
        return equal ? 0 : apart ? 1 : -1;
    case COMPARE_LT:
        return a.high < b.low ? 1 : a.low >= b.high ? 0 : -1;
    case COMPARE_LE:
        return a.high <= b.low ? 1 : a.low > b.high ? 0 : -1;
    case COMPARE_GT:
        return a.low > b.high ? 1 : a.high <= b.low ? 0 : -1;
    case COMPARE_GE:
        return a.low >= b.high ? 1 : a.high < b.low ? 0 : -1;
    case COMPARE_NONE:
        break;
    }
    return -1;
}

/* Takes the forms. */
static const struct value *compare_numbers(struct analysis *analysis, enum comparison comparison,
                                           isl_pw_aff *a, struct range a_range, isl_pw_aff *b,
                                           struct range b_range, const uint64_t *sources)
{
    int decided = a && b ? decide(comparison, a_range, b_range) : -1;

    if (!a || !b || decided >= 0) {
        isl_pw_aff_free(a);
        isl_pw_aff_free(b);
        return decided >= 0 ? value_truth(analysis, decided == 1, sources)
                            : value_unknown_predicate(analysis);
    }
    isl_set *when_true = compare_forms(comparison, isl_pw_aff_copy(a), isl_pw_aff_copy(b));
    isl_set *when_false = compare_forms(negate(comparison), a, b);
    return value_predicate(analysis, when_true, when_false, sources);
}

static bool is_null(const struct value *value)
{
    wide number;

    return value_is_number(value, false, &number) && number == 0;
}

/* A pointer into an allocation or variable is not null. */
static const struct value *compare_with_null(struct analysis *analysis, bool is_true,
                                             const struct value *pointer, const struct value *null)
{
    analysis->bases[pointer->base].is_not_null = true;
    return value_truth(analysis, is_true, null->sources);
}

/* Pointers of one base compare like their offsets. */
static const struct value *compare_pointers(struct analysis *analysis, enum comparison comparison,
                                            const struct value *a, const struct value *b)
{
    struct range a_range, b_range;

    if (a->kind == VALUE_POINTER && a->form && is_null(b))
        return compare_with_null(
            analysis, comparison == COMPARE_NE || comparison == COMPARE_GT || comparison == COMPARE_GE, a, b);
    if (b->kind == VALUE_POINTER && b->form && is_null(a))
        return compare_with_null(
            analysis, comparison == COMPARE_NE || comparison == COMPARE_LT || comparison == COMPARE_LE, b, a);
    if (a->kind != b->kind || a->base != b->base || !a->form || !b->form)
        return value_unknown_predicate(analysis);
    isl_pw_aff *first = value_as_signed(analysis, a, &a_range),
               *second = value_as_signed(analysis, b, &b_range);
    return compare_numbers(analysis, comparison, first, a_range, second, b_range,
                           sources_join(analysis, a->sources, b->sources));
}

/* Whether the signed value is below 0. */
static const struct value *is_negative(struct analysis *analysis, const struct value *value)
{
    struct range range;

    if (value->kind == VALUE_UNKNOWN && value->either[0] &&
        value->either_loop == analysis->forest->loop_of[analysis->block]) {
        const struct value *both[] = {is_negative(analysis, value->either[0]),
                                      is_negative(analysis, value->either[1])};
        return predicate_or(analysis, NULL, both, 1);
    }
    isl_pw_aff *form = value->kind == VALUE_INTEGER ? value_as_signed(analysis, value, &range) : NULL;
    if (!form) return value_unknown_predicate(analysis);
    return compare_numbers(analysis, COMPARE_LT, form, range, affine_constant(analysis, 0),
                           (struct range){0, 0}, value->sources);
}

/* An unknown value whose sign is known, with 0 or -1; NULL: another comparison. */
static const struct value *compare_sign(struct analysis *analysis, enum comparison comparison,
                                        const struct value *a, const struct value *b)
{
    wide limit;

    if (a->kind != VALUE_UNKNOWN || !a->either[0] || !value_is_number(b, true, &limit)) return NULL;
    bool is_below = (comparison == COMPARE_LT && limit == 0) || (comparison == COMPARE_LE && limit == -1);
    bool is_above = (comparison == COMPARE_GE && limit == 0) || (comparison == COMPARE_GT && limit == -1);
    if (!is_below && !is_above) return NULL;
    const struct value *result = is_negative(analysis, a);
    return is_below ? result : predicate_not(analysis, NULL, &result, 1);
}

static const struct value *compare(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *a, const struct value *b)
{
    const struct spelling *spelling = find_comparison(instruction);
    enum ptx_type type = instruction->types[instruction->type_count ? instruction->type_count - 1 : 0];
    struct range a_range, b_range;

    if (!spelling || ptx_type_is_float(type)) return value_unknown_predicate(analysis);
    if (a->kind == VALUE_POINTER || b->kind == VALUE_POINTER)
        return compare_pointers(analysis, spelling->comparison, a, b);
    if (ptx_type_is_signed(type) && ptx_type_bytes(type) * 8 == a->bits) {
        const struct value *by_sign = compare_sign(analysis, spelling->comparison, a, b);
        if (by_sign) return by_sign;
    }
    if (a->kind != VALUE_INTEGER || b->kind != VALUE_INTEGER) return value_unknown_predicate(analysis);
    bool equality = spelling->comparison == COMPARE_EQ || spelling->comparison == COMPARE_NE;
    bool as_signed = !spelling->is_unsigned && (ptx_type_is_signed(type) || equality);
    isl_pw_aff *first =
        as_signed ? value_as_signed(analysis, a, &a_range) : value_as_unsigned(analysis, a, &a_range);
    isl_pw_aff *second =
        as_signed ? value_as_signed(analysis, b, &b_range) : value_as_unsigned(analysis, b, &b_range);
    return compare_numbers(analysis, spelling->comparison, first, a_range, second, b_range,
                           sources_join(analysis, a->sources, b->sources));
}

/* The comparison's result, together with a third operand where there is one. */
static const struct value *combine(struct analysis *analysis, const struct ptx_instruction *instruction,
                                   const struct value *result, const struct value *third, unsigned bits)
{
    const struct value *both[] = {result, third};

    if (!third) return result;
    if (ptx_has_modifier(instruction, PTX_MOD_AND)) return predicate_and(analysis, instruction, both, bits);
    if (ptx_has_modifier(instruction, PTX_MOD_OR)) return predicate_or(analysis, instruction, both, bits);
    if (ptx_has_modifier(instruction, PTX_MOD_XOR)) return predicate_xor(analysis, instruction, both, bits);
    return value_unknown_predicate(analysis);
}

const struct value *predicate_compare(struct analysis *analysis, const struct ptx_instruction *instruction,
                                      const struct value *const *operands, unsigned bits)
{
    const struct value *result = compare(analysis, instruction, operands[0], operands[1]);

    return combine(analysis, instruction, result, operands[2], bits);
}

const struct value *predicate_compare_contrary(struct analysis *analysis,
                                               const struct ptx_instruction *instruction,
                                               const struct value *const *operands, unsigned bits)
{
    const struct value *result = compare(analysis, instruction, operands[0], operands[1]);

    return combine(analysis, instruction, predicate_not(analysis, instruction, &result, bits), operands[2],
                   bits);
}

static bool are_predicates(const struct value *a, const struct value *b)
{
    return a->kind == VALUE_PREDICATE && b->kind == VALUE_PREDICATE;
}

const struct value *predicate_and(struct analysis *analysis, const struct ptx_instruction *instruction,
                                  const struct value *const *operands, unsigned bits)
{
    const struct value *a = operands[0], *b = operands[1];

    (void)instruction;
    (void)bits;
    if (!are_predicates(a, b)) return value_unknown_predicate(analysis);
    isl_set *when_true = isl_set_intersect(isl_set_copy(a->when_true), isl_set_copy(b->when_true));
    isl_set *when_false = isl_set_union(isl_set_copy(a->when_false), isl_set_copy(b->when_false));
    return value_predicate(analysis, when_true, when_false, sources_join(analysis, a->sources, b->sources));
}

const struct value *predicate_or(struct analysis *analysis, const struct ptx_instruction *instruction,
                                 const struct value *const *operands, unsigned bits)
{
    const struct value *a = operands[0], *b = operands[1];

    (void)instruction;
    (void)bits;
    if (!are_predicates(a, b)) return value_unknown_predicate(analysis);
    isl_set *when_true = isl_set_union(isl_set_copy(a->when_true), isl_set_copy(b->when_true));
    isl_set *when_false = isl_set_intersect(isl_set_copy(a->when_false), isl_set_copy(b->when_false));
    return value_predicate(analysis, when_true, when_false, sources_join(analysis, a->sources, b->sources));
}

const struct value *predicate_not(struct analysis *analysis, const struct ptx_instruction *instruction,
                                  const struct value *const *operands, unsigned bits)
{
    const struct value *a = operands[0];

    (void)instruction;
    (void)bits;
    if (a->kind != VALUE_PREDICATE) return value_unknown_predicate(analysis);
    return value_predicate(analysis, isl_set_copy(a->when_false), isl_set_copy(a->when_true), a->sources);
}

const struct value *predicate_xor(struct analysis *analysis, const struct ptx_instruction *instruction,
                                  const struct value *const *operands, unsigned bits)
{
    const struct value *a = operands[0], *b = operands[1];

    if (!are_predicates(a, b)) return value_unknown_predicate(analysis);
    const struct value *not_a = predicate_not(analysis, instruction, &a, bits);
    const struct value *not_b = predicate_not(analysis, instruction, &b, bits);
    const struct value *first[] = {a, not_b}, *second[] = {not_a, b};
    const struct value *both[] = {predicate_and(analysis, instruction, first, bits),
                                  predicate_and(analysis, instruction, second, bits)};
    return predicate_or(analysis, instruction, both, bits);
}
