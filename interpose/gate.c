/* SPDX-License-Identifier: Apache-2.0
 * The gate: one futex word with the number of threads inside, and a bit that is set while it is closed. */
#include "interpose/gate.h"

#include "interpose/queue_lock.h"
#include "interpose/verify.h"

static const uint32_t CLOSED = 1u << 31;
static _Atomic uint32_t gate;
static __thread uint32_t depth; /* calls of this thread inside each other */

static void count_in(bool waits)
{
    uint32_t word = atomic_load(&gate);
    for (;;) {
        if (waits && word & CLOSED) {
            futex_wait(&gate, word, NULL);
            word = atomic_load(&gate);
        } else if (atomic_compare_exchange_weak(&gate, &word, word + 1)) {
            return;
        }
    }
}

static void count_out(void)
{
    if (atomic_fetch_sub(&gate, 1) == (CLOSED | 1)) futex_wake_all(&gate);
}

void gate_enter(void)
{
    if (depth++) return;
    verify_notice_context();
    count_in(true);
}

void gate_leave(void)
{
    if (--depth == 0) count_out();
}

bool gate_is_inside(void)
{
    return depth > 0;
}

void gate_step_out(void)
{
    if (depth) count_out();
}

/* Only the lock's holder closes the gate, and that is now this thread. */
void gate_step_in(void)
{
    if (depth) count_in(false);
}

bool gate_close(unsigned milliseconds)
{
    const struct timespec deadline = deadline_in(milliseconds);
    uint32_t word = atomic_fetch_or(&gate, CLOSED) | CLOSED;
    while (word != CLOSED) {
        struct timespec left;
        if (!deadline_left(&deadline, &left)) {
            gate_open();
            return false;
        }
        futex_wait(&gate, word, &left);
        word = atomic_load(&gate);
    }
    return true;
}

void gate_open(void)
{
    atomic_fetch_and(&gate, ~CLOSED);
    futex_wake_all(&gate);
}

void gate_fork_child(void)
{
    atomic_store(&gate, 0);
    depth = 0;
}
