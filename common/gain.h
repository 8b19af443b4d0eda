/* SPDX-License-Identifier: Apache-2.0
 * What a group gains, from measured rounds: a mean with an interval of 95%. Trimmed: of n rounds n / 6 at
 * each end are left out of the mean, and count in the variance as their neighbours do (Yuen 1974, "The
 * two-sample trimmed t for unequal population variances", for one sample), since a pause of the host falls
 * into one stretch or the other. */
#ifndef KFUSE_COMMON_GAIN_H
#define KFUSE_COMMON_GAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { GAIN_LEAST = 3, GAIN_MOST = 32 }; /* rounds for a verdict; rounds that are looked at */

struct gain {
    double mean, low, high; /* in the unit of the rounds; without two rounds the interval is infinite */
    uint32_t count;
};

/* At most GAIN_MOST rounds. resolution: the interval reaches at least so far to both sides. */
struct gain gain_of(const double *rounds, uint32_t count, double resolution);
static inline bool gain_loses(const struct gain *gain)
{
    return gain->count >= GAIN_LEAST && gain->high < 0;
}
static inline bool gain_wins(const struct gain *gain)
{
    return gain->count >= GAIN_LEAST && gain->low > 0;
}

#endif
