/* SPDX-License-Identifier: Apache-2.0
 * Deferred stores (deferred.h) in a program that has made streams of its own. All that are pending belong to one stream, their
 * HOME: that of their uses. Rematerialisations go there.
 *
 * A store is pending only while the device is CLEAN: all work, in any stream, that may wait for somebody is known to be done. Work
 * that may wait: launches that the plan does not know, host functions, graphs, and all calls that the queue does not know. Whatever
 * is pending is materialised before such work. Copies, sets and launches of the plan wait for nobody by themselves; an event is
 * waited for as it stands, so where all is clean, so is what it stands behind. Events of other processes end it all.
 *
 * Why nobody sees them stale. Other streams' work that was there before a use has not waited for anything since, so it is in no
 * order behind the use. Whoever gives other streams work after it that may touch a stale range, or write what the rematerialisation
 * reads, comes to the queue first. The store is materialised then, in its home, and the host waits for that before the call goes on.
 * So no event and no wait of the program's need be followed. A rematerialisation may be under way for the home's own sake, too;
 * until it is known to be done the home is UNSETTLED, and work for other streams waits for it likewise (home_meet).
 *
 * Why it does not hang. The host waits for an event behind the rematerialisation. All that stands before it is clean.
 *
 * How it is known. All streams that the program has made are. An event of ours behind such work tells of its stream, or of all
 * where the call's is not known; so does a wait of the program's for the stream, or the context. What other contexts do is not
 * followed: work there ends it all.
 *
 * How it could be slow: by waits of the host where streams work side by side on what is stale. Where such waits are frequent, no
 * store is deferred any more.
 *
 * Before the program makes its first stream all is in the legacy default stream. A rematerialisation that is under way there when it
 * does so is one that each new stream waits for (queue_new_stream); then no store is deferred any more.
 *
 * All with the queue's lock and its context current. */
#ifndef KFUSE_INTERPOSE_HOME_STREAM_H
#define KFUSE_INTERPOSE_HOME_STREAM_H

#include "interpose/entry.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Where a call gives work to a stream that is not known, or of another context. */
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

/* The first stream is about to be made; nothing is pending or under way. */
void home_start(void);
/* A stream has been made, or is about to go. */
void home_add_stream(CUstream stream);
void home_stream_gone(CUstream stream);
/* No store is deferred any more. */
void home_end(void);
/* A store may be deferred by a use in this stream; is_pending: others are. */
bool home_fits(CUstream stream, bool is_pending);
/* It has been. */
void home_take(CUstream stream);
/* Rematerialisations have been launched. */
void home_materialised(void);
/* The first stream is about to be made: home_looks_settled then tells of those before, in the legacy stream. */
void home_look_back(void);
/* They are done, as far as one can see without waiting. */
bool home_looks_settled(void);
/* Work is about to go to the stream, all that it may touch being materialised. */
void home_meet(CUstream stream);
/* It may wait for somebody. Nothing is pending. */
void home_meet_unknown(CUstream stream);
/* What rematerialisations make is there, for whoever is ordered behind by the host alone. */
void home_settle(void);
/* The same for a new stream, without a wait of the host. */
void home_settle_on_device(CUstream stream);
/* The thread that works with the device has waited for the stream, or for the context. */
void home_waited(CUstream stream, bool for_all);
/* No store is deferred any more, but what is pending goes on. */
void home_lose(void);
/* The context is gone, or this is the child of a fork. */
void home_forget(void);

#endif
