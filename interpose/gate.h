/* SPDX-License-Identifier: Apache-2.0
 * The gate that keeps other threads' submissions out while a group is verified (verify.h). Everything that
 * may change device memory or the order of work goes through it, the hooks here by GATE, what has no hook by
 * stubs.S; what only waits (synchronise, query) does not, and PASS entry points need not. It stands while
 * ATTENTION_VERIFY is set: from before the program's first call of the driver until nothing is left to be
 * verified. Without that bit it costs one load.
 *
 * A thread is inside from before its call of the driver until the call is back. It is not counted while it
 * waits for the queue's lock: the one who closes the gate has that. Who waits for the gate has
 * neither that lock nor another. */
#ifndef KFUSE_INTERPOSE_GATE_H
#define KFUSE_INTERPOSE_GATE_H

#include "interpose/shim.h"

#include <stdbool.h>

/* Waits until the gate is open. A thread that is inside already goes through. */
void gate_enter(void);
void gate_leave(void);
bool gate_is_inside(void);

/* In a hook, after it has flushed: the rest of the function is inside. */
#define GATE __attribute__((cleanup(gate_end))) bool is_gated = gate_begin()
static inline bool gate_begin(void)
{
    if (!shim_has_attention(ATTENTION_VERIFY)) return false;
    gate_enter();
    return true;
}
static inline void gate_end(const bool *is_gated)
{
    if (*is_gated) gate_leave();
}

/* Around the wait for the lock; free where the thread is not inside. */
void gate_step_out(void);
void gate_step_in(void);

/* By the lock's holder, from outside: lets nobody in, and waits until all have left. False, with the gate
 * open, when that takes longer. */
bool gate_close(unsigned milliseconds);
void gate_open(void);

void gate_fork_child(void);

#endif
