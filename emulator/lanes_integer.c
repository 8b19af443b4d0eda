/* SPDX-License-Identifier: Apache-2.0
 * Integer, logic and shift instructions on 32 lanes -- ISA 9.7.1, 9.7.2, 9.7.8. What the ISA leaves open is
 * as measured on an H100: division by zero gives all ones, and so does its remainder. */
#include "emulator/lanes.h"

typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;

/* operations whose bits do not depend on the sign */
#define BITS_OPS(T, S)                                                                                       \
    LANE_OP1(add_##T, T, x + y)                                                                              \
    LANE_OP1(sub_##T, T, x - y)                                                                              \
    LANE_OP1(mul_lo_##T, T, (T)((u64)x * y))                                                                 \
    LANE_OP1(mad_lo_##T, T, (T)((u64)x * y + z))                                                             \
    LANE_OP1(neg_##T, T, -x)                                                                                 \
    LANE_OP1(abs_##T, T, (S)x < 0 ? -x : x)                                                                  \
    LANE_OP1(and_##T, T, x &y)                                                                               \
    LANE_OP1(or_##T, T, x | y)                                                                               \
    LANE_OP1(xor_##T, T, x ^ y)                                                                              \
    LANE_OP1(not_##T, T, ~x)                                                                                 \
    LANE_OP1(cnot_##T, T, x == 0)                                                                            \
    LANE_OP(shl_##T, T, T, u32, u32, u32, y < sizeof(T) * 8 ? (T)((u64)x << y) : 0)                          \
    LANE_OP(shr_##T, T, T, u32, u32, u32, y < sizeof(T) * 8 ? (T)(x >> y) : 0)                               \
    LANE_OP(shr_##S, S, S, u32, u32, u32, x >> (y < sizeof(T) * 8 ? y : sizeof(T) * 8 - 1))
BITS_OPS(u16, s16)
BITS_OPS(u32, s32)
BITS_OPS(u64, s64)

/* operations that do; W holds a product */
#define SIGN_OPS(T, W, BITS)                                                                                 \
    LANE_OP1(min_##T, T, x < y ? x : y)                                                                      \
    LANE_OP1(max_##T, T, x > y ? x : y)                                                                      \
    LANE_OP1(mul_hi_##T, T, (T)(((W)x * (W)y) >> BITS))                                                      \
    LANE_OP1(mad_hi_##T, T, (T)((u64)(T)(((W)x * (W)y) >> BITS) + (u64)z))                                   \
    LANE_OP1(sad_##T, T, (T)((u64)z + (x < y ? (u64)y - (u64)x : (u64)x - (u64)y)))
SIGN_OPS(u16, u32, 16)
SIGN_OPS(s16, s32, 16)
SIGN_OPS(u32, u64, 32)
SIGN_OPS(s32, s64, 32)
SIGN_OPS(u64, u128, 64)
SIGN_OPS(s64, s128, 64)

#define UNSIGNED_DIVISION(T)                                                                                 \
    LANE_OP1(div_##T, T, y == 0 ? (T) ~(T)0 : x / y)                                                         \
    LANE_OP1(rem_##T, T, y == 0 ? (T) ~(T)0 : x % y)
UNSIGNED_DIVISION(u16)
UNSIGNED_DIVISION(u32)
UNSIGNED_DIVISION(u64)
#define SIGNED_DIVISION(T, U)                                                                                \
    LANE_OP1(div_##T, T, y == 0 ? (T)-1 : y == -1 ? (T)(0 - (U)x) : x / y)                                   \
    LANE_OP1(rem_##T, T, y == 0 ? (T)-1 : y == -1 ? 0 : x % y)
SIGNED_DIVISION(s16, u16)
SIGNED_DIVISION(s32, u32)
SIGNED_DIVISION(s64, u64)

LANE_OP(mul_wide_u16, u32, u16, u16, u32, u32, (u32)x *y)
LANE_OP(mul_wide_s16, s32, s16, s16, s32, s32, (s32)x *y)
LANE_OP(mul_wide_u32, u64, u32, u32, u64, u64, (u64)x *y)
LANE_OP(mul_wide_s32, s64, s32, s32, s64, s64, (s64)x *y)
LANE_OP(mad_wide_u16, u32, u16, u16, u32, u32, (u32)x *y + z)
LANE_OP(mad_wide_s16, u32, s16, s16, u32, u32, (u32)((s32)x *y) + z)
LANE_OP(mad_wide_u32, u64, u32, u32, u64, u64, (u64)x *y + z)
LANE_OP(mad_wide_s32, u64, s32, s32, u64, u64, (u64)((s64)x *y) + z)

static inline s32 LANES(clamp_s32)(s64 value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value;
}
LANE_OP1(add_sat_s32, s32, LANES(clamp_s32)((s64)x + y))
LANE_OP1(sub_sat_s32, s32, LANES(clamp_s32)((s64)x - y))
LANE_OP1(mad_hi_sat_s32, s32, LANES(clamp_s32)((((s64)x * y) >> 32) + z))

/* mul24: products of the low 24 bits; lo: bits 0-31, hi: bits 16-47 */
#define S24(v) ((s64)((s32)((u32)(v) << 8) >> 8))
#define U24(v) ((u64)((v)&0xffffff))
LANE_OP1(mul24_lo_u32, u32, (u32)(U24(x) * U24(y)))
LANE_OP1(mul24_hi_u32, u32, (u32)((U24(x) * U24(y)) >> 16))
LANE_OP1(mul24_lo_s32, u32, (u32)(S24(x) * S24(y)))
LANE_OP1(mul24_hi_s32, u32, (u32)((S24(x) * S24(y)) >> 16))
LANE_OP1(mad24_lo_u32, u32, (u32)(U24(x) * U24(y)) + z)
LANE_OP1(mad24_hi_u32, u32, (u32)((U24(x) * U24(y)) >> 16) + z)
LANE_OP1(mad24_lo_s32, u32, (u32)(S24(x) * S24(y)) + z)
LANE_OP1(mad24_hi_s32, u32, (u32)((S24(x) * S24(y)) >> 16) + z)

/* Sums with a carry: c points to the carry mask. A difference is the sum with the inverted subtrahend, and
 * the carry that sum's: no borrow. Measured; it shows where addc follows sub.cc, or subc add.cc. */
#define CARRY_IN(c) (*(const u32 *)(c) >> i & 1)
#define CARRY_OPS(T, W)                                                                                      \
    LANE_OP(addc_##T, T, T, T, u32, u32, (T)(x + y + (T)(*(const u32 *)c_ >> i & 1)))                        \
    LANE_OP(subc_##T, T, T, T, u32, u32, (T)(x + (T)~y + (T)(*(const u32 *)c_ >> i & 1)))                    \
    static void LANES(carry_add_##T)(void *d, const void *a_, const void *b_, const void *c, const void *e,  \
                                     uint64_t extra)                                                         \
    {                                                                                                        \
        const T *a = a_, *b = b_;                                                                            \
        u32 out = 0;                                                                                         \
        (void)e, (void)extra;                                                                                \
        for (int i = 0; i < LANE_COUNT; i++)                                                                 \
            out |= (u32)(((W)a[i] + b[i] + CARRY_IN(c)) >> (sizeof(T) * 8)) << i;                            \
        *(u32 *)d = out;                                                                                     \
    }                                                                                                        \
    static void LANES(carry_sub_##T)(void *d, const void *a_, const void *b_, const void *c, const void *e,  \
                                     uint64_t extra)                                                         \
    {                                                                                                        \
        const T *a = a_, *b = b_;                                                                            \
        u32 out = 0;                                                                                         \
        (void)e, (void)extra;                                                                                \
        for (int i = 0; i < LANE_COUNT; i++)                                                                 \
            out |= (u32)(((W)a[i] + (T)~b[i] + CARRY_IN(c)) >> (sizeof(T) * 8)) << i;                        \
        *(u32 *)d = out;                                                                                     \
    }
CARRY_OPS(u32, u64)
CARRY_OPS(u64, u128)

static inline u32 LANES(find_bit)(u64 value, u64 shift_amount, unsigned bits)
{
    if (value == 0) return UINT32_MAX;
    u32 place = 63 - (u32)__builtin_clzll(value);
    return shift_amount ? bits - 1 - place : place;
}
static inline u64 LANES(reverse)(u64 value)
{
    value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
    value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
    value = (value >> 4 & 0x0f0f0f0f0f0f0f0f) | (value & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(value);
}
LANE_OP(popc_32, u32, u32, u32, u32, u32, (u32)__builtin_popcount(x))
LANE_OP(popc_64, u32, u64, u32, u32, u32, (u32)__builtin_popcountll(x))
LANE_OP(clz_32, u32, u32, u32, u32, u32, x ? (u32)__builtin_clz(x) : 32)
LANE_OP(clz_64, u32, u64, u32, u32, u32, x ? (u32)__builtin_clzll(x) : 64)
LANE_OP(bfind_u32, u32, u32, u32, u32, u32, LANES(find_bit)(x, extra, 32))
LANE_OP(bfind_s32, u32, u32, u32, u32, u32, LANES(find_bit)((s32)x < 0 ? ~x : x, extra, 32))
LANE_OP(bfind_u64, u32, u64, u32, u32, u32, LANES(find_bit)(x, extra, 64))
LANE_OP(bfind_s64, u32, u64, u32, u32, u32, LANES(find_bit)((s64)x < 0 ? ~x : x, extra, 64))
LANE_OP1(brev_32, u32, (u32)(LANES(reverse)(x) >> 32))
LANE_OP1(brev_64, u64, LANES(reverse)(x))

/* bfe: position and length are the low bytes, in the 64-bit form all bits (measured); beyond the top the sign
 * (or zero) is replicated -- ISA 9.7.1 */
static inline u64 LANES(extract)(u64 value, u32 position, u32 length, unsigned bits, int is_signed)
{
    position = bits == 32 ? position & 0xff : position < 64 ? position : 64;
    length = bits == 32 ? length & 0xff : length < 64 ? length : 64;
    unsigned top = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
    u64 sign = !is_signed || length == 0 ? 0 : value >> top & 1;
    u64 field = position < bits ? value >> position : 0;
    unsigned kept = position >= bits ? 0 : length < bits - position ? length : bits - position;
    u64 mask = kept >= 64 ? ~0ull : (1ull << kept) - 1;
    return (field & mask) | (sign ? ~mask : 0);
}
LANE_OP(bfe_u32, u32, u32, u32, u32, u32, (u32)LANES(extract)(x, y, z, 32, 0))
LANE_OP(bfe_s32, u32, u32, u32, u32, u32, (u32)LANES(extract)(x, y, z, 32, 1))
LANE_OP(bfe_u64, u64, u64, u32, u32, u32, LANES(extract)(x, y, z, 64, 0))
LANE_OP(bfe_s64, u64, u64, u32, u32, u32, LANES(extract)(x, y, z, 64, 1))
static inline u64 LANES(insert)(u64 field, u64 value, u32 position, u32 length, unsigned bits)
{
    if (bits == 32) { /* the 64-bit form uses all bits of both: measured */
        position &= 0xff;
        length &= 0xff;
    }
    if (position >= bits) return value;
    unsigned kept = length < bits - position ? length : bits - position;
    u64 mask = (kept >= 64 ? ~0ull : (1ull << kept) - 1) << position;
    return (value & ~mask) | (field << position & mask);
}
LANE_OP(bfi_32, u32, u32, u32, u32, u32, (u32)LANES(insert)(x, y, z, w, 32))
LANE_OP(bfi_64, u64, u64, u64, u32, u32, LANES(insert)(x, y, z, w, 64))

/* fns: find the n-th set bit from base, upwards for positive offsets -- ISA 9.7.1 */
static inline u32 LANES(find_nth)(u32 mask, u32 base, s32 offset)
{
    if (base > 31) return UINT32_MAX;
    if (offset == 0) return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    s64 wanted = offset > 0 ? offset : -(s64)offset;
    for (int place = (int)base; place >= 0 && place < 32; place += step) {
        if ((mask >> place & 1) && --wanted == 0) return (u32)place;
    }
    return UINT32_MAX;
}
LANE_OP1(fns_32, u32, LANES(find_nth)(x, y, (s32)z))

static inline u32 LANES(byte_products)(u32 a, u32 b, u32 c, u64 kinds) /* kinds: 1 a signed, 2 b signed */
{
    for (int i = 0; i < 4; i++) {
        s32 x = kinds & 1 ? (int8_t)(a >> 8 * i) : (uint8_t)(a >> 8 * i);
        s32 y = kinds & 2 ? (int8_t)(b >> 8 * i) : (uint8_t)(b >> 8 * i);
        c += (u32)(x * y);
    }
    return c;
}
static inline u32 LANES(half_products)(u32 a, u32 b, u32 c, u64 kinds) /* and 4: the high bytes of b */
{
    b >>= kinds & 4 ? 16 : 0;
    for (int i = 0; i < 2; i++) {
        s32 x = kinds & 1 ? (int16_t)(a >> 16 * i) : (uint16_t)(a >> 16 * i);
        s32 y = kinds & 2 ? (int8_t)(b >> 8 * i) : (uint8_t)(b >> 8 * i);
        c += (u32)(x * y);
    }
    return c;
}
LANE_OP1(dp4a, u32, LANES(byte_products)(x, y, z, extra))
LANE_OP1(dp2a, u32, LANES(half_products)(x, y, z, extra))

/* szext, bmsk: .clamp limits at 32, .wrap takes amounts modulo 32 (extra 1) -- ISA 9.7.1 */
static inline u32 LANES(extend_from)(u32 a, u32 bits, u64 wraps, int is_signed)
{
    bits = wraps ? bits & 31 : bits;
    if (bits >= 32) return a;
    if (bits == 0) return 0;
    u32 mask = (1u << bits) - 1;
    return (a & mask) | (is_signed && (a >> (bits - 1) & 1) ? ~mask : 0);
}
static inline u32 LANES(bit_mask)(u32 from, u32 length, u64 wraps)
{
    if (wraps) {
        from &= 31;
        length &= 31;
    }
    if (from >= 32 || length == 0) return 0;
    return (length >= 32 ? ~0u : (1u << length) - 1) << from;
}
LANE_OP1(szext_u32, u32, LANES(extend_from)(x, y, extra, 0))
LANE_OP1(szext_s32, u32, LANES(extend_from)(x, y, extra, 1))
LANE_OP1(bmsk_32, u32, LANES(bit_mask)(x, y, extra))

static inline u64 LANES(look_up)(u64 a, u64 b, u64 c, u64 table)
{
    u64 result = 0;
    for (int i = 0; i < 8; i++) {
        u64 term = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        result |= table >> i & 1 ? term : 0;
    }
    return result;
}
LANE_OP1(lop3_32, u32, (u32)LANES(look_up)(x, y, z, extra))

/* shf: a is the low and b the high word -- ISA 9.7.8 */
static inline u32 LANES(funnel)(u32 a, u32 b, u32 amount, u64 wraps, int is_left)
{
    amount = wraps ? amount & 31 : amount > 32 ? 32 : amount;
    u64 both = (u64)b << 32 | a;
    return is_left ? (u32)(both << amount >> 32) : (u32)(both >> amount);
}
LANE_OP1(shf_l, u32, LANES(funnel)(x, y, z, extra, 1))
LANE_OP1(shf_r, u32, LANES(funnel)(x, y, z, extra, 0))

/* prmt: extra is the mode -- ISA 9.7.9 */
enum { PRMT_GENERIC, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
static inline u32 LANES(permute)(u32 a, u32 b, u32 selector, u64 mode)
{
    static const uint16_t selectors[7][4] = {
        [PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
        [PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
    };
    u64 bytes = (u64)b << 32 | a;
    u32 choice = mode == PRMT_GENERIC ? selector : selectors[mode][selector & 3], result = 0;
    for (int i = 0; i < 4; i++) {
        u32 byte = (u32)(bytes >> 8 * (choice >> 4 * i & 7)) & 0xff;
        if (choice >> 4 * i & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}
LANE_OP1(prmt_32, u32, LANES(permute)(x, y, z, extra))

/* two 16-bit halves */
#define PAIR(low, high) ((u32)(u16)(low) | (u32)(u16)(high) << 16)
#define LOW(v)          ((s16)(v))
#define HIGH(v)         ((s16)((v) >> 16))
#define MIN(a, b)       ((a) < (b) ? (a) : (b))
#define MAX(a, b)       ((a) > (b) ? (a) : (b))
LANE_OP1(add_16x2, u32, PAIR(x + y, (x >> 16) + (y >> 16)))
LANE_OP1(sub_16x2, u32, PAIR(x - y, (x >> 16) - (y >> 16)))
LANE_OP1(min_s16x2, u32, PAIR(MIN(LOW(x), LOW(y)), MIN(HIGH(x), HIGH(y))))
LANE_OP1(max_s16x2, u32, PAIR(MAX(LOW(x), LOW(y)), MAX(HIGH(x), HIGH(y))))
LANE_OP1(min_u16x2, u32, PAIR(MIN((u16)x, (u16)y), MIN(x >> 16, y >> 16)))
LANE_OP1(max_u16x2, u32, PAIR(MAX((u16)x, (u16)y), MAX(x >> 16, y >> 16)))
LANE_OP1(min_relu_s16x2, u32, PAIR(MAX(MIN(LOW(x), LOW(y)), 0), MAX(MIN(HIGH(x), HIGH(y)), 0)))
LANE_OP1(max_relu_s16x2, u32, PAIR(MAX(MAX(LOW(x), LOW(y)), 0), MAX(MAX(HIGH(x), HIGH(y)), 0)))
LANE_OP1(min_relu_s32, s32, MAX(MIN(x, y), 0))
LANE_OP1(max_relu_s32, s32, MAX(MAX(x, y), 0))

LANE_OP(slct_s32_2, u16, u16, u16, s32, s32, z >= 0 ? x : y)
LANE_OP(slct_s32_4, u32, u32, u32, s32, s32, z >= 0 ? x : y)
LANE_OP(slct_s32_8, u64, u64, u64, s32, s32, z >= 0 ? x : y)
/* extra: .ftz, a negative subnormal counts as zero */
#define AT_LEAST_ZERO(z) ((z) >= 0 || (extra && (z) > -0x1p-126f))
LANE_OP(slct_f32_2, u16, u16, u16, float, s32, AT_LEAST_ZERO(z) ? x : y)
LANE_OP(slct_f32_4, u32, u32, u32, float, s32, AT_LEAST_ZERO(z) ? x : y)
LANE_OP(slct_f32_8, u64, u64, u64, float, s32, AT_LEAST_ZERO(z) ? x : y)

/* Choosing: by width for what has no sign, else by type. */
#define BY_WIDTH(name)                                                                                       \
    (bytes == 2 ? LANES(name##_u16) : bytes == 4 ? LANES(name##_u32) : bytes == 8 ? LANES(name##_u64) : NULL)
#define BY_TYPE(name)                                                                                        \
    (bytes == 2   ? is_signed ? LANES(name##_s16) : LANES(name##_u16)                                        \
       : bytes == 4 ? is_signed ? LANES(name##_s32) : LANES(name##_u32)                                      \
       : bytes == 8 ? is_signed ? LANES(name##_s64) : LANES(name##_u64)                                      \
                    : NULL)
#define BY_TYPE_32(name) (bytes != 4 ? NULL : is_signed ? LANES(name##_s32) : LANES(name##_u32))
#define BY_TYPE_WIDE(name)                                                                                   \
    (bytes == 2   ? is_signed ? LANES(name##_s16) : LANES(name##_u16)                                        \
       : bytes == 4 ? is_signed ? LANES(name##_s32) : LANES(name##_u32)                                      \
                    : NULL)
#define BY_TYPE_LONG(name)                                                                                   \
    (bytes == 4   ? is_signed ? LANES(name##_s32) : LANES(name##_u32)                                        \
       : bytes == 8 ? is_signed ? LANES(name##_s64) : LANES(name##_u64)                                      \
                    : NULL)
#define BY_WIDTH_LONG(name) (bytes == 4 ? LANES(name##_32) : bytes == 8 ? LANES(name##_64) : NULL)

static lane_op LANES(integer_pair)(enum ptx_opcode opcode, bool is_signed)
{
    switch ((int)opcode) {
    case PTX_OP_ADD:
        return LANES(add_16x2);
    case PTX_OP_SUB:
        return LANES(sub_16x2);
    case PTX_OP_MIN:
        return is_signed ? LANES(min_s16x2) : LANES(min_u16x2);
    case PTX_OP_MAX:
        return is_signed ? LANES(max_s16x2) : LANES(max_u16x2);
    }
    return NULL;
}

static lane_op LANES(integer_sum)(bool is_add, unsigned bytes, bool is_signed, unsigned form)
{
    if (form & LANE_SAT)
        return bytes == 4 && is_signed ? is_add ? LANES(add_sat_s32) : LANES(sub_sat_s32) : NULL;
    return is_add ? BY_WIDTH(add) : BY_WIDTH(sub);
}

static lane_op LANES(integer_carry)(bool is_add, unsigned bytes, unsigned form)
{
    if (bytes == 4 && (form & LANE_CARRY)) return is_add ? LANES(carry_add_u32) : LANES(carry_sub_u32);
    if (bytes == 8 && (form & LANE_CARRY)) return is_add ? LANES(carry_add_u64) : LANES(carry_sub_u64);
    if (bytes == 4) return is_add ? LANES(addc_u32) : LANES(subc_u32);
    return bytes != 8 ? NULL : is_add ? LANES(addc_u64) : LANES(subc_u64);
}

static lane_op LANES(integer_product)(enum ptx_opcode opcode, unsigned bytes, bool is_signed, unsigned form)
{
    switch ((int)opcode) {
    case PTX_OP_MUL:
        return form & LANE_WIDE ? BY_TYPE_WIDE(mul_wide)
               : form & LANE_HI ? BY_TYPE(mul_hi)
                                : BY_WIDTH(mul_lo);
    case PTX_OP_MAD:
        if (form & LANE_SAT) return bytes == 4 && is_signed && form & LANE_HI ? LANES(mad_hi_sat_s32) : NULL;
        return form & LANE_WIDE ? BY_TYPE_WIDE(mad_wide)
               : form & LANE_HI ? BY_TYPE(mad_hi)
                                : BY_WIDTH(mad_lo);
    case PTX_OP_MUL24:
        return form & LANE_HI ? BY_TYPE_32(mul24_hi) : BY_TYPE_32(mul24_lo);
    case PTX_OP_MAD24:
        return form & LANE_SAT ? NULL : form & LANE_HI ? BY_TYPE_32(mad24_hi) : BY_TYPE_32(mad24_lo);
    }
    return NULL;
}

static lane_op LANES(integer_select)(unsigned bytes, bool by_float)
{
    if (by_float)
        return bytes == 2   ? LANES(slct_f32_2)
               : bytes == 4 ? LANES(slct_f32_4)
               : bytes == 8 ? LANES(slct_f32_8)
                            : NULL;
    return bytes == 2   ? LANES(slct_s32_2)
           : bytes == 4 ? LANES(slct_s32_4)
           : bytes == 8 ? LANES(slct_s32_8)
                        : NULL;
}

/* What has one width or a table of few; the rest is in the caller. */
static lane_op LANES(integer_bits)(enum ptx_opcode opcode, unsigned bytes, bool is_signed, unsigned form)
{
    switch ((int)opcode) {
    case PTX_OP_POPC:
        return BY_WIDTH_LONG(popc);
    case PTX_OP_CLZ:
        return BY_WIDTH_LONG(clz);
    case PTX_OP_BREV:
        return BY_WIDTH_LONG(brev);
    case PTX_OP_BFI:
        return BY_WIDTH_LONG(bfi);
    case PTX_OP_BFE:
        return BY_TYPE_LONG(bfe);
    case PTX_OP_BFIND:
        return BY_TYPE_LONG(bfind);
    case PTX_OP_FNS:
        return LANES(fns_32);
    case PTX_OP_DP4A:
        return LANES(dp4a);
    case PTX_OP_DP2A:
        return LANES(dp2a);
    case PTX_OP_SZEXT:
        return BY_TYPE_32(szext);
    case PTX_OP_BMSK:
        return LANES(bmsk_32);
    case PTX_OP_LOP3:
        return LANES(lop3_32);
    case PTX_OP_PRMT:
        return LANES(prmt_32);
    case PTX_OP_SHF:
        return form & LANE_LEFT ? LANES(shf_l) : LANES(shf_r);
    case PTX_OP_AND:
        return BY_WIDTH(and);
    case PTX_OP_OR:
        return BY_WIDTH(or);
    case PTX_OP_XOR:
        return BY_WIDTH(xor);
    case PTX_OP_NOT:
        return BY_WIDTH(not );
    case PTX_OP_CNOT:
        return BY_WIDTH(cnot);
    case PTX_OP_SHL:
        return BY_WIDTH(shl);
    case PTX_OP_SHR:
        return BY_TYPE(shr);
    }
    return NULL;
}

lane_op LANES(lanes_integer)(enum ptx_opcode opcode, enum ptx_type type, enum ptx_type second, unsigned form);
lane_op LANES(lanes_integer)(enum ptx_opcode opcode, enum ptx_type type, enum ptx_type second, unsigned form)
{
    unsigned bytes = ptx_type_bytes(type);
    bool is_signed = ptx_type_is_signed(type);
    if (type == PTX_S16X2 && form & LANE_RELU)
        return opcode == PTX_OP_MIN ? LANES(min_relu_s16x2) : LANES(max_relu_s16x2);
    if (type == PTX_U16X2 || type == PTX_S16X2) return LANES(integer_pair)(opcode, type == PTX_S16X2);
    if (form & LANE_RELU)
        return type != PTX_S32 ? NULL : opcode == PTX_OP_MIN ? LANES(min_relu_s32) : LANES(max_relu_s32);
    switch ((int)opcode) {
    case PTX_OP_ADD:
        return LANES(integer_sum)(true, bytes, is_signed, form);
    case PTX_OP_SUB:
        return LANES(integer_sum)(false, bytes, is_signed, form);
    case PTX_OP_ADDC:
        return LANES(integer_carry)(true, bytes, form);
    case PTX_OP_SUBC:
        return LANES(integer_carry)(false, bytes, form);
    case PTX_OP_NEG:
        return BY_WIDTH(neg);
    case PTX_OP_ABS:
        return BY_WIDTH(abs);
    case PTX_OP_MIN:
        return BY_TYPE(min);
    case PTX_OP_MAX:
        return BY_TYPE(max);
    case PTX_OP_DIV:
        return BY_TYPE(div);
    case PTX_OP_REM:
        return BY_TYPE(rem);
    case PTX_OP_SAD:
        return BY_TYPE(sad);
    case PTX_OP_SLCT:
        return LANES(integer_select)(bytes, second == PTX_F32);
    }
    lane_op op = LANES(integer_product)(opcode, bytes, is_signed, form);
    return op != NULL ? op : LANES(integer_bits)(opcode, bytes, is_signed, form);
}
