/* SPDX-License-Identifier: Apache-2.0
 * The timer: a thread that releases what has been held too long, so that a host which polls memory cannot
 * hang. It is there while something is held, and shortly after (own_thread.h). */
#ifndef KFUSE_INTERPOSE_TIMER_H
#define KFUSE_INTERPOSE_TIMER_H

#include "interpose/own_thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Looks at the oldest held launch: the first call of release is with a ticket that timer_held has been told.
 */
struct timer_source {
    uint64_t (*oldest)(void);         /* ticket of the oldest held launch, 0: nothing is held */
    void (*release)(uint64_t ticket); /* everything, if that launch is still the oldest */
};
/* Once, before anything is held. Starts no thread. */
void timer_prepare(const struct timer_source *source);
/* Something is held that was not before; with the queue's lock. Costs one load while the thread runs. False:
 * there is no thread, and nothing may stay held. */
extern struct own_thread timer_thread;
static inline bool timer_held(void)
{
    return own_thread_needed(&timer_thread);
}
/* So often it looks; what is held is released after one to two such times. */
int64_t timer_period_ns(void);
/* In the child of a fork there is no thread. */
void timer_fork_child(void);

#endif
