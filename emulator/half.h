/* SPDX-License-Identifier: Apache-2.0
 * f16 and bf16 values: to double exactly, and from double with one rounding. */
#ifndef KFUSE_EMULATOR_HALF_H
#define KFUSE_EMULATOR_HALF_H

#include <stdint.h>
#include <string.h>

enum half_format { HALF_F16, HALF_BF16 };
enum half_rounding { HALF_RN, HALF_RZ, HALF_RM, HALF_RP, HALF_RNA };

enum { /* bits of the significand with the hidden one; exponent of a subnormal's lowest bit */
       HALF_F16_PRECISION = 11,
       HALF_F16_LOWEST = -24,
       HALF_BF16_PRECISION = 8,
       HALF_BF16_LOWEST = -133,
};

static inline double half_power(int exponent) /* 2^exponent, in double's normal range */
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double half_value(uint16_t bits, enum half_format format)
{
    int precision = format == HALF_F16 ? HALF_F16_PRECISION : HALF_BF16_PRECISION;
    int lowest = format == HALF_F16 ? HALF_F16_LOWEST : HALF_BF16_LOWEST;
    int fraction_bits = precision - 1, exponent = (bits & 0x7fff) >> fraction_bits;
    int fraction = bits & ((1 << fraction_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (0x7fff >> fraction_bits)) return fraction ? __builtin_nan("") : sign * __builtin_inf();
    if (exponent == 0) return sign * fraction * half_power(lowest);
    return sign * (fraction + (1 << fraction_bits)) * half_power(lowest + exponent - 1);
}

/* Whether the kept part grows by one: rest is what was cut, half its middle. */
static inline int half_rounds_up(uint64_t kept, uint64_t rest, uint64_t middle, int is_negative,
                                 uint64_t rounding)
{
    switch ((enum half_rounding)rounding) {
    case HALF_RN:
        return rest > middle || (rest == middle && (kept & 1));
    case HALF_RZ:
        return 0;
    case HALF_RM:
        return is_negative && rest != 0;
    case HALF_RP:
        return !is_negative && rest != 0;
    case HALF_RNA:
        return rest >= middle;
    }
    return 0;
}

static inline uint16_t half_round(double value, enum half_format format, uint64_t rounding)
{
    int precision = format == HALF_F16 ? HALF_F16_PRECISION : HALF_BF16_PRECISION;
    int lowest = format == HALF_F16 ? HALF_F16_LOWEST : HALF_BF16_LOWEST;
    uint64_t infinity = format == HALF_F16 ? 0x7c00 : 0x7f80, bits;
    memcpy(&bits, &value, sizeof bits);
    int is_negative = (int)(bits >> 63), exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint16_t sign = is_negative ? 0x8000 : 0;
    if (value != value) return 0x7fff;
    if (exponent == 1024) return (uint16_t)(sign | infinity);
    if (exponent == -1023) /* zero; a subnormal double counts as the least normal one, which rounds alike */
        exponent = -1022, bits = bits << 1 ? 1 : 0;
    else
        bits = (bits & 0xfffffffffffff) | 1ull << 52;
    int unit = exponent - precision + 1 > lowest ? exponent - precision + 1 : lowest;
    int cut = unit - (exponent - 52);
    if (cut > 60) {
        cut = 60;
        bits = bits != 0;
    }
    uint64_t kept = bits >> cut, rest = bits & ((1ull << cut) - 1);
    kept += (uint64_t)half_rounds_up(kept, rest, 1ull << (cut - 1), is_negative, rounding);
    uint64_t code = ((uint64_t)(unit - lowest) << (precision - 1)) + kept;
    if (code >= infinity)
        code = rounding == HALF_RN || rounding == HALF_RNA || rounding == (is_negative ? HALF_RM : HALF_RP)
                   ? infinity
                   : infinity - 1;
    return (uint16_t)(sign | code);
}

/* a + b rounded to odd: rounding the result again to fewer bits rounds the exact sum once. */
static inline double half_sum_odd(double a, double b)
{
    double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && error == error && (bits & 1) == 0 && (bits << 1 >> 53) != 0x7ff) {
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
        memcpy(&sum, &bits, sizeof bits);
    }
    return sum;
}

#endif
