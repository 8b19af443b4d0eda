/* SPDX-License-Identifier: Apache-2.0
 * setp, set, selp -- ISA 9.7.6, 9.7.7. Every comparison is one of five relations, its operands swapped or its
 * result negated. */
#include "emulator/decode.h"

struct decode_relation {
    enum ptx_modifier modifier;
    enum lane_relation relation;
    bool is_swapped, is_inverted;
    bool is_float; /* for floating point only */
};

static const struct decode_relation decode_relations[] = {
    {PTX_MOD_EQ, LANE_EQ, false, false, false},  {PTX_MOD_NE, LANE_EQ, false, true, false},
    {PTX_MOD_LT, LANE_LT, false, false, false},  {PTX_MOD_LE, LANE_LE, false, false, false},
    {PTX_MOD_GT, LANE_LT, true, false, false},   {PTX_MOD_GE, LANE_LE, true, false, false},
    {PTX_MOD_LO, LANE_LT, false, false, false},  {PTX_MOD_LS, LANE_LE, false, false, false},
    {PTX_MOD_HI, LANE_LT, true, false, false},   {PTX_MOD_HS, LANE_LE, true, false, false},
    {PTX_MOD_EQU, LANE_LG, false, true, true},   {PTX_MOD_NEU, LANE_EQ, false, true, true},
    {PTX_MOD_LTU, LANE_LE, true, true, true},    {PTX_MOD_LEU, LANE_LT, true, true, true},
    {PTX_MOD_GTU, LANE_LE, false, true, true},   {PTX_MOD_GEU, LANE_LT, false, true, true},
    {PTX_MOD_NUM, LANE_NUM, false, false, true}, {PTX_MOD_NAN, LANE_NUM, false, true, true},
};

static bool decode_relation_of(const struct ptx_instruction *instruction, bool is_float,
                               struct decode_relation *relation)
{
    for (uint32_t i = 0; i < sizeof decode_relations / sizeof *decode_relations; i++) {
        if (ptx_has_modifier(instruction, decode_relations[i].modifier)) {
            *relation = decode_relations[i];
            if (is_float && relation->modifier == PTX_MOD_NE) /* ordered */
                *relation = (struct decode_relation){PTX_MOD_NE, LANE_LG, false, false, true};
            return true;
        }
    }
    return false;
}

static enum lane_combine decode_combine(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_AND)   ? LANE_AND
           : ptx_has_modifier(instruction, PTX_MOD_OR)  ? LANE_OR
           : ptx_has_modifier(instruction, PTX_MOD_XOR) ? LANE_XOR
                                                        : LANE_ALONE;
}

/* a half in f32, from the slot of a 16-bit register, or of a pair (shift 16: the upper half); form: LANE_FTZ
 */
static uint32_t decode_half_as_float(struct decoder *decoder, uint32_t slot, enum ptx_type type,
                                     unsigned shift, unsigned form)
{
    uint32_t half = slot, value = decode_temporary(decoder, 4);
    bool is_pair = type == PTX_F16X2 || type == PTX_BF16X2;
    if (is_pair) {
        uint32_t moved = decode_temporary(decoder, 4);
        half = decode_temporary(decoder, 2);
        decode_lanes(decoder, decoder->lanes->integer(PTX_OP_SHR, PTX_U32, PTX_NO_TYPE, LANE_PLAIN), 4, moved,
                     slot, decode_constant(decoder, 4, shift), slot, slot, 0);
        decode_lanes(decoder, decoder->lanes->widen(2, PTX_U16, 4), 2, half, moved, moved, moved, moved, 0);
    }
    enum ptx_type single = type == PTX_F16 || type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    if (form & LANE_FTZ) { /* by adding -0 */
        uint32_t flushed = decode_temporary(decoder, 2), zero = decode_constant(decoder, 2, 0x8000);
        decode_lanes(decoder, decoder->lanes->half(PTX_OP_ADD, single), 2, flushed, half, zero, zero, zero,
                     (uint64_t)PTX_OP_ADD << 16 | LANE_FTZ);
        half = flushed;
    }
    decode_lanes(decoder, decoder->lanes->convert(PTX_F32, single, false, false), 4, value, half, half, half,
                 half, 0);
    return value;
}

struct decode_comparison {
    struct decode_relation relation;
    enum ptx_type type;
    enum lane_combine combine;
    uint32_t a, b, c;
    unsigned form;
};

/* d = (a relation b) combine c; shift: which half of a pair */
static bool decode_comparison_step(struct decoder *decoder, const struct decode_comparison *comparison,
                                   uint32_t d, enum lane_combine combine, unsigned shift)
{
    uint32_t a = comparison->a, b = comparison->b;
    enum ptx_type type = comparison->type;
    if (type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2) {
        a = decode_half_as_float(decoder, a, type, shift, comparison->form);
        b = decode_half_as_float(decoder, b, type, shift, comparison->form);
        type = PTX_F32;
    }
    bool is_swapped = comparison->relation.is_swapped;
    return decode_lanes(
        decoder, decoder->lanes->compare(comparison->relation.relation, type, comparison->form), 0, d,
        is_swapped ? b : a, is_swapped ? a : b, comparison->c, decoder->always,
        (uint64_t)combine << LANE_COMBINE_SHIFT | (comparison->relation.is_inverted ? LANE_INVERT : 0));
}

/* setp p|q: q combines the negated comparison, or, for pairs, is the upper half's */
static bool decode_setp_pair(struct decoder *decoder, const struct decode_comparison *comparison,
                             const struct ptx_operand *pair)
{
    uint32_t width, first = decode_temporary(decoder, 0), second = decode_temporary(decoder, 0);
    bool is_pair = comparison->type == PTX_F16X2 || comparison->type == PTX_BF16X2;
    struct decode_comparison inverse = *comparison;
    inverse.relation.is_inverted = !is_pair != comparison->relation.is_inverted;
    if (!decode_comparison_step(decoder, comparison, first, comparison->combine, 0) ||
        !decode_comparison_step(decoder, &inverse, second, comparison->combine, 16))
        return false;
    lane_op move = decoder->lanes->predicate(PTX_OP_MOV);
    uint32_t q = decode_destination(decoder, &pair->elements[1], &width);
    uint32_t p = decode_destination(decoder, &pair->elements[0], &width);
    return decode_lanes(decoder, move, 0, q, second, second, second, second, 0) &&
           decode_lanes(decoder, move, 0, p, first, first, first, first, 0);
}

/* What set gives for true, in a register of the type or, of a pair, in each half. */
static uint64_t decode_set_value(enum ptx_type type, bool is_pair)
{
    if (type == PTX_F32) return 0x3f800000;
    if (type == PTX_F16 || type == PTX_F16X2) return 0x3c00;
    if (type == PTX_BF16 || type == PTX_BF16X2) return 0x3f80;
    return is_pair ? 0xffff : UINT64_MAX;
}

/* set of a pair: both halves */
static bool decode_set_pair(struct decoder *decoder, const struct decode_comparison *comparison, uint64_t yes,
                            uint32_t d)
{
    uint32_t halves[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t mask = decode_temporary(decoder, 0);
        halves[i] = decode_temporary(decoder, 2);
        if (!decode_comparison_step(decoder, comparison, mask, comparison->combine, 16 * i) ||
            !decode_lanes(decoder, decoder->lanes->select(2), 2, halves[i], decode_constant(decoder, 2, yes),
                          decode_constant(decoder, 2, 0), mask, mask, 0))
            return false;
    }
    return decode_lanes(decoder, decoder->lanes->pack(4), 4, d, halves[0], halves[1], halves[1], halves[1],
                        0);
}

static bool decode_set(struct decoder *decoder, const struct ptx_instruction *instruction,
                       const struct decode_comparison *comparison)
{
    bool is_pair = comparison->type == PTX_F16X2 || comparison->type == PTX_BF16X2;
    uint32_t width, mask = decode_temporary(decoder, 0);
    uint64_t yes = decode_set_value(instruction->types[0], is_pair);
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    if (is_pair) return decode_set_pair(decoder, comparison, yes, d);
    return decode_comparison_step(decoder, comparison, mask, comparison->combine, 0) &&
           decode_lanes(decoder, decoder->lanes->select(width), width, d,
                        decode_constant(decoder, width, yes), decode_constant(decoder, width, 0), mask, mask,
                        0);
}

bool decode_compare(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    bool is_set = instruction->opcode == PTX_OP_SET;
    if (instruction->operand_count < 3 || instruction->type_count < (is_set ? 2 : 1))
        return decode_fail(decoder, "operands are missing");
    struct decode_comparison comparison = {.type = instruction->types[is_set ? 1 : 0],
                                           .combine = decode_combine(instruction)};
    comparison.form = ptx_has_modifier(instruction, PTX_MOD_FTZ) ? LANE_FTZ : LANE_PLAIN;
    if (!decode_relation_of(instruction, ptx_type_is_float(comparison.type), &comparison.relation))
        return decode_fail(decoder, "an unknown comparison");
    comparison.a = decode_source(decoder, &instruction->operands[1], comparison.type);
    comparison.b = decode_source(decoder, &instruction->operands[2], comparison.type);
    comparison.c = decoder->always;
    if (instruction->operand_count > 3)
        comparison.c = decode_source(decoder, &instruction->operands[3], PTX_PRED);
    if (is_set) return decode_set(decoder, instruction, &comparison);
    if (instruction->operands[0].kind == PTX_OPERAND_PAIR)
        return decode_setp_pair(decoder, &comparison, &instruction->operands[0]);
    uint32_t width, p = decode_destination(decoder, &instruction->operands[0], &width);
    return decode_comparison_step(decoder, &comparison, p, comparison.combine, 0);
}

bool decode_select(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t width;
    if (instruction->operand_count < 4) return decode_fail(decoder, "operands are missing");
    uint32_t a = decode_source(decoder, &instruction->operands[1], instruction->types[0]);
    uint32_t b = decode_source(decoder, &instruction->operands[2], instruction->types[0]);
    uint32_t c = decode_source(decoder, &instruction->operands[3], PTX_PRED);
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    return decode_lanes(decoder, decoder->lanes->select(width), width, d, a, b, c, c, 0);
}
