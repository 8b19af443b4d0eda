/* SPDX-License-Identifier: Apache-2.0
 * How long launches wait in the driver for room in its queue. A host that is a thousand launches ahead of its device
 * waits at each further one until the device has done one of those before: that time is the device's, for work of before,
 * and says nothing of how fast the host could go on.
 *
 * A call that takes much longer than the shortest of its kind in this run waits, and a graph that takes much longer than its launches
 * would by themselves: graphs of a length may come when the queue is full, and never before. The first calls are timed for that, when
 * the queue has room; later ones while a round of measuring is under way (measure.h), by ATTENTION_MEASURE. */
#ifndef KFUSE_INTERPOSE_BLOCKED_H
#define KFUSE_INTERPOSE_BLOCKED_H

#include "interpose/shim.h"

#include <stdbool.h>
#include <stdint.h>

/* At start, with the plan; and when a round begins or ends. With the queue's lock. */
void blocked_start(void);
void blocked_watch(bool is_wanted);

enum {
    BLOCKED_LAUNCH,
    BLOCKED_GRAPH /* of one launch; behind it, of so many powers of two */,
    BLOCKED_KINDS = 8
};
void blocked_end_slowly(int64_t begun_ns, uint32_t kind, uint32_t launches);
/* Around the driver's call for a launch, by any thread. */
static inline int64_t blocked_begin(void)
{
    return shim_has_attention(ATTENTION_MEASURE) ? shim_now_ns() : 0;
}
static inline void blocked_end(int64_t begun_ns)
{
    if (begun_ns) blocked_end_slowly(begun_ns, BLOCKED_LAUNCH, 1);
}
/* The same for a graph of so many launches, which takes longer than one. */
static inline void blocked_end_graph(int64_t begun_ns, uint32_t launches)
{
    uint32_t kind = BLOCKED_GRAPH + (31 - (uint32_t)__builtin_clz(launches));
    if (begun_ns) blocked_end_slowly(begun_ns, kind, launches);
}

/* The host's clock, which stands still in a launch that waits. */
int64_t blocked_clock_ns(void);

#endif
