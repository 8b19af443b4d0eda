/* SPDX-License-Identifier: Apache-2.0
 * Launches in the default stream of the thread that makes them (CU_STREAM_PER_THREAD): held, and in chains, where the user asks
 * for it (kfuse run --own-stream).
 *
 * Another thread has no name for that stream. So what is held there, or is away, is LENT to the legacy default stream when the
 * timer, the exit handler or a second thread hands it to the driver. The legacy stream waits for all that blocking streams have,
 * and what comes to them later waits for it (CUDA Runtime API, "Stream synchronization behavior"): the launch is ordered as it was.
 * A wait of the host for the own stream is nothing to the legacy one. So the thread's next wait, query, event or copy comes behind
 * an event of the legacy stream, for which its own one waits (own_stream_join).
 *
 * One thread works with the device meanwhile, and the program has made no stream: queue_bars. A second thread's first call that
 * may give the device work, and the first stream, end it; what is held then goes to the driver first.
 *
 * How it could hang, and why it is not on by itself. The legacy stream orders more than the own one does. A kernel that the plan
 * does not know may wait, in the own stream, for work that a second thread or a new stream is given later. That work waits for
 * what was lent, and this for the kernel. No program is known that does so. How it could be slow: no launch takes the fast path
 * (hook_launch.c) while it is on, and the device may run what was lent later than the timer would have it.
 *
 * KFUSE_OWN_STREAM: 1: on. Recordings made with it say so of their launches. */
#ifndef KFUSE_INTERPOSE_OWN_STREAM_H
#define KFUSE_INTERPOSE_OWN_STREAM_H

#include "interpose/entry.h"

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool own_stream_is_on, own_stream_is_lent;
/* This one is the first thread of the program that worked with the device: what is held in an own stream is its. */
extern __thread bool own_stream_is_here;

/* Before anything else, where a plan is replayed. */
void own_stream_start(void);
/* Nothing more is held in such a stream. */
void own_stream_end(const char *reason);
static inline bool own_stream_on(void)
{
    return __builtin_expect(atomic_load_explicit(&own_stream_is_on, memory_order_relaxed), 0);
}
static inline bool own_stream_has_lent(void)
{
    return __builtin_expect(atomic_load_explicit(&own_stream_is_lent, memory_order_relaxed), 0);
}

/* It goes to the legacy stream. */
CUstream own_stream_lend(void);
/* Where this thread gives the device what was held, or is away, in the stream. */
static inline CUstream own_stream_here(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD && !own_stream_is_here ? own_stream_lend() : stream;
}
/* What others have handed to the driver is in the own stream, too. With the queue's lock, in the thread whose stream it is;
 * elsewhere nothing is done. */
void own_stream_join(void);

#endif
