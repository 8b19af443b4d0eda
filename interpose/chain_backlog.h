/* SPDX-License-Identifier: Apache-2.0
 * Whether the device is so far behind the host that a graph of few launches (chain.h) could only lose. A graph saves the host time,
 * which nobody misses then, and begins later on the device than a launch does: an iteration of two sets and a kernel of 70 us took 2.5
 * us longer with its kernel in a graph (H200).
 *
 * From time to time an event is recorded behind what was submitted. Where it is not there some time later, the device is behind.
 * It stays so with launches by themselves only if these come faster than the device runs them: so each must have taken longer, on average
 * since the last look, than one costs the host.
 *
 * How it could give a wrong result: it changes no launch, only in which way it goes. Where events may be recorded is measure.h's to say.
 * How it could hang: nothing is waited for. How it could be slow: an event and a question in some hundred launches.
 *
 * Internal to chain.c. With the queue's lock, in the context of the chains. */
#ifndef KFUSE_INTERPOSE_CHAIN_BACKLOG_H
#define KFUSE_INTERPOSE_CHAIN_BACKLOG_H

#include "interpose/entry.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHAIN_BACKLOG_SHORT = 4 }; /* launches: shorter chains go by themselves where the device is behind */

/* As looked last. */
bool chain_backlog_is_deep(void);
/* Something was submitted in the stream; launches: in all so far; direct_ns: what one by itself costs the host. */
void chain_backlog_look(CUstream stream, uint64_t launches, int64_t direct_ns);
/* Nothing is known, and the event is gone with its context. */
void chain_backlog_forget(bool is_context_gone);

#endif
