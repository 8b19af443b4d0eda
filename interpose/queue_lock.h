/* SPDX-License-Identifier: Apache-2.0
 * The queue's lock: one futex word. Unlike a mutex of the C library it may be reset in the child of a fork,
 * and a thread knows whether it has it. And what other futex words here need. */
#ifndef KFUSE_INTERPOSE_QUEUE_LOCK_H
#define KFUSE_INTERPOSE_QUEUE_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum queue_lock_state { QUEUE_LOCK_FREE, QUEUE_LOCK_TAKEN, QUEUE_LOCK_WANTED };

static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* A point in time until which something is waited for. */
static inline struct timespec deadline_in(unsigned milliseconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += milliseconds % 1000 * 1000000L;
    if (at.tv_nsec < 1000000000L) return at;
    at.tv_nsec -= 1000000000L;
    at.tv_sec++;
    return at;
}

/* The time until then, for futex_wait; false when it has passed. */
static inline bool deadline_left(const struct timespec *deadline, struct timespec *left)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    left->tv_sec = deadline->tv_sec - now.tv_sec;
    left->tv_nsec = deadline->tv_nsec - now.tv_nsec;
    if (left->tv_nsec < 0) {
        left->tv_nsec += 1000000000L;
        left->tv_sec--;
    }
    return left->tv_sec >= 0;
}

static inline bool queue_lock_try(_Atomic uint32_t *lock)
{
    uint32_t expected = QUEUE_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(lock, &expected, QUEUE_LOCK_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void queue_lock_take(_Atomic uint32_t *lock)
{
    enum { SPINS = 200 }; /* about as long as one launch takes */
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(lock, memory_order_relaxed) == QUEUE_LOCK_FREE && queue_lock_try(lock))
            return;
        __builtin_ia32_pause();
    }
    while (atomic_exchange_explicit(lock, QUEUE_LOCK_WANTED, memory_order_acquire) != QUEUE_LOCK_FREE)
        futex_wait(lock, QUEUE_LOCK_WANTED, NULL);
}

static inline void queue_lock_give(_Atomic uint32_t *lock)
{
    if (atomic_exchange_explicit(lock, QUEUE_LOCK_FREE, memory_order_release) == QUEUE_LOCK_WANTED)
        futex_wake(lock);
}

#endif
