/* SPDX-License-Identifier: Apache-2.0
 * Waits that are passed through (kfuse run --through-sync): the program's wait for the device returns at once, so that
 * launches before and behind it can be fused and the device never runs dry. The user asks for it, as a program that reads the
 * clock around a wait then measures nothing.
 *
 * A wait may be passed only where nobody can tell, but by a clock. The host sees device memory through calls that are
 * ordered behind the work: one stream, one thread, one context, nothing shared with others (the same as for deferred
 * stores, deferred.h). All that is held or under way since the last real wait are launches of the plan, whose guards have
 * shown that they reach plain device memory alone, and that print and trap nowhere. Anything else is UNKNOWN until the
 * next real wait: other launches, copies of other memory that do not wait themselves, sets of it, events (a program may ask for
 * them behind the wait), errors, and whatever may give the device work (queue_flush).
 *
 * A wait that was passed is OWED. It is made up for before a call that could tell: one that asks the driver how far it is, that
 * is not known, or that is made in another context; before any other launch; and when a second thread, stream or a library that
 * shares memory comes. Copies that wait in the stream themselves are real waits.
 *
 * How it could give a wrong result: by an observer that makes no call and is no clock. The host's view of managed or mapped
 * memory is one: a program that has managed memory, or memory of a pool, passes nothing. How it could hang: by
 * waiting for work that waits for the host; no wait is owed any more when such work may come. What is under way is bounded: by
 * so many waits, and by so long on the host's clock. An error of the device comes with the next call that may report one. */
#ifndef KFUSE_INTERPOSE_THROUGH_H
#define KFUSE_INTERPOSE_THROUGH_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool through_is_on, through_is_owed;
/* Before anything else, where a plan is replayed: reads KFUSE_THROUGH_SYNC. */
void through_start(void);
/* Nothing is passed any more. */
void through_end(const char *reason);

static inline bool through_on(void)
{
    return __builtin_expect(atomic_load_explicit(&through_is_on, memory_order_relaxed), 0);
}
static inline bool through_owes(void)
{
    return __builtin_expect(atomic_load_explicit(&through_is_owed, memory_order_relaxed), 0);
}
/* Work of which the plan does not know what it does: behind whatever the call has waited for first. */
void through_meet_unknown(void);
bool through_has_unknown(void);
/* A wait, nothing else standing against it: whether it is passed. By the one thread that works with the device, with the
 * queue's lock. */
bool through_pass(void);
/* All of the device's work is done. By that thread. */
void through_waited(void);
/* What was passed is made up for, by any thread with the queue's lock: another one may have given the device work meanwhile. */
void through_settled(void);
void through_fork_child(void);

#endif
