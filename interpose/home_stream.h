/* SPDX-License-Identifier: Apache-2.0
 * Deferred stores (deferred.h) in a program that has made streams of its own. All that are pending belong to one stream, their
 * HOME: that of their uses. Rematerialisations go there.
 *
 * Why nobody sees them stale. Whoever gives other streams work that may touch a stale range, or write what the rematerialisation
 * reads, comes to the queue first. The store is materialised then, in its home, and the host waits for it before the call goes
 * on. So no event and no wait of the program's need be followed: what is stale is made before anybody else's work is in the
 * driver. A rematerialisation may be under way for a home's own sake, too; until it is known to be done the home is UNSETTLED, and
 * work for other streams waits for it likewise (home_meet).
 *
 * Why it does not hang. The host waits for an event behind the rematerialisation. What stands before that in the home must need
 * neither the host nor another stream's later work. So stores are deferred only in a stream that is CLEAN: all work that may wait
 * for somebody, and may stand before new work there, is known to be done. Work that may wait: launches that the plan does not
 * know, host functions, graphs, and all calls that the queue does not know; waits for events, unless all is clean. Whatever is pending is materialised
 * before such work, so it stands in front of it. Copies, sets and launches of the plan wait for nobody by themselves. They may
 * wait in the legacy default stream for what blocking streams had before, and blocking streams for them.
 *  - All is clean when the context has been synchronised, until the next work that may wait.
 *  - A stream is clean when the host has waited for it, until the next work that may wait, or the next work in the legacy stream
 *    that the host has not seen done. So it is when it and the legacy stream are found empty.
 * The legacy stream itself may wait for any blocking stream. It is clean only where all is.
 *
 * How it could be slow: by waits of the host where streams work side by side on what is stale. Each such wait comes with a
 * materialisation, which takes credit from the group (deferred.c).
 *
 * Before the program makes its first stream nothing of this applies: all is in the legacy default stream. With the queue's lock and
 * its context current. */
#ifndef KFUSE_INTERPOSE_HOME_STREAM_H
#define KFUSE_INTERPOSE_HOME_STREAM_H

#include "interpose/entry.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Where a call gives work to a stream that is not known. */
#define HOME_ANY ((CUstream)UINTPTR_MAX)

extern atomic_bool home_is_on; /* the program has made a stream, and stores may be deferred */
extern atomic_bool
    home_is_unsettled; /* a rematerialisation may be under way that others have not waited for */
static inline bool home_on(void)
{
    return __builtin_expect(atomic_load_explicit(&home_is_on, memory_order_relaxed), 0);
}
static inline bool home_unsettled(void)
{
    return __builtin_expect(atomic_load_explicit(&home_is_unsettled, memory_order_relaxed), 0);
}

/* The first stream is about to be made; nothing is pending. */
void home_start(void);
/* No store is deferred any more. */
void home_end(void);
/* A store may be deferred by a use in this stream; pending: others are. */
bool home_fits(CUstream stream, bool is_pending);
/* It has been. */
void home_take(CUstream stream);
/* Rematerialisations have been launched. */
void home_materialised(void);
/* Work is about to go to the stream, all that it may touch being materialised. is_done: the call waits for it. */
void home_meet(CUstream stream, bool is_done);
/* It may wait for somebody. */
void home_meet_unknown(void);
/* A wait for an event is about to go to the stream: whether it may stand before a rematerialisation, and wait for somebody. Where
 * all is clean, so is what the event stands behind: no wait is for a record that is still to come. */
bool home_may_wait(CUstream stream);
/* What rematerialisations make is there, for whoever is ordered behind by the host alone. */
void home_settle(void);
/* The host has waited for the stream, or for the context. */
void home_waited(CUstream stream, bool for_all);
/* The context is gone, or this is the child of a fork. */
void home_forget(void);

#endif
