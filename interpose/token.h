/* SPDX-License-Identifier: Apache-2.0
 * The queue's token: one futex word. Unlike a mutex of the C library it may be reset in the child of a fork,
 * and a thread knows whether it has it. */
#ifndef KFUSE_INTERPOSE_TOKEN_H
#define KFUSE_INTERPOSE_TOKEN_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum token_state { TOKEN_FREE, TOKEN_TAKEN, TOKEN_WANTED };

static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline bool token_try(_Atomic uint32_t *token)
{
    uint32_t expected = TOKEN_FREE;
    return atomic_compare_exchange_strong_explicit(token, &expected, TOKEN_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void token_take(_Atomic uint32_t *token)
{
    enum { SPINS = 200 }; /* about as long as one launch takes */
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(token, memory_order_relaxed) == TOKEN_FREE && token_try(token)) return;
        __builtin_ia32_pause();
    }
    while (atomic_exchange_explicit(token, TOKEN_WANTED, memory_order_acquire) != TOKEN_FREE)
        futex_wait(token, TOKEN_WANTED, NULL);
}

static inline void token_give(_Atomic uint32_t *token)
{
    if (atomic_exchange_explicit(token, TOKEN_FREE, memory_order_release) == TOKEN_WANTED) futex_wake(token);
}

#endif
