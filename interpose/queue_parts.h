/* SPDX-License-Identifier: Apache-2.0
 * The queue's state, for the files that it is made of: queue.c (what is held, and until when) and issue.c
 * (how it goes to the driver). All with the lock, but what is atomic. */
#ifndef KFUSE_INTERPOSE_QUEUE_PARTS_H
#define KFUSE_INTERPOSE_QUEUE_PARTS_H

#include "common/plan.h"
#include "interpose/held.h"
#include "interpose/home_stream.h"
#include "interpose/own_stream.h"
#include "interpose/queue.h"
#include "interpose/through.h"
#include "interpose/track.h"

#include <stdatomic.h>

struct queue_group {
    CUfunction *code; /* by variant */
    bool passes_over; /* launches that are no members */
    bool is_on;
    _Atomic uint64_t uses;
};

struct queue {
    _Atomic uint32_t lock;
    const struct plan *plan;
    struct match *match;
    struct queue_group *groups;
    _Atomic uint32_t groups_on;
    CUcontext context;
    struct held *held; /* capacity of them, all buffers taken */
    uint32_t count, capacity, buffer_size;
    unsigned char *parameters; /* of the fused launch being issued */
    uint32_t parameters_size;
    struct match_state state; /* of the first state.depth held launches */
    const unsigned char **arguments;
    uint32_t *sizes;
    struct guard_view view; /* of arguments and sizes */
    uint64_t tickets;
    uint64_t renamed;        /* ticket of the last use that renamed, while rename_is_on */
    _Atomic uint64_t oldest; /* as announced says */
    _Atomic bool has_waited; /* the host, since a store is pending */
    int32_t balance;         /* what holding has brought of late, in launches */
    uint32_t pause;          /* launches that the next pause lasts, or 0: the shortest */
    _Atomic uint32_t paused; /* launches that may not begin a pattern any more */

    _Atomic uint32_t watched; /* first ones of held that are with the driver already; then count is 0 */
    int64_t watched_ns;       /* when the first of them came */
    bool is_known;            /* the launch that was left to the caller: its guards hold */
    bool is_memop;            /* what has arrived is a set or a copy */
    bool goes_on;             /* what comes next may be a launch: chains stay until then */
    _Atomic bool has_threads; /* more than one works with the device */
    bool has_streams;         /* the program has made one */
};
extern struct queue queue;

static inline bool queue_is_bystander(uint32_t group)
{
    return queue.plan->groups[group].flags & PLAN_BYSTANDER;
}

static inline bool queue_same_stream(CUstream a, CUstream b)
{
    if (a == CU_STREAM_LEGACY) a = NULL;
    if (b == CU_STREAM_LEGACY) b = NULL;
    return a == b;
}

static inline bool queue_has_threads(void)
{
    return atomic_load_explicit(&queue.has_threads, memory_order_relaxed);
}

/* Calls come to the queue though nothing is held. */
static inline bool queue_wants_calls(void)
{
    return through_on() || own_stream_on() || own_stream_has_lent() || home_on();
}

static inline bool queue_push_context(void)
{
    return queue.context && track_current_context() != queue.context &&
           REAL(cuCtxPushCurrent_v2)(queue.context) == CUDA_SUCCESS;
}

static inline void queue_pop_context(bool is_pushed)
{
    CUcontext context;
    if (is_pushed) REAL(cuCtxPopCurrent_v2)(&context);
}

/* What this thread has not given the device, nobody has, and all of it is in one stream. */
bool queue_is_alone(void);
/* All memory for what will be held; false where there is none. */
bool queue_reserve(const struct plan *plan);
/* The queue's lock, and what others are told of the queue before it is given up. */
void queue_enter(void);
void queue_leave(void);
void queue_publish(void);
bool queue_has_lock(void); /* this thread */
/* Before work for a stream: its making may not have been seen. */
static inline void queue_meet_stream(CUstream stream)
{
    bool is_own = (uintptr_t)stream > (uintptr_t)CU_STREAM_PER_THREAD && stream != HOME_ANY;
    if (__builtin_expect(is_own && !queue.has_streams, 0))
        queue_defer_nothing("the program uses a stream that it has not been seen to make");
}
/* Issues what is held, and restores what is away; what is pending stays so. */
void queue_drain(void);
/* A wait that was passed is made up for. */
void queue_settle(void);
/* From here on memory is as the program has made it; others: also for other streams and processes. */
void queue_drain_and_materialise(bool others);
/* Behind the arguments of a launch that is about to be held. False: there is no room, or they are not known; then it is not. */
bool queue_append_variables(struct held *held, const struct track_kernel *kernel, uint32_t index);
bool queue_append_sums(struct held *held, uint32_t index);
/* A launch in the thread's own default stream is not held, nor in a chain, where another thread or stream may wait for what it
 * does, nor where waits are passed through, or the user has not asked for it (own_stream.h). */
bool queue_bars(CUstream stream);
/* What holding has gained or lost, in launches. */
void queue_account(int32_t gain);
/* Of a launch that finds the queue empty: whether it may begin a pattern. */
bool queue_may_start(const struct record_shape *shape, uint32_t index);

/* A launch that is not held may go on with a chain. */
bool queue_may_chain(const struct record_shape *shape, const struct track_kernel *kernel);
/* It does; all that is before it is in the driver, or in the chain. False: it is the caller's to make. */
bool queue_take_in_chain(const struct record_shape *shape, const struct track_kernel *kernel);

#endif
