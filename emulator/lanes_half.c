/* SPDX-License-Identifier: Apache-2.0
 * f16, bf16 and their pairs on 32 lanes -- ISA 9.7.4, 9.7.5. Every operation is exact, or rounded to odd, in
 * double and then rounded once. A NaN result is 0x7fff. */
#include "emulator/lanes.h"
#include "emulator/half.h"

static inline uint16_t LANES(half_flush)(uint16_t value, unsigned form)
{
    return (form & LANE_FTZ) && (value & 0x7c00) == 0 ? value & 0x8000 : value;
}

static inline double LANES(half_extreme)(double x, double y, bool is_min, bool keeps_nan)
{
    if (x != x || y != y) return keeps_nan || (x != x && y != y) ? __builtin_nan("") : x != x ? y : x;
    if (x == y) return (__builtin_signbit(x) != 0) == is_min ? x : y;
    return (x < y) == is_min ? x : y;
}

static inline double LANES(half_compute)(enum ptx_opcode opcode, double x, double y, double z, unsigned form)
{
    switch ((int)opcode) {
    case PTX_OP_ADD:
        return half_sum_odd(x, y);
    case PTX_OP_SUB:
        return half_sum_odd(x, -y);
    case PTX_OP_MUL:
        return x * y;
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        return half_sum_odd(x * y, z);
    case PTX_OP_MIN:
        return LANES(half_extreme)(x, y, true, form & LANE_NAN);
    case PTX_OP_MAX:
        return LANES(half_extreme)(x, y, false, form & LANE_NAN);
    case PTX_OP_EX2:
        return exp2(x);
    case PTX_OP_TANH:
        return tanh(x);
    }
    return 0;
}

static uint16_t LANES(half_one)(enum ptx_opcode opcode, enum half_format format, uint16_t x, uint16_t y,
                                uint16_t z, unsigned form)
{
    bool is_nan = (x & 0x7fff) > (format == HALF_F16 ? 0x7c00 : 0x7f80);
    if (opcode == PTX_OP_NEG) return is_nan ? 0x7fff : LANES(half_flush)(x, form) ^ 0x8000;
    if (opcode == PTX_OP_ABS) return is_nan ? 0x7fff : LANES(half_flush)(x, form) & 0x7fff;
    if (form & LANE_XORSIGN) {
        uint16_t sign = (x ^ y) & 0x8000;
        uint16_t size =
            LANES(half_one)(opcode, format, x & 0x7fff, y & 0x7fff, z, form & ~(unsigned)LANE_XORSIGN);
        return size == 0x7fff ? size : sign | size;
    }
    double result = LANES(half_compute)(opcode, half_value(LANES(half_flush)(x, form), format),
                                        half_value(LANES(half_flush)(y, form), format),
                                        half_value(LANES(half_flush)(z, form), format), form);
    if ((form & LANE_SAT) && !(result > 0)) return 0;
    if ((form & LANE_SAT) && result > 1) result = 1;
    if ((form & LANE_RELU) && result <= 0) result = 0;      /* not -0: measured */
    bool is_cut = opcode == PTX_OP_EX2 && result < 0x1p-14; /* f16's subnormal powers are cut off: measured */
    return LANES(half_flush)(half_round(result, format, is_cut && format == HALF_F16 ? HALF_RZ : HALF_RN),
                             form);
}

/* extra: opcode << 16 | form */
#define HALF_ONE(format, x, y, z)                                                                            \
    LANES(half_one)                                                                                          \
    ((enum ptx_opcode)(extra >> 16), format, (uint16_t)(x), (uint16_t)(y), (uint16_t)(z),                    \
     (unsigned)extra & 0xffff)
#define HALF_TWO(format)                                                                                     \
    (HALF_ONE(format, x, y, z) | (uint32_t)HALF_ONE(format, x >> 16, y >> 16, z >> 16) << 16)
LANE_OP1(half_f16, uint16_t, HALF_ONE(HALF_F16, x, y, z))
LANE_OP1(half_bf16, uint16_t, HALF_ONE(HALF_BF16, x, y, z))
LANE_OP1(half_f16x2, uint32_t, HALF_TWO(HALF_F16))
LANE_OP1(half_bf16x2, uint32_t, HALF_TWO(HALF_BF16))

lane_op LANES(lanes_half)(enum ptx_opcode opcode, enum ptx_type type);
lane_op LANES(lanes_half)(enum ptx_opcode opcode, enum ptx_type type)
{
    switch ((int)opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_FMA:
    case PTX_OP_MAD:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
    case PTX_OP_NEG:
    case PTX_OP_ABS:
        break;
    default:
        return NULL;
    }
    return type == PTX_F16      ? LANES(half_f16)
           : type == PTX_BF16   ? LANES(half_bf16)
           : type == PTX_F16X2  ? LANES(half_f16x2)
           : type == PTX_BF16X2 ? LANES(half_bf16x2)
                                : NULL;
}
