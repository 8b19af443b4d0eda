/* SPDX-License-Identifier: Apache-2.0
 * The preloaded library as a whole: its mode, the flags that send a call off the fast path, what happens at
 * start, at exit and after fork. Nothing here ever fails towards the program. */
#ifndef KFUSE_INTERPOSE_SHIM_H
#define KFUSE_INTERPOSE_SHIM_H

#include "interpose/entry.h"
#include "interpose/queue.h"
#include "interpose/through.h"

#include <stdatomic.h>
#include <stdint.h>

/* Reasons why a call may not go straight to the driver. Zero: it may. Read by stubs.S. */
enum shim_attention_bits {
    ATTENTION_START = 1,     /* the driver has not been found yet */
    ATTENTION_QUEUE = 2,     /* launches are held */
    ATTENTION_ERROR = 4,     /* a held launch failed on release and nobody has been told */
    ATTENTION_RECORD = 8,    /* calls are recorded */
    ATTENTION_SPAN = 16,     /* statistics are wanted, and no launch has come yet */
    ATTENTION_VERIFY = 32,   /* groups are to be verified: calls go through the gate (gate.h) */
    ATTENTION_MEASURE = 64,  /* launches are timed (blocked.h) */
    ATTENTION_CONTENTS = 128 /* variables are followed (contents.h): only calls without a hook need it */
};
extern _Atomic uint32_t shim_attention;
void shim_attention_set(uint32_t bits);
void shim_attention_clear(uint32_t bits);
static inline bool shim_has_attention(uint32_t bits)
{
    return __builtin_expect(atomic_load_explicit(&shim_attention, memory_order_acquire) & bits, 0);
}

/* Reads the environment; once, before anything else. */
void shim_open(void);
/* After the program's first successful cuInit: opens the trace or the plan. */
void shim_begin(void);
/* Called again whenever something has started that ends at exit by itself: a context, CUPTI. */
void shim_exit_first(void);
/* The first module with PTX that the program loads decides the trace or plan when neither was named. */
void shim_consider_module(const char *hash_text);

/* True once everything passes through for good. */
extern atomic_bool shim_has_latched;
static inline bool shim_is_latched(void)
{
    return atomic_load_explicit(&shim_has_latched, memory_order_acquire);
}
/* Passes everything through from now on; says why in the log, once. What is held is issued by the next call
 * or by the timer. */
void shim_latch(const char *reason);
/* Where programs come through as a rule (cudaDeviceReset at their end): only for those who look for it. */
void shim_latch_quietly(const char *reason);
/* The same for a reason with parts. */
void shim_latch_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Issues what is held, and records the wall. */
void shim_wall(enum entry entry);
/* The start of every wrapper: finds the driver. */
static inline void shim_enter(void)
{
    if (shim_has_attention(ATTENTION_START)) entry_resolve();
}
/* The start of a wrapper that flushes: also issues what is held. */
void shim_flush(void);
static inline void shim_enter_flush(void)
{
    if (shim_has_attention(ATTENTION_START | ATTENTION_QUEUE)) shim_flush();
}

/* The same where the call only waits, asks or marks (common/waits.h), or touches known memory alone. */
void shim_wait(void);
static inline void shim_enter_wait(void)
{
    if (shim_has_attention(ATTENTION_START | ATTENTION_QUEUE)) shim_wait();
}
/* Before a wait for the stream, or for the context: true when it is passed through. */
bool shim_pass_wait(CUstream stream);
static inline bool shim_enter_sync(CUstream stream)
{
    return shim_has_attention(ATTENTION_START | ATTENTION_QUEUE) && shim_pass_wait(stream);
}
void shim_mark(void);
static inline void shim_enter_mark(void)
{
    if (shim_has_attention(ATTENTION_START | ATTENTION_QUEUE)) shim_mark();
}
struct shim_copy { /* from: 0 for a set */
    uint64_t to, from, bytes;
    CUstream stream;
};
void shim_copy(const struct shim_copy *copy);
static inline void shim_enter_copy(const struct shim_copy *copy)
{
    queue_meet_thread();
    if (shim_has_attention(ATTENTION_START | ATTENTION_QUEUE)) shim_copy(copy);
}
void shim_free(uint64_t address, CUstream stream);
static inline void shim_enter_free(uint64_t address, CUstream stream)
{
    queue_meet_thread();
    if (shim_has_attention(ATTENTION_START | ATTENTION_QUEUE)) shim_free(address, stream);
}

/* Remembers the first error of a launch that was held. */
void shim_remember_error(CUresult error);
/* The result of a call that may report errors of earlier launches. */
CUresult shim_take_error(CUresult result);
static inline CUresult shim_result(CUresult result)
{
    bool is_error = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    if (__builtin_expect(is_error, 0)) through_meet_unknown(); /* a wait may tell of it again */
    return shim_has_attention(ATTENTION_ERROR) ? shim_take_error(result) : result;
}

/* For KFUSE_STATS: the time from the first launch to the return of the last call that copies or waits. */
extern atomic_bool shim_has_span;
int64_t shim_now_ns(void);
void shim_span_begin(void);
void shim_span_extend(void);
/* The end of every wrapper of a call that copies or waits. */
static inline CUresult shim_waited(CUresult result)
{
    if (__builtin_expect(atomic_load_explicit(&shim_has_span, memory_order_relaxed), 0)) shim_span_extend();
    return shim_result(result);
}

/* Counters for KFUSE_STATS. Each thread counts in a slot of its own, so that counting costs no locked
 * instruction; beyond COUNT_SLOTS threads slots are shared and a count may be lost. */
enum shim_counter {
    COUNT_LAUNCHES,
    COUNT_ISSUED,
    COUNT_FUSED,
    COUNT_HELD,
    COUNT_DRAINED,
    COUNT_TIMER,
    COUNT_REFUSED,
    COUNT_RENAMED,
    COUNT_RESTORES,
    COUNT_MIRRORED,
    COUNT_REDIRECTED,
    COUNT_STALE,
    COUNT_MATERIALISED,
    COUNT_STRETCHES,
    COUNT_LOSERS,
    COUNT_PASSED,  /* waits, by --through-sync */
    COUNT_CHAINS,  /* graphs that were launched (chain.h) */
    COUNT_CHAINED, /* launches in them */
    COUNT_KINDS
};
enum { COUNT_SLOTS = 64 };
struct shim_count_slot {
    _Alignas(64) _Atomic uint64_t counts[COUNT_KINDS];
};
extern struct shim_count_slot shim_counts[COUNT_SLOTS];
extern __thread struct shim_count_slot *shim_own_counts;
struct shim_count_slot *shim_take_counts(void);
static inline void shim_count_in(struct shim_count_slot *slot, enum shim_counter counter)
{
    uint64_t count = atomic_load_explicit(&slot->counts[counter], memory_order_relaxed);
    atomic_store_explicit(&slot->counts[counter], count + 1, memory_order_relaxed);
}
static inline void shim_count(enum shim_counter counter)
{
    struct shim_count_slot *slot = shim_own_counts;
    if (__builtin_expect(!slot, 0)) slot = shim_take_counts();
    shim_count_in(slot, counter);
}

#endif
