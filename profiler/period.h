/* SPDX-License-Identifier: Apache-2.0
 * Has the launch stream become periodic? Then a stretch of it stands for the rest of the run and recording
 * can stop. Exact: the last launches are compared one by one (Z function), not by a hash of many. A check
 * costs time linear in the launches so far and comes each time their number has grown by a sixteenth, so a
 * launch costs O(16) on average. */
#ifndef KFUSE_PROFILER_PERIOD_H
#define KFUSE_PROFILER_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

/* Periodic: the last max(PERIOD_REPEATS * period, PERIOD_LAUNCHES) launches repeat with that period. The
 * floor is there because initialisation and inner solver loops repeat one or two kernels for some hundred
 * launches, too. */
enum { PERIOD_REPEATS = 4, PERIOD_LAUNCHES = 1000 };

struct period { /* zeroed at first */
    uint64_t *signatures;
    uint32_t count, capacity, next_check;
};
/* Notes one launch. Returns the period (in launches) when a check finds one, else 0; also 0 when memory is
 * out. */
uint32_t period_note(struct period *period, uint64_t signature);
/* The smallest period of the end of a sequence, or 0. */
uint32_t period_find(const uint64_t *signatures, uint32_t count);
void period_free(struct period *period);

#endif
