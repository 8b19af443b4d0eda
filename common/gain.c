/* SPDX-License-Identifier: Apache-2.0
 * Trimmed means and their intervals; see gain.h. */
#include "common/gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quantiles 0.975 of Student's t, by degrees of freedom from 1 on. */
static const double student[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
                                 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
                                 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040};

/* Newton's method: the preloaded library does without the mathematics library. */
static double square_root(double x)
{
    enum { STEPS = 64 };
    double root = x > 1 ? x : 1;
    if (!(x > 0)) return 0;
    for (int i = 0; i < STEPS; i++) root = (root + x / root) / 2;
    return root;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* With those that are left out counted as the next one that is not. */
static double winsorised_variance(const double *sorted, uint32_t count, uint32_t out)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i < out ? out : i >= count - out ? count - out - 1 : i;
        sum += sorted[at];
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i < out ? out : i >= count - out ? count - out - 1 : i;
        double away = sorted[at] - sum / count;
        squares += away * away;
    }
    return squares / (count - 1);
}

struct gain gain_of(const double *rounds, uint32_t count, double resolution)
{
    double sorted[GAIN_MOST], sum = 0;
    struct gain gain = {.low = -INFINITY, .high = INFINITY, .count = count};
    if (!count || count > GAIN_MOST) return gain;
    memcpy(sorted, rounds, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    uint32_t out = count / 6, kept = count - 2 * out;
    for (uint32_t i = out; i < count - out; i++) sum += sorted[i];
    gain.mean = sum / kept;
    if (count < 2) return gain;
    double share = (double)kept / count;
    double error = square_root(winsorised_variance(sorted, count, out) / count) / share;
    double reach = student[kept - 2] * error;
    if (reach < resolution) reach = resolution;
    gain.low = gain.mean - reach;
    gain.high = gain.mean + reach;
    return gain;
}
