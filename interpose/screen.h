/* SPDX-License-Identifier: Apache-2.0
 * Screening: whether a group's fused kernel takes longer in its first uses than its members took when the program was
 * recorded. Measuring (measure.h) compares one group at a time, and needs several uses for each stretch: of a program of a few
 * dozen time steps with many groups it reaches few. A kernel that takes half as long again shows in one launch.
 *
 * Of each group that has no rounds yet, and whose uses take long, LOOKS launches of the fused kernel lie between two events, but for
 * the first, which may load code. The shorter time counts, as what comes between the events can only add. Where it is longer than the
 * members' recorded time by a tenth and NOISE_NS, the group is suspected: it rests until a round of measuring says otherwise.
 *
 * How it could be wrong. Other streams' work, a device that is shared or a clock that has changed make the kernel slower, and
 * would make its members slower, too: the group rests for a while, and loses no more than it would have gained. A kernel whose
 * time depends on data may have had less to do when it was recorded: the same. What a use costs outside of its launch (copies back,
 * rematerialisations) is not seen here: rounds see it. No launch is changed, and nothing is waited for: the rules for events in
 * streams are measure.h's (measure_may_mark).
 *
 * With the queue's lock, all but the start. */
#ifndef KFUSE_INTERPOSE_SCREEN_H
#define KFUSE_INTERPOSE_SCREEN_H

#include "common/plan.h"
#include "interpose/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* After measure_start. The plan must stay. False when memory is out. */
bool screen_start(const struct plan *plan);

/* Groups that are still to be looked at. */
extern uint32_t screen_open;
static inline bool screen_is_on(void)
{
    return __builtin_expect(screen_open != 0, 0);
}
/* Before and behind the launch of a group's fused kernel. Begin is true where the launch is looked at, which end needs. */
bool screen_begin(uint32_t group, CUstream stream);
void screen_end(CUstream stream);
/* Looks whose events are there: a group that takes longer than its members did, and how much in ns; false: none. */
bool screen_next_suspect(uint32_t *group, double *longer_ns);

bool screen_has_events(void);
/* The events are gone with their context; after a fork there are none. */
void screen_forget(void);

#endif
