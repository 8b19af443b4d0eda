/* SPDX-License-Identifier: Apache-2.0
 * The queue of held launches.
 *
 * There is one queue; it belongs to the context in which the plan's code was loaded. Launches from another
 * context latch to pass-through.
 *
 * States. EMPTY: nothing is held. HOLDING: 1..n launches of one stream are held. ISSUING: some thread hands
 * held launches to the driver. AWAY: nothing is held, but the last group's kernel has renamed arrays, which
 * must be restored (rename.h); a group that goes on with the same arrays may be held and issued meanwhile.
 * EMPTY -> HOLDING when a launch begins a pattern of the plan; HOLDING ->
 * ISSUING when a pattern is complete, when the next launch fits none, when a call flushes, when the timer
 * fires, at exit; from there to EMPTY or AWAY. AWAY -> EMPTY at all that ends HOLDING, at any launch that is
 * not held, and at one held for another stream; before anything else goes to the driver. A use that goes on
 * puts the timer off. While ATTENTION_QUEUE is set every launch, every wrapper that flushes and every flush
 * stub comes here first. It is set in HOLDING, ISSUING and AWAY; in EMPTY it is clear from the first call on
 * that finds the queue so, and calls take their fast path.
 *
 * Order. The queue is used by whoever has its lock (queue.c): one futex word, taken with one
 * compare-and-swap. The lock is kept while held launches go to the driver, so a thread that launches or
 * flushes meanwhile waits until they are through: what the program ordered before its call is in the driver
 * before its call is. The lock is no mutex of the C library: the child of a fork resets it, and a thread that
 * comes back into a hook from inside the driver while it has the lock itself is let straight through. A
 * launch outside the plan while the queue is EMPTY waits for nobody: no launch that is ordered before it can
 * be held.
 *
 * Lock order: replay.c's lock of loading, the queue's lock, the gate of verification (gate.h), then the locks
 * of track_*.c (no driver call while one is held), then the log. The lock may be held across driver calls
 * only by a thread that issues; replay.c loads code without it and takes it only to switch a group on. The
 * recorder is never active together with the queue.
 *
 * Timer: a thread (own_thread.h) that is made when something is held and there is none. It looks every
 * KFUSE_HOLD_US and releases the queue when its oldest launch was there at the last look too. While nothing
 * happens it sleeps on a futex, and after a tenth of a second of that it ends: a thread of ours keeps no
 * program alive. Where it cannot be made, what is held is issued at once, and nothing more is held.
 * Renamed ranges are copied back when there was no use for many looks: in a long loop the host waits for the
 * device. In the child of a fork there is no timer and nothing is ever held.
 *
 * The library's own device memory (shadow.h) belongs to the queue, and goes to the program when that runs
 * short: then groups that rename are off for good.
 *
 * Who may call what: hook_launch.c calls queue_launch; shim.c calls queue_flush for everybody else, and
 * queue_finish at exit; replay.c calls queue_start once, queue_enable and queue_context_gone; hook_memory.c
 * queue_give_back and queue_own_bytes; hook_stream.c queue_stream_gone. */
#ifndef KFUSE_INTERPOSE_QUEUE_H
#define KFUSE_INTERPOSE_QUEUE_H

#include "interpose/deferred.h"
#include "interpose/entry.h"
#include "interpose/memop.h"
#include "interpose/record.h"

struct plan;

/* Dynamic and static shared memory: beyond it a launch needs an attribute that the program may have changed.
 */
enum { QUEUE_PLAIN_SHARED = 48 << 10 };

/* Prepares to hold launches of this plan; all memory is taken now. False when there is none. */
bool queue_start(const struct plan *plan);
/* From now on the group may be used, in this context: code[i] is the function of its i-th variant. */
bool queue_enable(uint32_t group, CUcontext context, const CUfunction *code);
uint64_t queue_group_uses(uint32_t group);

/* index: the plan's number of the kernel, or negative: not in the plan, or not to be held. True: the launch
 * is held or has been issued in a group. False: everything earlier is in the driver, and the caller launches.
 */
bool queue_launch(const struct record_shape *shape, const struct track_kernel *kernel, int32_t index);
/* The same for a set or a copy that the plan knows (memop.h). */
enum memop_outcome queue_memop(const struct record_shape *shape, const struct track_kernel *kernel,
                               int32_t index);
/* A launch that was left to its caller has succeeded; took_ns: 0 where that is not known. */
void queue_note_launch(const struct record_shape *shape, int64_t took_ns);
/* Issues everything that is held, restores what is away, and materialises what is pending (deferred.h). */
void queue_flush(void);
/* The same before a call that only waits or asks (queue_wait) or marks (queue_mark): what is pending stays so.
 */
void queue_wait(void);
void queue_mark(void);
/* The program is about to wait for this stream, or the context: true when it need not (through.h); else as queue_wait. */
bool queue_pass_wait(CUstream stream);
/* No wait is passed through any more. */
void queue_end_through(const char *reason);
/* It has, so that what was in the stream before, or in all of them, is done. */
void queue_waited(CUstream stream, bool for_all, CUresult result);
/* The same before a call that touches no other memory, in a stream (home_stream.h): deferred stores that it has nothing to do
 * with stay. */
void queue_touch(const struct deferred_touch *touches, uint32_t count, CUstream stream);
/* From now on nothing is left stale, and what is pending is materialised, and waited for. */
void queue_defer_nothing(const char *reason);
/* The program is about to make a stream; it has. */
void queue_meet_streams(void);
void queue_new_stream(CUstream stream);
/* At launches, and before calls that read or write memory: two threads' calls are in no order, and one may be
 * in the middle of its call while the other's launches defer what it touches. So no two threads defer stores. */
extern __thread bool queue_knows_thread;
void queue_new_thread(void);
static inline void queue_meet_thread(void)
{
    if (__builtin_expect(!queue_knows_thread, 0)) queue_new_thread();
}
/* The program's allocation has failed: true when memory was given back, and it may be tried again. */
bool queue_give_back(void);
/* What would be given back in the current context. */
uint64_t queue_own_bytes(void);
/* A stream is about to go. */
void queue_stream_gone(CUstream stream);
/* A module is about to go, or what a kernel's launches are like: no handle is known any more. */
void queue_forget_chains(void);
void queue_end_chains(const char *reason);
/* The context of queue_enable is about to go, or has gone. */
void queue_context_gone(void);
/* A context is about to go; or, context NULL, the primary one of the device has gone: that of the chains, perhaps. */
void queue_chains_end(CUcontext context, CUdevice device);
/* As queue_flush, at exit: does not wait for ever for a thread that is stuck in the driver. */
void queue_finish(void);

void queue_fork_child(void);

#endif
