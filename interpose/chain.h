/* SPDX-License-Identifier: Apache-2.0
 * Chains: launches of one stream that follow each other go to the driver together, as a CUDA graph whose nodes are their kernels,
 * each behind the one before. What a launch costs the host is paid once a chain, and kernels of a chain follow each other sooner.
 * The last station of every launch under a plan: fused kernels, launches that were held, launches of which the plan knows nothing.
 *
 * Order. The chain is a first-in, first-out queue of one stream. Whatever goes to the driver in another way (a launch that no chain
 * takes, a copy, an event, a wait) finds it empty: chain_submit or chain_cut comes before every such call of this library, and the queue
 * submits whenever its lock is given up, but by a launch that was taken (queue_publish). So the driver gets what it would get
 * without chains, in the same order, a little later. Nothing is moved and no proof is needed: kernels of any kind are taken.
 *
 * How long a launch waits. Until the next call that is no launch, for the length of the chain at most, and for the timer's time at
 * most (queue.h). After a call that is no launch the device may be idle: so the first launch goes at once, then two, four and so
 * on. Each kernel has a record of whether the host soon goes on after it; where it did not, nothing waits behind it.
 *
 * Cuts. A graph is made for a sequence of kernels and shapes, and serves all chains of that sequence: what differs in their
 * arguments is updated before the launch, and concerns no launch that is under way (cuGraphExecKernelNodeSetParams). For sequences to
 * come again, a long chain ends where the kernel comes that one began with. A sequence gets a graph when it has come so often that one
 * would have saved what making it costs; until then, its launches go to the driver one by one. What graphs cost beyond what they have
 * saved stays below a small part of the time so far, or of what they would have saved: a program that ends after some hundred launches
 * has none.
 *
 * Whether it pays is measured, as machines differ: what launches cost the host by themselves, in a graph, and updated.
 *
 * How it could give a wrong result. A launch that fails: its error would come late. So a launch is taken only where the same kernel
 * was launched before in the same shape, by itself and without an error; a graph that the driver refuses is replaced by the launches
 * themselves. A kernel that waits for one in another stream: a graph waits for its own last launch, so each stream has its own.
 * A handle that names another kernel after its module was unloaded, a stream that was made anew: what is remembered of all is
 * forgotten when the program unloads a module, or destroys a stream that had chains. So it is when a kernel's attributes are set, or
 * a limit. A graph's kernels have no priority, no attributes of streams and the context of the chains: streams that have a
 * priority, another context or a part of the device are left alone, and attributes of streams end chains. Captures, cooperative
 * launches and launches with attributes are not taken. A thread's own default stream has chains where its launches may be held
 * (own_stream.h). There are no chains in a second context,
 * with verification, which needs launches one by one, and where CUDA_LAUNCH_BLOCKING makes launches wait: the host may look at
 * memory behind each.
 * How it could hang. A launch that waits for room in the driver's queue does so with the lock, perhaps behind a kernel that waits for
 * another thread's launch: once a second thread works with the device, launches that are not held take no lock. Who polls what a
 * kernel writes, without a call, is served by the timer.
 * How it could be slow: a host that works between launches (see above); graphs of few launches on a device that is behind
 * (chain_backlog.h); sequences that never come again (few of them have graphs,
 * and where most have none, chains pause).
 * Memory: at most CHAIN_GRAPHS graphs; they are given back when the program's own allocation fails.
 *
 * KFUSE_CHAINS: 0: none. always: whether or not it pays or the host goes on soon, and from the first time that a sequence comes
 * (for tests).
 *
 * All with the queue's lock, but for what is inline. */
#ifndef KFUSE_INTERPOSE_CHAIN_H
#define KFUSE_INTERPOSE_CHAIN_H

#include "interpose/entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CHAIN_LONGEST = 64, CHAIN_ARGUMENTS = 1024 /* bytes of a launch */, CHAIN_GRAPHS = 256 };

struct chain_launch {
    CUfunction function; /* or a CUkernel, as the program launches it */
    uint32_t grid[3], block[3], shared;
    CUstream stream;
    void *arguments; /* packed */
    size_t size;
};

extern atomic_bool chain_is_on;
static inline bool chain_on(void)
{
    return __builtin_expect(atomic_load_explicit(&chain_is_on, memory_order_relaxed), 0);
}

/* As the setting has it. */
bool chain_is_wanted(void);
/* False when memory is out. */
bool chain_start(void);
/* The launch comes behind those of the chain, with the arguments copied. False: it is none for chains, and the chain goes on without it;
 * chain_submit must come before it. */
bool chain_take(const struct chain_launch *launch);
/* No launch is taken any more. What the chain has is still to be submitted. */
void chain_end(const char *reason);
/* What the chain has goes to the driver, before a call that is no launch. In any thread. */
void chain_submit(void);
/* The same before a call of this library's own: the device is not idle, and launches go on behind it. */
void chain_cut(void);
/* The next call that is no launch must come to chain_submit, though there may be nothing. */
bool chain_has_grown(void);
/* The timer does so, since nothing else did. */
void chain_submit_late(void);
/* The ticket of its first launch, which counts all that were taken; 0: there is none. */
uint64_t chain_oldest(void);
/* The launch has gone to the driver by itself, which took it so many nanoseconds (0: not known), without an error. */
void chain_note(const struct chain_launch *launch, int64_t took_ns);
/* Gives back all graphs, and forgets handles. */
void chain_forget(void);
/* The same where the stream may have had chains: it is about to go. */
void chain_forget_stream(CUstream stream);
/* The context is about to go; or it has gone with its device's primary one. Another may have chains then. */
void chain_context_goes(CUcontext context);
void chain_device_gone(CUdevice device);
/* By anyone. */
bool chain_has_graphs(void);
void chain_fork_child(void);

#endif
