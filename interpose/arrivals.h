/* SPDX-License-Identifier: Apache-2.0
 * Which counter of a fused kernel's module a stream's uses take (fuser/fusion/last_block.h, rule 6). Two uses that run at a time must
 * not count together: launches of one stream follow each other, so each stream has a number of its own.
 *
 * A stream that the program destroys may still run what it has, and another may get its handle: its number is given to nobody again.
 * A handle that means another stream in each thread has none, nor has a stream when numbers have run out.
 *
 * All with the queue's lock. */
#ifndef KFUSE_INTERPOSE_ARRIVALS_H
#define KFUSE_INTERPOSE_ARRIVALS_H

#include "interpose/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of the stream, less than PLAN_ARRIVALS; the legacy default stream by either name. False: it has none. */
bool arrivals_number(CUstream stream, uint32_t *number);
/* Streams have numbers that must be told when they go; any thread. */
bool arrivals_has_any(void);
/* It is about to go. */
void arrivals_stream_gone(CUstream stream);
/* The context is gone, with all that ran; or this is the child of a fork. */
void arrivals_forget(void);

#endif
