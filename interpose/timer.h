/* SPDX-License-Identifier: Apache-2.0
 * The timer: a thread that releases what has been held too long, so that a host which polls memory cannot
 * hang. */
#ifndef KFUSE_INTERPOSE_TIMER_H
#define KFUSE_INTERPOSE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Looks at the oldest held launch: the first call of release is with a ticket that timer_held has been told.
 */
struct timer_source {
    uint64_t (*oldest)(void);         /* ticket of the oldest held launch, 0: nothing is held */
    void (*release)(uint64_t ticket); /* everything, if that launch is still the oldest */
};
/* Starts the thread at the first call; false when it cannot be. */
bool timer_start(const struct timer_source *source);
/* Something is held that was not before: wakes the thread if it sleeps. Costs one load otherwise. */
void timer_held(void);
/* In the child of a fork there is no thread. */
void timer_fork_child(void);

#endif
