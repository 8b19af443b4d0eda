/* SPDX-License-Identifier: Apache-2.0
 * f32 and f64 arithmetic on 32 lanes -- ISA 9.7.3. Correctly rounded in the processor's current rounding
 * mode, which the caller sets for .rz, .rm and .rp. A NaN result is 0x7fffffff in f32; in f64 an operand's
 * NaN is passed on, as measured on an H100: of several the second operand's, then the third's; division
 * prefers the first. Approximate instructions are computed in double precision and rounded, which is within
 * every bound of the ISA. */
#include "emulator/lanes.h"

#define NAN32 0x7fffffffu

static inline float LANES(from_bits)(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint32_t LANES(to_bits)(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
/* the one NaN */
static inline float LANES(canonical)(float value)
{
    return value == value ? value : LANES(from_bits)(NAN32);
}
/* .ftz: a subnormal becomes a zero of its sign */
static inline float LANES(flush)(float value)
{
    uint32_t bits = LANES(to_bits)(value);
    return LANES(from_bits)(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
#define KEEP(v)      (v)
#define FLUSH(v)     LANES(flush)(v)
#define CANONICAL(v) LANES(canonical)(v)

/* name_f32, name_f32_ftz and name_f64; X, Y, Z are the operands, flushed or not */
#define SINGLE_OP(name, formula32)                                                                           \
    LANE_OP1(name##_f32, float, CANONICAL(formula32(KEEP(x), KEEP(y), KEEP(z))))                             \
    LANE_OP1(name##_f32_ftz, float, FLUSH(CANONICAL(formula32(FLUSH(x), FLUSH(y), FLUSH(z)))))
#define FLOAT_OP(name, formula32, formula64)                                                                 \
    SINGLE_OP(name, formula32)                                                                               \
    LANE_OP1(name##_f64, double, formula64(x, y, z))
#define ADD(x, y, z) ((x) + (y))
#define SUB(x, y, z) ((x) - (y))
#define MUL(x, y, z) ((x) * (y))
#define DIV(x, y, z) ((x) / (y))
/* v, made quiet, when it is a NaN */
#define OR_QUIET(v, result) ((v) != (v) ? (v) + (v) : (result))
#define ADD64(x, y, z)      OR_QUIET(y, (x) + (y))
#define SUB64(x, y, z)      OR_QUIET(y, (x) - (y))
#define MUL64(x, y, z)      OR_QUIET(y, (x) * (y))
#define DIV64(x, y, z)      OR_QUIET(x, (x) / (y))
#define FMA32(x, y, z)      __builtin_fmaf(x, y, z)
#define FMA64(x, y, z)      OR_QUIET(y, OR_QUIET(z, __builtin_fma(x, y, z)))
#define RCP(x, y, z)        (1 / (x))
#define SQRT32(x, y, z)     __builtin_sqrtf(x)
#define SQRT64(x, y, z)     __builtin_sqrt(x)
/* div.ftz: a quotient below the least normal number is zero, even if it rounds to that: measured */
static inline float LANES(divide_flushed)(float x, float y)
{
    bool is_tiny = __builtin_fabs((double)x) < __builtin_fabs((double)y) * 0x1p-126;
    return is_tiny ? LANES(from_bits)((LANES(to_bits)(x) ^ LANES(to_bits)(y)) & 0x80000000) : x / y;
}
FLOAT_OP(add, ADD, ADD64)
FLOAT_OP(sub, SUB, SUB64)
FLOAT_OP(mul, MUL, MUL64)
LANE_OP1(div_f32, float, CANONICAL(DIV(x, y, z)))
LANE_OP1(div_f32_ftz, float, CANONICAL(LANES(divide_flushed)(FLUSH(x), FLUSH(y))))
LANE_OP1(div_f64, double, DIV64(x, y, z))
FLOAT_OP(fma, FMA32, FMA64)
FLOAT_OP(rcp, RCP, RCP)
FLOAT_OP(sqrt, SQRT32, SQRT64)

/* abs and neg change the sign bit; not of a NaN, which becomes the one NaN in f32 and quiet in f64 --
 * measured */
#define NAN_BITS64(v) ((v) << 1 > 0xffe0000000000000)
LANE_OP1(abs_f32, float, CANONICAL(LANES(from_bits)(LANES(to_bits)(x) & 0x7fffffff)))
LANE_OP1(neg_f32, float, CANONICAL(LANES(from_bits)(LANES(to_bits)(x) ^ 0x80000000)))
LANE_OP1(abs_f32_ftz, float, CANONICAL(FLUSH(LANES(from_bits)(LANES(to_bits)(x) & 0x7fffffff))))
LANE_OP1(neg_f32_ftz, float, CANONICAL(FLUSH(LANES(from_bits)(LANES(to_bits)(x) ^ 0x80000000))))
LANE_OP1(abs_f64, uint64_t, NAN_BITS64(x) ? x | 0x8000000000000 : x & 0x7fffffffffffffff)
LANE_OP1(neg_f64, uint64_t, NAN_BITS64(x) ? x | 0x8000000000000 : x ^ 0x8000000000000000)
/* copysign: the sign of a, the rest of b -- ISA 9.7.3.3 */
LANE_OP1(copysign_f32, uint32_t, (x & 0x80000000) | (y & 0x7fffffff))
LANE_OP1(copysign_f64, uint64_t, (x & 0x8000000000000000) | (y & 0x7fffffffffffffff))

/* min, max: a number beats a NaN unless .NaN; -0 is below +0 -- ISA 9.7.3.11, 9.7.3.12 */
static inline float LANES(min32)(float x, float y)
{
    float less = x < y ? x : y < x ? y : LANES(from_bits)(LANES(to_bits)(x) | LANES(to_bits)(y));
    return x != x ? y : y != y ? x : less;
}
static inline float LANES(max32)(float x, float y)
{
    float more = x > y ? x : y > x ? y : LANES(from_bits)(LANES(to_bits)(x) & LANES(to_bits)(y));
    return x != x ? y : y != y ? x : more;
}
static inline double LANES(pick64)(double x, double y, bool is_min)
{
    if (x != x || y != y) return x != x ? y != y ? y + y : y : x;
    if (x == y) return (__builtin_signbit(x) != 0) == is_min ? x : y;
    return (x < y) == is_min ? x : y;
}
#define EITHER_NAN(x, y, value) ((x) != (x) || (y) != (y) ? LANES(from_bits)(NAN32) : (value))
#define SIGN_OF_BOTH(x, y)      ((LANES(to_bits)(x) ^ LANES(to_bits)(y)) & 0x80000000)
#define SIGNED_AS(x, y, value)                                                                               \
    ((value) != (value) ? LANES(from_bits)(NAN32)                                                            \
                        : LANES(from_bits)((LANES(to_bits)(value) & 0x7fffffff) | SIGN_OF_BOTH(x, y)))
LANE_OP1(min_f32, float, CANONICAL(LANES(min32)(x, y)))
LANE_OP1(max_f32, float, CANONICAL(LANES(max32)(x, y)))
LANE_OP1(min_f32_ftz, float, CANONICAL(LANES(min32)(FLUSH(x), FLUSH(y))))
LANE_OP1(max_f32_ftz, float, CANONICAL(LANES(max32)(FLUSH(x), FLUSH(y))))
LANE_OP1(min_nan_f32, float, EITHER_NAN(x, y, LANES(min32)(x, y)))
LANE_OP1(max_nan_f32, float, EITHER_NAN(x, y, LANES(max32)(x, y)))
LANE_OP1(min_nan_f32_ftz, float, EITHER_NAN(x, y, LANES(min32)(FLUSH(x), FLUSH(y))))
LANE_OP1(max_nan_f32_ftz, float, EITHER_NAN(x, y, LANES(max32)(FLUSH(x), FLUSH(y))))
/* extra: LANE_FTZ, LANE_NAN */
static inline float LANES(extreme_sign)(float x, float y, uint64_t extra, bool is_min)
{
    x = extra & LANE_FTZ ? FLUSH(x) : x;
    y = extra & LANE_FTZ ? FLUSH(y) : y;
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y),
          result = is_min ? LANES(min32)(a, b) : LANES(max32)(a, b);
    if ((extra & LANE_NAN) && (x != x || y != y)) return LANES(from_bits)(NAN32);
    return SIGNED_AS(x, y, result);
}
LANE_OP1(min_sign_f32, float, LANES(extreme_sign)(x, y, extra, true))
LANE_OP1(max_sign_f32, float, LANES(extreme_sign)(x, y, extra, false))
LANE_OP1(min_f64, double, LANES(pick64)(x, y, true))
LANE_OP1(max_f64, double, LANES(pick64)(x, y, false))

/* div.approx: a divisor above 2^126 gives zero, or NaN for an infinite dividend -- ISA 9.7.3.8 */
static inline float LANES(divide_approx)(float x, float y, bool is_ftz)
{
    float magnitude = __builtin_fabsf(y);
    if (magnitude > 0x1p126f && magnitude < __builtin_inff())
        return x != x || __builtin_isinf(x)
                   ? LANES(from_bits)(NAN32)
                   : LANES(from_bits)((LANES(to_bits)(x) ^ LANES(to_bits)(y)) & 0x80000000);
    return is_ftz ? LANES(divide_flushed)(x, y) : x / y;
}
#define RSQRT32(x, y, z) ((float)(1 / __builtin_sqrt((double)(x))))
#define SIN32(x, y, z)   ((float)sin((double)(x)))
#define COS32(x, y, z)   ((float)cos((double)(x)))
#define EX2_32(x, y, z)  ((float)exp2((double)(x)))
#define LG2_32(x, y, z)  ((float)log2((double)(x)))
#define TANH32(x, y, z)  ((float)tanh((double)(x)))
#define RSQRT64(x, y, z) (1 / __builtin_sqrt(x))
LANE_OP1(div_approx_f32, float, CANONICAL(LANES(divide_approx)(x, y, false)))
LANE_OP1(div_approx_f32_ftz, float, CANONICAL(LANES(divide_approx)(FLUSH(x), FLUSH(y), true)))
FLOAT_OP(rsqrt, RSQRT32, RSQRT64)
SINGLE_OP(sin, SIN32)
SINGLE_OP(cos, COS32)
SINGLE_OP(ex2, EX2_32)
SINGLE_OP(lg2, LG2_32)
SINGLE_OP(tanh, TANH32)

/* rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the upper words of operand and result only; one NaN --
 * ISA 9.7.3.14, 9.7.3.17 */
static inline double LANES(upper_word)(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= bits << 1 >> 53 ? 0xffffffff00000000 : 0x8000000000000000;
    if (value != value && bits << 12 != 0) bits = 0x7fffffff00000000;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
LANE_OP1(rcp_upper_f64, double, LANES(upper_word)(1 / LANES(upper_word)(x)))
LANE_OP1(rsqrt_upper_f64, double, LANES(upper_word)(1 / __builtin_sqrt(LANES(upper_word)(x))))

/* .sat: to [0, 1], NaN to +0 -- ISA 9.7.3 */
LANE_OP1(saturate_f32, float, x > 0 ? x < 1 ? x : 1.0f : 0.0f)
LANE_OP1(saturate_f64, double, x > 0 ? x < 1 ? x : 1.0 : 0.0)

/* testp: extra is the property -- ISA 9.7.3.2 */
enum { TESTP_FINITE, TESTP_INFINITE, TESTP_NUMBER, TESTP_NOTANUMBER, TESTP_NORMAL, TESTP_SUBNORMAL };
static inline bool LANES(has_property)(double value, double smallest, uint64_t property)
{
    double magnitude = __builtin_fabs(value);
    switch (property) {
    case TESTP_FINITE:
        return magnitude < __builtin_inf();
    case TESTP_INFINITE:
        return magnitude == __builtin_inf();
    case TESTP_NUMBER:
        return value == value;
    case TESTP_NOTANUMBER:
        return value != value;
    case TESTP_NORMAL:
        return magnitude == 0 || (magnitude >= smallest && magnitude < __builtin_inf());
    }
    return magnitude < smallest && magnitude > 0;
}
#define TESTP_OP(T, smallest)                                                                                \
    static void LANES(testp_##T)(void *d, const void *a_, const void *b, const void *c, const void *e,       \
                                 uint64_t extra)                                                             \
    {                                                                                                        \
        const T *a = a_;                                                                                     \
        uint32_t mask = 0;                                                                                   \
        (void)b, (void)c, (void)e;                                                                           \
        for (int i = 0; i < LANE_COUNT; i++)                                                                 \
            mask |= (uint32_t)LANES(has_property)((double)a[i], smallest, extra) << i;                       \
        *(uint32_t *)d = mask;                                                                               \
    }
TESTP_OP(float, 0x1p-126)
TESTP_OP(double, 0x1p-1022)

#define BY_FTZ(name) (form & LANE_FTZ ? LANES(name##_f32_ftz) : LANES(name##_f32))

static lane_op LANES(floating_extreme)(bool is_min, unsigned form)
{
    if (form & LANE_XORSIGN) return is_min ? LANES(min_sign_f32) : LANES(max_sign_f32);
    if (form & LANE_NAN) return is_min ? BY_FTZ(min_nan) : BY_FTZ(max_nan);
    return is_min ? BY_FTZ(min) : BY_FTZ(max);
}

static lane_op LANES(floating_single)(enum ptx_opcode opcode, unsigned form)
{
    switch ((int)opcode) {
    case PTX_OP_ADD:
        return BY_FTZ(add);
    case PTX_OP_SUB:
        return BY_FTZ(sub);
    case PTX_OP_MUL:
        return BY_FTZ(mul);
    case PTX_OP_DIV:
        return form & LANE_APPROX ? BY_FTZ(div_approx) : BY_FTZ(div);
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        return BY_FTZ(fma);
    case PTX_OP_RCP:
        return BY_FTZ(rcp);
    case PTX_OP_SQRT:
        return BY_FTZ(sqrt);
    case PTX_OP_RSQRT:
        return BY_FTZ(rsqrt);
    case PTX_OP_SIN:
        return BY_FTZ(sin);
    case PTX_OP_COS:
        return BY_FTZ(cos);
    case PTX_OP_EX2:
        return BY_FTZ(ex2);
    case PTX_OP_LG2:
        return BY_FTZ(lg2);
    case PTX_OP_TANH:
        return BY_FTZ(tanh);
    case PTX_OP_ABS:
        return BY_FTZ(abs);
    case PTX_OP_NEG:
        return BY_FTZ(neg);
    case PTX_OP_MIN:
        return LANES(floating_extreme)(true, form);
    case PTX_OP_MAX:
        return LANES(floating_extreme)(false, form);
    case PTX_OP_COPYSIGN:
        return LANES(copysign_f32);
    case PTX_OP_TESTP:
        return LANES(testp_float);
    }
    return NULL;
}

static lane_op LANES(floating_double)(enum ptx_opcode opcode, unsigned form)
{
    switch ((int)opcode) {
    case PTX_OP_ADD:
        return LANES(add_f64);
    case PTX_OP_SUB:
        return LANES(sub_f64);
    case PTX_OP_MUL:
        return LANES(mul_f64);
    case PTX_OP_DIV:
        return LANES(div_f64);
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        return LANES(fma_f64);
    case PTX_OP_RCP:
        return form & LANE_FTZ ? LANES(rcp_upper_f64) : LANES(rcp_f64);
    case PTX_OP_SQRT:
        return LANES(sqrt_f64);
    case PTX_OP_RSQRT:
        return form & LANE_FTZ ? LANES(rsqrt_upper_f64) : LANES(rsqrt_f64);
    case PTX_OP_ABS:
        return LANES(abs_f64);
    case PTX_OP_NEG:
        return LANES(neg_f64);
    case PTX_OP_MIN:
        return LANES(min_f64);
    case PTX_OP_MAX:
        return LANES(max_f64);
    case PTX_OP_COPYSIGN:
        return LANES(copysign_f64);
    case PTX_OP_TESTP:
        return LANES(testp_double);
    }
    return NULL;
}

lane_op LANES(lanes_floating)(enum ptx_opcode opcode, enum ptx_type type, unsigned form);
lane_op LANES(lanes_floating)(enum ptx_opcode opcode, enum ptx_type type, unsigned form)
{
    return type == PTX_F32   ? LANES(floating_single)(opcode, form)
           : type == PTX_F64 ? LANES(floating_double)(opcode, form)
                             : NULL;
}

lane_op LANES(lanes_saturate)(enum ptx_type type);
lane_op LANES(lanes_saturate)(enum ptx_type type)
{
    return type == PTX_F32 ? LANES(saturate_f32) : type == PTX_F64 ? LANES(saturate_f64) : NULL;
}
