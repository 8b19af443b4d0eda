/* SPDX-License-Identifier: Apache-2.0
 * cvt and mov -- ISA 9.7.9. A conversion is split into steps between natural widths. */
#include "emulator/decode.h"
#include "emulator/half.h"

#include <fenv.h>

static bool decode_is_half(enum ptx_type type)
{
    return type == PTX_F16 || type == PTX_BF16;
}

static bool decode_simple(struct decoder *decoder, lane_op run, uint32_t width, uint32_t d, uint32_t a,
                          uint64_t extra)
{
    return decode_lanes(decoder, run, width, d, a, a, a, a, extra);
}

/* The source's value: integers narrower than 32 bits become s64 or u64, halves become f32. *type is what it
 * is then. */
static uint32_t decode_natural(struct decoder *decoder, const struct ptx_operand *operand,
                               enum ptx_type *type)
{
    uint32_t width = decode_operand_width(decoder, operand), bytes = ptx_type_bytes(*type);
    if (decode_is_half(*type)) {
        uint32_t value = decode_temporary(decoder, 4);
        decode_simple(decoder, decoder->lanes->convert(PTX_F32, *type, false, false), 4, value,
                      decode_source(decoder, operand, *type), 0);
        *type = PTX_F32;
        return value;
    }
    if (ptx_type_is_float(*type) || bytes >= 4) return decode_source(decoder, operand, *type);
    if (width == DECODE_NONE) width = 2;
    uint32_t value = decode_temporary(decoder, 8);
    static const enum ptx_type whole[9] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    decode_simple(decoder, decoder->lanes->widen(8, *type, width), 8, value,
                  decode_source(decoder, operand, whole[width]), 0);
    *type = ptx_type_is_signed(*type) ? PTX_S64 : PTX_U64;
    return value;
}

static bool decode_to_integer(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t d,
                              uint32_t width)
{
    static const struct {
        enum ptx_modifier modifier;
        uint64_t integral;
    } integrals[] = {{PTX_MOD_RNI, LANE_NEAREST},
                     {PTX_MOD_RZI, LANE_ZERO},
                     {PTX_MOD_RMI, LANE_DOWN},
                     {PTX_MOD_RPI, LANE_UP}};
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    uint64_t extra = ptx_has_modifier(instruction, PTX_MOD_FTZ) ? LANE_INTEGRAL_FTZ : 0;
    for (uint32_t i = 0; i < 4; i++)
        extra |= ptx_has_modifier(instruction, integrals[i].modifier) ? integrals[i].integral : 0;
    uint32_t source = decode_natural(decoder, &instruction->operands[1], &from);
    bool is_narrow = ptx_type_bytes(to) < 4;
    enum ptx_type first = is_narrow ? PTX_S32 : to;
    uint32_t bytes = ptx_type_bytes(first);
    lane_op run = decoder->lanes->convert(first, from, true, false);
    if (!is_narrow && bytes == width) return decode_simple(decoder, run, width, d, source, extra);
    uint32_t whole = decode_temporary(decoder, bytes), wide = decode_temporary(decoder, 8);
    if (!decode_simple(decoder, run, bytes, whole, source, extra) ||
        !decode_simple(decoder, decoder->lanes->widen(8, first, bytes), 8, wide, whole, 0))
        return false;
    if (is_narrow &&
        !decode_simple(decoder, decoder->lanes->clamp(), 8, wide, wide,
                       1 | (ptx_type_is_signed(to) ? 2 : 0) | (uint64_t)ptx_type_bytes(to) * 8 << 8))
        return false;
    if (is_narrow && from == PTX_F64 &&
        !ptx_type_is_signed(to)) { /* a NaN gives the top bit -- ISA 9.7.9.21 */
        uint32_t is_number = decode_temporary(decoder, 0);
        uint32_t nan = decode_constant(decoder, 8, 1ull << (ptx_type_bytes(to) * 8 - 1));
        if (!decode_lanes(decoder, decoder->lanes->compare(LANE_NUM, PTX_F64, LANE_PLAIN), 0, is_number,
                          source, source, decoder->always, decoder->always, 0) ||
            !decode_lanes(decoder, decoder->lanes->select(8), 8, wide, wide, nan, is_number, is_number, 0))
            return false;
    }
    return decode_simple(decoder, decoder->lanes->widen(width, to, 8), width, d, wide, 0);
}

static bool decode_between_integers(struct decoder *decoder, const struct ptx_instruction *instruction,
                                    uint32_t d, uint32_t width)
{
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    const struct ptx_operand *operand = &instruction->operands[1];
    uint32_t source_width = decode_operand_width(decoder, operand);
    static const enum ptx_type whole[9] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (source_width == DECODE_NONE) source_width = decode_register_width(from);
    if (source_width < 2 || source_width > 8)
        return decode_fail(decoder, "registers of these sizes are not emulated");
    uint32_t source = decode_source(decoder, operand, whole[source_width]);
    bool is_narrowing = ptx_type_bytes(to) <= ptx_type_bytes(from);
    if (!ptx_has_modifier(instruction, PTX_MOD_SAT) && (is_narrowing || width <= ptx_type_bytes(to)))
        return decode_simple(decoder, decoder->lanes->widen(width, is_narrowing ? to : from, source_width),
                             width, d, source, 0);
    uint32_t wide = decode_temporary(decoder, 8);
    if (!decode_simple(decoder, decoder->lanes->widen(8, from, source_width), 8, wide, source, 0))
        return false;
    if (ptx_has_modifier(instruction, PTX_MOD_SAT) &&
        !decode_simple(decoder, decoder->lanes->clamp(), 8, wide, wide,
                       (ptx_type_is_signed(from) ? 1 : 0) | (ptx_type_is_signed(to) ? 2 : 0) |
                           (uint64_t)ptx_type_bytes(to) * 8 << 8))
        return false;
    return decode_simple(decoder, decoder->lanes->widen(width, to, 8), width, d, wide, 0);
}

static uint64_t decode_half_rounding(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_RZ)    ? HALF_RZ
           : ptx_has_modifier(instruction, PTX_MOD_RM)  ? HALF_RM
           : ptx_has_modifier(instruction, PTX_MOD_RP)  ? HALF_RP
           : ptx_has_modifier(instruction, PTX_MOD_RNA) ? HALF_RNA
                                                        : HALF_RN;
}

/* What f16 and bf16 results may still want: .sat, .relu */
static bool decode_half_limits(struct decoder *decoder, const struct ptx_instruction *instruction,
                               enum ptx_type type, uint32_t slot)
{
    uint32_t width = ptx_type_bytes(type), zero = decode_constant(decoder, width, 0);
    if (ptx_has_modifier(instruction, PTX_MOD_SAT))
        return decode_lanes(decoder, decoder->lanes->half(PTX_OP_ADD, type), width, slot, slot, zero, zero,
                            zero, (uint64_t)PTX_OP_ADD << 16 | LANE_SAT);
    if (ptx_has_modifier(instruction, PTX_MOD_RELU))
        return decode_lanes(decoder, decoder->lanes->half(PTX_OP_MAX, type), width, slot, slot, zero, zero,
                            zero, (uint64_t)PTX_OP_MAX << 16 | LANE_NAN);
    return true;
}

/* cvt.rn.f16x2.f32 d, a, b: a above b */
static bool decode_to_pair(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t d)
{
    enum ptx_type to = instruction->types[0], single = to == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    if (instruction->operand_count != 3 || instruction->types[1] != PTX_F32)
        return decode_fail(decoder, "this conversion is not emulated");
    uint32_t halves[2];
    for (uint32_t i = 0; i < 2; i++) {
        halves[i] = decode_temporary(decoder, 2);
        if (!decode_simple(decoder, decoder->lanes->convert(single, PTX_F32, false, false), 2, halves[i],
                           decode_source(decoder, &instruction->operands[2 - i], PTX_F32),
                           decode_half_rounding(instruction)))
            return false;
    }
    return decode_lanes(decoder, decoder->lanes->pack(4), 4, d, halves[0], halves[1], halves[1], halves[1],
                        0) &&
           decode_half_limits(decoder, instruction, to, d);
}

/* .ftz has no effect on f32 to f16, not even with .rm and .rp: measured */
static bool decode_to_half(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t d,
                           uint32_t width, uint32_t source, enum ptx_type from)
{
    enum ptx_type to = instruction->types[0];
    bool is_wide = to == PTX_BF16 && (from == PTX_S64 || from == PTX_U64);
    if (!ptx_type_is_float(from) && !is_wide) { /* through f64, which has every integer that f16 has */
        uint32_t value = decode_temporary(decoder, 8);
        if (!decode_simple(decoder, decoder->lanes->convert(PTX_F64, from, false, false), 8, value, source,
                           0))
            return false;
        source = value;
        from = PTX_F64;
    }
    if (width != 2) return decode_fail(decoder, "a half in a wider register is not emulated");
    if (to == PTX_BF16 && from == PTX_F32 && ptx_has_modifier(instruction, PTX_MOD_FTZ)) {
        uint32_t flushed = decode_temporary(decoder, 4);
        if (!decode_simple(decoder, decoder->lanes->convert(PTX_F32, PTX_F32, false, true), 4, flushed,
                           source, 0))
            return false;
        source = flushed;
    }
    return decode_simple(decoder, decoder->lanes->convert(to, from, false, false), 2, d, source,
                         decode_half_rounding(instruction)) &&
           decode_half_limits(decoder, instruction, to, d);
}

static int decode_directed(const struct ptx_instruction *instruction)
{
    return ptx_has_modifier(instruction, PTX_MOD_RZ)   ? FE_TOWARDZERO
           : ptx_has_modifier(instruction, PTX_MOD_RM) ? FE_DOWNWARD
           : ptx_has_modifier(instruction, PTX_MOD_RP) ? FE_UPWARD
                                                       : FE_TONEAREST;
}

static bool decode_to_float(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t d,
                            uint32_t width)
{
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    bool is_ftz = ptx_has_modifier(instruction, PTX_MOD_FTZ);
    uint64_t integral = ptx_has_modifier(instruction, PTX_MOD_RNI)   ? LANE_NEAREST
                        : ptx_has_modifier(instruction, PTX_MOD_RZI) ? LANE_ZERO
                        : ptx_has_modifier(instruction, PTX_MOD_RMI) ? LANE_DOWN
                        : ptx_has_modifier(instruction, PTX_MOD_RPI) ? LANE_UP
                                                                     : 8;
    uint32_t source = (to == PTX_F64 || to == PTX_F32) && integral == 8 && decode_is_half(from)
                          ? decode_source(decoder, &instruction->operands[1], from)
                          : decode_natural(decoder, &instruction->operands[1], &from);
    if (integral < 8 && decode_is_half(to)) {
        uint32_t whole = decode_temporary(decoder, 4);
        if (!decode_simple(decoder, decoder->lanes->convert(PTX_F32, from, true, false), 4, whole, source,
                           integral))
            return false;
        source = whole;
    }
    if (decode_is_half(to)) return decode_to_half(decoder, instruction, d, width, source, from);
    uint64_t relu = ptx_has_modifier(instruction, PTX_MOD_RELU) ? LANE_TF32_RELU : 0;
    uint64_t extra = to == PTX_TF32 ? decode_half_rounding(instruction) | relu
                     : integral < 8 ? integral | (is_ftz ? LANE_INTEGRAL_FTZ : 0)
                                    : 0;
    if (width != ptx_type_bytes(to))
        return decode_fail(decoder, "a floating-point value in a wider register is not emulated");
    if (!decode_simple(decoder, decoder->lanes->convert(to, from, integral < 8, is_ftz), width, d, source,
                       extra))
        return false;
    struct step *step = &decoder->code->steps[decoder->code->count - 1];
    step->rounding = decode_directed(instruction);
    if (step->rounding != FE_TONEAREST) step->kind = STEP_LANES_ROUNDED;
    return !ptx_has_modifier(instruction, PTX_MOD_SAT) ||
           decode_simple(decoder, decoder->lanes->saturate(to), width, d, d, 0);
}

bool decode_convert(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t width;
    if (instruction->operand_count < 2 || instruction->type_count < 2 ||
        ptx_has_modifier(instruction, PTX_MOD_SATFINITE))
        return decode_fail(decoder, "this conversion is not emulated");
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    if (width == DECODE_NONE || width == 0 || width > 8)
        return decode_fail(decoder, "this conversion is not emulated");
    enum ptx_type to = instruction->types[0];
    if (to == PTX_F16X2 || to == PTX_BF16X2) return decode_to_pair(decoder, instruction, d);
    if (ptx_type_is_float(to)) return decode_to_float(decoder, instruction, d, width);
    if (ptx_type_is_float(instruction->types[1])) return decode_to_integer(decoder, instruction, d, width);
    return decode_between_integers(decoder, instruction, d, width);
}

/* mov.b32 d, {a, b} and mov.b64 d, {a, b, c, d} */
static bool decode_pack(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t bytes)
{
    const struct ptx_operand *vector = &instruction->operands[1];
    static const enum ptx_type types[9] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    uint32_t count = vector->element_count, part = count ? bytes / count : 0, parts[4], width;
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    if ((count != 2 && count != 4) || (part != 2 && part != 4) || width != bytes)
        return decode_fail(decoder, "this way of packing is not emulated");
    for (uint32_t i = 0; i < count; i++) parts[i] = decode_source(decoder, &vector->elements[i], types[part]);
    if (count == 4) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t pair = decode_temporary(decoder, 4);
            if (!decode_lanes(decoder, decoder->lanes->pack(4), 4, pair, parts[2 * i], parts[2 * i + 1],
                              decoder->sink, decoder->sink, 0))
                return false;
            parts[i] = pair;
        }
    }
    return decode_lanes(decoder, decoder->lanes->pack(bytes), bytes, d, parts[0], parts[1], decoder->sink,
                        decoder->sink, 0);
}

/* mov.b64 {a, b}, d */
static bool decode_unpack(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t bytes)
{
    const struct ptx_operand *vector = &instruction->operands[0];
    static const enum ptx_type types[9] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    uint32_t count = vector->element_count, part = count ? bytes / count : 0;
    if ((count != 2 && count != 4) || (part != 2 && part != 4))
        return decode_fail(decoder, "this way of unpacking is not emulated");
    uint32_t source = decode_source(decoder, &instruction->operands[1], types[bytes]);
    lane_op shift =
        decoder->lanes->integer(PTX_OP_SHR, bytes == 8 ? PTX_U64 : PTX_U32, PTX_NO_TYPE, LANE_PLAIN);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t width, d = decode_destination(decoder, &vector->elements[i], &width);
        uint32_t moved = decode_temporary(decoder, bytes), amount = decode_constant(decoder, 4, i * part * 8);
        if (width == DECODE_NONE) continue;
        if (width != part) return decode_fail(decoder, "this way of unpacking is not emulated");
        if (!decode_lanes(decoder, shift, bytes, moved, source, amount, amount, amount, 0) ||
            !decode_simple(decoder, decoder->lanes->widen(part, types[part], bytes), part, d, moved, 0))
            return false;
    }
    return true;
}

bool decode_move(struct decoder *decoder, const struct ptx_instruction *instruction)
{
    uint32_t width, bytes = ptx_type_bytes(instruction->types[0]);
    if (instruction->operand_count != 2 || bytes == 0) return decode_fail(decoder, "operands are missing");
    if (instruction->operands[1].kind == PTX_OPERAND_VECTOR && bytes <= 8)
        return decode_pack(decoder, instruction, bytes);
    if (instruction->operands[0].kind == PTX_OPERAND_VECTOR && bytes <= 8)
        return decode_unpack(decoder, instruction, bytes);
    uint32_t source = decode_source(decoder, &instruction->operands[1], instruction->types[0]);
    uint32_t d = decode_destination(decoder, &instruction->operands[0], &width);
    if (width == 0) return decode_simple(decoder, decoder->lanes->predicate(PTX_OP_MOV), 0, d, source, 0);
    if (width != decode_register_width(instruction->types[0]))
        return decode_fail(decoder, "a destination of another size");
    return decode_simple(decoder, decoder->lanes->move(width), width, d, source, 0);
}
