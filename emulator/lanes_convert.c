/* SPDX-License-Identifier: Apache-2.0
 * cvt on 32 lanes -- ISA 9.7.9.21. Conversions between integers go by the widths of both registers; those
 * from and to floating point have natural widths (8- and 16-bit integers pass through 32 or 64 bits in the
 * caller). */
#include "emulator/lanes.h"
#include "emulator/half.h"

/* --- integers: any type in any register --- */
#define CONVERT_PLAIN(D, A, T) LANE_OP(convert_##D##_##A##_##T, D, A, A, A, A, (D)(T)x)
#define CONVERT_FROM(A)                                                                                      \
    CONVERT_PLAIN(uint16_t, A, uint8_t)                                                                      \
    CONVERT_PLAIN(uint16_t, A, int8_t)                                                                       \
    CONVERT_PLAIN(uint16_t, A, uint16_t)                                                                     \
    CONVERT_PLAIN(uint32_t, A, uint8_t)                                                                      \
    CONVERT_PLAIN(uint32_t, A, int8_t)                                                                       \
    CONVERT_PLAIN(uint32_t, A, uint16_t)                                                                     \
    CONVERT_PLAIN(uint32_t, A, int16_t)                                                                      \
    CONVERT_PLAIN(uint32_t, A, uint32_t)                                                                     \
    CONVERT_PLAIN(uint64_t, A, uint8_t)                                                                      \
    CONVERT_PLAIN(uint64_t, A, int8_t)                                                                       \
    CONVERT_PLAIN(uint64_t, A, uint16_t)                                                                     \
    CONVERT_PLAIN(uint64_t, A, int16_t)                                                                      \
    CONVERT_PLAIN(uint64_t, A, uint32_t)                                                                     \
    CONVERT_PLAIN(uint64_t, A, int32_t)                                                                      \
    CONVERT_PLAIN(uint64_t, A, uint64_t)
CONVERT_FROM(uint16_t)
CONVERT_FROM(uint32_t)
CONVERT_FROM(uint64_t)

/* d (to_width bytes) = the low bytes of a (from_width bytes), extended as `from` says */
#define BY_SOURCE(D, T)                                                                                      \
    (from_width == 2   ? LANES(convert_##D##_uint16_t_##T)                                                   \
     : from_width == 4 ? LANES(convert_##D##_uint32_t_##T)                                                   \
                       : LANES(convert_##D##_uint64_t_##T))
lane_op LANES(lanes_widen)(unsigned to_width, enum ptx_type from, unsigned from_width);
lane_op LANES(lanes_widen)(unsigned to_width, enum ptx_type from, unsigned from_width)
{
    unsigned bytes = ptx_type_bytes(from);
    bool is_signed = ptx_type_is_signed(from);
    if (bytes > from_width) return NULL;
    if (bytes > to_width) bytes = to_width;
    switch (to_width * 16 + bytes) {
    case 0x21:
        return is_signed ? BY_SOURCE(uint16_t, int8_t) : BY_SOURCE(uint16_t, uint8_t);
    case 0x22:
        return BY_SOURCE(uint16_t, uint16_t);
    case 0x41:
        return is_signed ? BY_SOURCE(uint32_t, int8_t) : BY_SOURCE(uint32_t, uint8_t);
    case 0x42:
        return is_signed ? BY_SOURCE(uint32_t, int16_t) : BY_SOURCE(uint32_t, uint16_t);
    case 0x44:
        return BY_SOURCE(uint32_t, uint32_t);
    case 0x81:
        return is_signed ? BY_SOURCE(uint64_t, int8_t) : BY_SOURCE(uint64_t, uint8_t);
    case 0x82:
        return is_signed ? BY_SOURCE(uint64_t, int16_t) : BY_SOURCE(uint64_t, uint16_t);
    case 0x84:
        return is_signed ? BY_SOURCE(uint64_t, int32_t) : BY_SOURCE(uint64_t, uint32_t);
    case 0x88:
        return BY_SOURCE(uint64_t, uint64_t);
    }
    return NULL;
}

/* .sat: 64-bit values (extra bit 0: signed) clamped to the type whose bits are extra >> 8, bit 1: a signed
 * one */
static inline uint64_t LANES(clamped)(uint64_t value, uint64_t extra)
{
    unsigned bits = (unsigned)(extra >> 8);
    uint64_t most = extra & 2 ? ~0ull >> (65 - bits) : ~0ull >> (64 - bits);
    if ((extra & 1) && (int64_t)value < 0) {
        int64_t least = extra & 2 ? -(int64_t)most - 1 : 0;
        return (uint64_t)((int64_t)value < least ? least : (int64_t)value);
    }
    return value > most ? most : value;
}
LANE_OP1(clamp_64, uint64_t, LANES(clamped)(x, extra))
lane_op LANES(lanes_clamp)(void);
lane_op LANES(lanes_clamp)(void)
{
    return LANES(clamp_64);
}

/* --- rounding to integral values; extra: bits 0-1 the rounding, LANE_INTEGRAL_FTZ --- */
static inline float LANES(zeroed)(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = bits & 0x7f800000 ? bits : bits & 0x80000000;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
#define INTEGRAL(T, suffix)                                                                                  \
    static void LANES(integral_##T)(T *restrict d, const T *restrict a, uint64_t extra)                      \
    {                                                                                                        \
        switch (extra & 3) {                                                                                 \
        case LANE_NEAREST:                                                                                   \
            for (int i = 0; i < LANE_COUNT; i++) d[i] = __builtin_rint##suffix(a[i]);                        \
            break;                                                                                           \
        case LANE_ZERO:                                                                                      \
            for (int i = 0; i < LANE_COUNT; i++) d[i] = __builtin_trunc##suffix(a[i]);                       \
            break;                                                                                           \
        case LANE_DOWN:                                                                                      \
            for (int i = 0; i < LANE_COUNT; i++) d[i] = __builtin_floor##suffix(a[i]);                       \
            break;                                                                                           \
        case LANE_UP:                                                                                        \
            for (int i = 0; i < LANE_COUNT; i++) d[i] = __builtin_ceil##suffix(a[i]);                        \
            break;                                                                                           \
        }                                                                                                    \
    }
INTEGRAL(float, f)
INTEGRAL(double, )
static void LANES(integral_float_ftz)(float *restrict d, const float *restrict a, uint64_t extra)
{
    float flushed[LANE_COUNT];
    for (int i = 0; i < LANE_COUNT; i++) flushed[i] = extra & LANE_INTEGRAL_FTZ ? LANES(zeroed)(a[i]) : a[i];
    LANES(integral_float)(d, flushed, extra);
}
static void LANES(integral_double_ftz)(double *restrict d, const double *restrict a, uint64_t extra)
{
    LANES(integral_double)(d, a, extra);
}

static void LANES(round_f32)(void *d, const void *a, const void *b, const void *c, const void *e,
                             uint64_t extra)
{
    float values[LANE_COUNT];
    (void)b, (void)c, (void)e;
    LANES(integral_float_ftz)(values, a, extra);
    for (int i = 0; i < LANE_COUNT; i++) {
        static const uint32_t canonical = 0x7fffffff;
        if (values[i] != values[i]) memcpy(&values[i], &canonical, sizeof canonical);
    }
    memcpy(d, values, sizeof values);
}
static void LANES(round_f64)(void *d, const void *a, const void *b, const void *c, const void *e,
                             uint64_t extra)
{
    double values[LANE_COUNT];
    (void)b, (void)c, (void)e;
    LANES(integral_double)(values, a, extra);
    for (int i = 0; i < LANE_COUNT; i++) /* a signalling NaN becomes quiet */
        values[i] = values[i] != values[i] ? values[i] + values[i] : values[i];
    memcpy(d, values, sizeof values);
}

/* F -> integer T: clamped; a NaN gives zero, or the top bit where f64 or a 64-bit integer is involved */
#define TO_INTEGER(T, F, least, above, most, nan)                                                            \
    static void LANES(T##_of_##F)(void *d_, const void *a, const void *b, const void *c, const void *e,      \
                                  uint64_t extra)                                                            \
    {                                                                                                        \
        T *d = d_;                                                                                           \
        F values[LANE_COUNT];                                                                                \
        (void)b, (void)c, (void)e;                                                                           \
        LANES(integral_##F##_ftz)(values, a, extra);                                                         \
        for (int i = 0; i < LANE_COUNT; i++) {                                                               \
            F x = values[i];                                                                                 \
            d[i] = x != x ? (T)(nan) : x < (least) ? (T)(least) : x >= (above) ? (T)(most) : (T)x;           \
        }                                                                                                    \
    }
TO_INTEGER(int32_t, float, -0x1p31f, 0x1p31f, INT32_MAX, 0)
TO_INTEGER(uint32_t, float, 0.0f, 0x1p32f, UINT32_MAX, 0)
TO_INTEGER(int64_t, float, -0x1p63f, 0x1p63f, INT64_MAX, INT64_MIN)
TO_INTEGER(uint64_t, float, 0.0f, 0x1p64f, UINT64_MAX, 1ull << 63)
TO_INTEGER(int32_t, double, -0x1p31, 0x1p31, INT32_MAX, INT32_MIN)
TO_INTEGER(uint32_t, double, 0.0, 0x1p32, UINT32_MAX, 1u << 31)
TO_INTEGER(int64_t, double, -0x1p63, 0x1p63, INT64_MAX, INT64_MIN)
TO_INTEGER(uint64_t, double, 0.0, 0x1p64, UINT64_MAX, 1ull << 63)

/* integer T -> F, in the current rounding mode */
#define FROM_INTEGER(T, F) LANE_OP(F##_of_##T, F, T, T, T, T, (F)x)
FROM_INTEGER(int32_t, float)
FROM_INTEGER(uint32_t, float)
FROM_INTEGER(int64_t, float)
FROM_INTEGER(uint64_t, float)
FROM_INTEGER(int32_t, double)
FROM_INTEGER(uint32_t, double)
FROM_INTEGER(int64_t, double)
FROM_INTEGER(uint64_t, double)

static inline float LANES(one_nan)(float value)
{
    static const uint32_t canonical = 0x7fffffff;
    if (value != value) memcpy(&value, &canonical, sizeof canonical);
    return value;
}
LANE_OP(f64_of_f32, double, float, float, float, float, (double)x)
LANE_OP(f64_of_f32_ftz, double, float, float, float, float, (double)LANES(zeroed)(LANES(one_nan)(x)))
LANE_OP(f32_of_f64, float, double, double, double, double, (float)x)
LANE_OP(f32_of_f64_ftz, float, double, double, double, double, /* flushed before it is rounded: measured */
        __builtin_fabs(x) < 0x1p-126 ? __builtin_copysignf(0, (float)x) : (float)x)
LANE_OP1(f32_of_f32_ftz, float, LANES(zeroed)(LANES(one_nan)(x)))
LANE_OP1(f32_of_f32, uint32_t, x) /* NaNs stay: measured */
LANE_OP1(f64_of_f64, double, x)

/* f16, bf16; extra: the rounding, enum half_rounding. Between f64 and halves a NaN keeps its sign and the
 * upper bits of its payload, bf16 to f32 is a shift: measured. */
static inline uint16_t LANES(nan16)(double value, unsigned shift, uint16_t quiet)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits >> 48 & 0x8000) | quiet |
                      (bits >> shift & (uint64_t)(0x7fff & ~quiet & (quiet - 1))));
}
static inline double LANES(f64_of_half)(uint16_t half, enum half_format format)
{
    double value = half_value(half, format);
    unsigned fraction = format == HALF_F16 ? 10 : 7;
    uint64_t bits = (half & 0x8000ull) << 48 | 0x7ff8000000000000 |
                    (uint64_t)(half & ((1u << fraction) - 1)) << (52 - fraction);
    if (value != value) memcpy(&value, &bits, sizeof value);
    return value;
}
static inline float LANES(f32_of_bits)(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
LANE_OP(f16_of_f32, uint16_t, float, float, float, float, half_round(x, HALF_F16, extra))
LANE_OP(bf16_of_f32, uint16_t, float, float, float, float, half_round(x, HALF_BF16, extra))
LANE_OP(f16_of_f64, uint16_t, double, double, double, double,
        x != x ? LANES(nan16)(x, 42, 0x7e00) : half_round(x, HALF_F16, extra))
LANE_OP(bf16_of_f64, uint16_t, double, double, double, double,
        x != x ? LANES(nan16)(x, 45, 0x7fc0) : half_round(x, HALF_BF16, extra))
LANE_OP(f32_of_f16, float, uint16_t, uint16_t, uint16_t, uint16_t,
        LANES(one_nan)((float)half_value(x, HALF_F16)))
LANE_OP(f32_of_bf16, float, uint16_t, uint16_t, uint16_t, uint16_t, LANES(f32_of_bits)((uint32_t)x << 16))
LANE_OP(f64_of_f16, double, uint16_t, uint16_t, uint16_t, uint16_t, LANES(f64_of_half)(x, HALF_F16))
LANE_OP(f64_of_bf16, double, uint16_t, uint16_t, uint16_t, uint16_t, LANES(f64_of_half)(x, HALF_BF16))

/* 64-bit integers to bf16 with one rounding: those beyond double's 53 bits are rounded to odd on the way */
static inline uint16_t LANES(bf16_of_magnitude)(uint64_t value, bool is_negative, uint64_t rounding)
{
    if (value >> 53 != 0) value = (value & ~UINT64_C(0x7ff)) | (value & 0x7ff ? 0x800 : 0);
    return half_round(is_negative ? -(double)value : (double)value, HALF_BF16, rounding);
}
LANE_OP(bf16_of_uint64_t, uint16_t, uint64_t, uint64_t, uint64_t, uint64_t,
        LANES(bf16_of_magnitude)(x, false, extra))
LANE_OP(bf16_of_int64_t, uint16_t, uint64_t, uint64_t, uint64_t, uint64_t,
        LANES(bf16_of_magnitude)((int64_t)x < 0 ? -x : x, (int64_t)x < 0, extra))

/* tf32: f32 with 10 bits of fraction; extra: enum half_rounding and LANE_TF32_RELU. .rna: ties away from
 * zero, a NaN is cut; the others make it one: measured. */
static inline uint32_t LANES(tf32)(uint32_t bits, uint64_t rounding)
{
    bool is_relu = rounding & LANE_TF32_RELU;
    rounding &= ~(uint64_t)LANE_TF32_RELU;
    if ((bits & 0x7fffffff) > 0x7f800000 && rounding != HALF_RNA) return 0x7fffe000;
    if (is_relu && bits >> 31) return 0;
    if ((bits & 0x7fffffff) >= 0x7f800000) return bits & ~0x1fffu;
    if (rounding == HALF_RN) return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    return (rounding == HALF_RNA ? bits + 0x1000 : bits) & ~0x1fffu;
}
LANE_OP1(tf32_of_f32, uint32_t, LANES(tf32)(x, extra))

#define INTEGER_TO(F)                                                                                        \
    (from == PTX_S32   ? LANES(F##_of_int32_t)                                                               \
     : from == PTX_U32 ? LANES(F##_of_uint32_t)                                                              \
     : from == PTX_S64 ? LANES(F##_of_int64_t)                                                               \
     : from == PTX_U64 ? LANES(F##_of_uint64_t)                                                              \
                       : NULL)
#define INTEGER_FROM(F)                                                                                      \
    (to == PTX_S32   ? LANES(int32_t_of_##F)                                                                 \
     : to == PTX_U32 ? LANES(uint32_t_of_##F)                                                                \
     : to == PTX_S64 ? LANES(int64_t_of_##F)                                                                 \
     : to == PTX_U64 ? LANES(uint64_t_of_##F)                                                                \
                     : NULL)

static lane_op LANES(convert_to_f32)(enum ptx_type from, bool is_integral, bool is_ftz)
{
    switch ((int)from) {
    case PTX_F32:
        return is_integral ? LANES(round_f32) : is_ftz ? LANES(f32_of_f32_ftz) : LANES(f32_of_f32);
    case PTX_F64:
        return is_ftz ? LANES(f32_of_f64_ftz) : LANES(f32_of_f64);
    case PTX_F16:
        return LANES(f32_of_f16);
    case PTX_BF16:
        return LANES(f32_of_bf16);
    }
    return INTEGER_TO(float);
}
static lane_op LANES(convert_to_f64)(enum ptx_type from, bool is_integral, bool is_ftz)
{
    switch ((int)from) {
    case PTX_F32:
        return is_ftz ? LANES(f64_of_f32_ftz) : LANES(f64_of_f32);
    case PTX_F64:
        return is_integral ? LANES(round_f64) : LANES(f64_of_f64);
    case PTX_F16:
        return LANES(f64_of_f16);
    case PTX_BF16:
        return LANES(f64_of_bf16);
    }
    return INTEGER_TO(double);
}

/* Between natural widths. is_integral: .rni and the like, extra then holds enum lane_integral; for f16, bf16
 * and tf32 results it holds enum half_rounding. */
lane_op LANES(lanes_convert)(enum ptx_type to, enum ptx_type from, bool is_integral, bool is_ftz);
lane_op LANES(lanes_convert)(enum ptx_type to, enum ptx_type from, bool is_integral, bool is_ftz)
{
    switch ((int)to) {
    case PTX_F32:
        return LANES(convert_to_f32)(from, is_integral, is_ftz);
    case PTX_F64:
        return LANES(convert_to_f64)(from, is_integral, is_ftz);
    case PTX_F16:
        return from == PTX_F32 ? LANES(f16_of_f32) : from == PTX_F64 ? LANES(f16_of_f64) : NULL;
    case PTX_BF16:
        return from == PTX_F32   ? LANES(bf16_of_f32)
               : from == PTX_F64 ? LANES(bf16_of_f64)
               : from == PTX_S64 ? LANES(bf16_of_int64_t)
               : from == PTX_U64 ? LANES(bf16_of_uint64_t)
                                 : NULL;
    case PTX_TF32:
        return from == PTX_F32 ? LANES(tf32_of_f32) : NULL;
    }
    return from == PTX_F32 ? INTEGER_FROM(float) : from == PTX_F64 ? INTEGER_FROM(double) : NULL;
}
