/* SPDX-License-Identifier: Apache-2.0
 * See cadence.h. */
#include "interpose/cadence.h"

void cadence_note(struct cadence *cadence, uint64_t launches)
{
    if (cadence->count < CADENCE_MOST) cadence->launches[cadence->count++] = launches;
}

bool cadence_alike(const struct cadence *cadence, uint32_t length, uint32_t stretches)
{
    if (!length || cadence->count < length * stretches) return true;
    for (uint32_t i = 1; i < stretches; i++) {
        const uint64_t *first = &cadence->launches[i * length];
        if (first[length - 1] - first[0] != cadence->launches[length - 1] - cadence->launches[0])
            return false;
    }
    return true;
}

static uint64_t between(const struct cadence *cadence, uint32_t use)
{
    return cadence->launches[use + 1] - cadence->launches[use];
}

static bool comes_again(const struct cadence *cadence, uint32_t first, uint32_t end, uint32_t period)
{
    for (uint32_t use = first; use + period + 1 < end; use++)
        if (between(cadence, use) != between(cadence, use + period)) return false;
    return true;
}

uint32_t cadence_period(const struct cadence *cadence, uint32_t first, uint32_t end)
{
    if (end > cadence->count) end = cadence->count;
    for (uint32_t period = 1; first + period + 1 < end; period++)
        if (comes_again(cadence, first, end, period)) return period;
    return 0;
}
