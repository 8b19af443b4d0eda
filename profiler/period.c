/* SPDX-License-Identifier: Apache-2.0
 * Finds the period of a sequence's end with the Z function of the reversed sequence. */
#include "profiler/period.h"

#include <stdlib.h>

uint32_t period_find(const uint64_t *signatures, uint32_t count)
{
    uint32_t longest = count / PERIOD_REPEATS, found = 0;
    if (count < PERIOD_LAUNCHES) return 0;
    uint32_t *match = malloc((longest + 1) * sizeof *match);
    if (!match) return 0;
    const uint64_t *last = signatures + count - 1; /* last[-i]: the reversed sequence */
    /* match[p]: how far last[-p - i] == last[-i]; [left, right) is the window of the Z algorithm */
    for (uint32_t p = 1, left = 0, right = 0; p <= longest && !found; p++) {
        uint32_t length = 0;
        if (p < right) length = match[p - left] < right - p ? match[p - left] : right - p;
        while (p + length < count && *(last - p - length) == *(last - length)) length++;
        match[p] = length;
        if (p + length > right) {
            left = p;
            right = p + length;
        }
        uint32_t stretch = p * PERIOD_REPEATS > PERIOD_LAUNCHES ? p * PERIOD_REPEATS : PERIOD_LAUNCHES;
        if (p + length >= stretch) found = p;
    }
    free(match);
    return found;
}

static bool grow(struct period *period)
{
    uint32_t capacity = period->capacity ? period->capacity * 2 : PERIOD_LAUNCHES;
    uint64_t *grown = realloc(period->signatures, capacity * sizeof *grown);
    if (!grown) return false;
    period->signatures = grown;
    period->capacity = capacity;
    return true;
}

uint32_t period_note(struct period *period, uint64_t signature)
{
    if (period->count == period->capacity && !grow(period)) return 0;
    period->signatures[period->count++] = signature;
    if (period->count < PERIOD_LAUNCHES || period->count < period->next_check) return 0;
    period->next_check = period->count + period->count / 16;
    return period_find(period->signatures, period->count);
}

void period_free(struct period *period)
{
    free(period->signatures);
    *period = (struct period){0};
}
