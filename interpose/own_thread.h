/* SPDX-License-Identifier: Apache-2.0
 * A thread of ours inside the program, with all signals blocked. It ends when there has been nothing to do
 * for a while, and is made again when there is: a program whose other threads have all ended shall end.
 *
 * Nothing is lost between the two. Who has work first says so in what has_work reads, then looks at the
 * state; the thread first changes the state, then asks has_work. Whichever of them then changes the state
 * back answers for the work: the thread goes on, or a new one is made. */
#ifndef KFUSE_INTERPOSE_OWN_THREAD_H
#define KFUSE_INTERPOSE_OWN_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum own_thread_state { OWN_THREAD_RUNS, OWN_THREAD_SLEEPS, OWN_THREAD_ENDED };

enum { OWN_THREAD_PATIENCE_NS = 100000000 }; /* as a rule */
struct own_thread {
    _Atomic uint32_t state; /* a futex word; OWN_THREAD_ENDED at first */
    const char *name;
    long patience_ns; /* asleep, before it ends */
    bool (*has_work)(void);
    void (*work)(void); /* returns when there is nothing to do */
};

/* Not in line: wakes the thread, or makes it. */
bool own_thread_summon(struct own_thread *thread);
/* There is work since just now; by one caller at a time. Costs one load while the thread runs. False: there
 * is no thread, and none to be had. */
static inline bool own_thread_needed(struct own_thread *thread)
{
    return __builtin_expect(atomic_load(&thread->state) == OWN_THREAD_RUNS, 1) || own_thread_summon(thread);
}
/* In the child of a fork there is none. */
static inline void own_thread_fork_child(struct own_thread *thread)
{
    atomic_store(&thread->state, OWN_THREAD_ENDED);
}
/* At exit, which the last thread to end runs: should that be one of ours, signals come through as they did
 * where it was made. */
void own_thread_exits(void);
/* The program's first thread has ended, and there is none but the calling one. */
bool own_thread_is_last(void);

#endif
