/* SPDX-License-Identifier: Apache-2.0
 * Intervals of mathematical integers, beside every affine form: most proofs that nothing wraps need no more. Bounds
 * are kept within +-2^100, so that one operation on two intervals cannot leave 128 bits unseen. */
#ifndef KFUSE_FUSER_ACCESS_RANGE_H
#define KFUSE_FUSER_ACCESS_RANGE_H

#include <stdbool.h>

typedef __int128 wide;

struct range {
    wide low, high;
};

#define RANGE_LIMIT ((wide)1 << 100)

static inline wide wide_power(unsigned exponent)
{
    return (wide)1 << exponent;
}

static inline wide wide_floor_divide(wide value, wide divisor) /* divisor > 0 */
{
    return value / divisor - (value % divisor < 0);
}

static inline bool range_is_point(struct range range)
{
    return range.low == range.high;
}

static inline struct range range_point(wide value)
{
    return (struct range){value, value};
}

static inline bool range_is_sane(struct range range)
{
    return range.low <= range.high && range.low >= -RANGE_LIMIT && range.high <= RANGE_LIMIT;
}

static inline struct range range_add(struct range a, struct range b)
{
    return (struct range){a.low + b.low, a.high + b.high};
}

static inline struct range range_subtract(struct range a, struct range b)
{
    return (struct range){a.low - b.high, a.high - b.low};
}

static inline struct range range_union(struct range a, struct range b)
{
    return (struct range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* False when a bound leaves the limit. */
static inline bool range_scale(struct range a, wide factor, struct range *result)
{
    wide low, high;

    if (__builtin_mul_overflow(a.low, factor, &low) || __builtin_mul_overflow(a.high, factor, &high))
        return false;
    *result = factor < 0 ? (struct range){high, low} : (struct range){low, high};
    return range_is_sane(*result);
}

#endif
