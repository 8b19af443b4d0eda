/* SPDX-License-Identifier: Apache-2.0
 * Deferred stores (doc/replay.md): ranges that a fused kernel has not stored though its members write them
 * (struct plan_stale), and how the program comes to see nothing of it. Each use of such a form makes one
 * deferred store: the stale ranges, and their rematerialisation, which is the members that write them, with
 * their arguments. It is pending until it is
 *  - dropped, when a later use, or a bystander, writes all that is stale, reading nothing of it before (plan_overwrite), or when it
 *    is freed;
 *  - materialised, by launching the rematerialisation, before anything else that may read or write a stale byte,
 *    or write what the rematerialisation reads, goes to the driver. What is not known to leave both alone counts
 *    as such.
 *
 * Who may touch a range, and how it is known:
 *  - launches: those of patterns of the plan, bystanders among them, by the plan's effects and their own
 *    arguments (deferred_resolve); at every other launch all are materialised;
 *  - copies, sets and frees in hook_copy.c and hook_memory.c by their ranges (deferred_resolve_touch);
 *  - calls that only wait, ask or mark (common/waits.h) touch nothing;
 *  - everything else (captures, graphs, host functions, exports, unknown entry points): all are materialised.
 *
 * Why nobody sees it stale. There is one stream, the default one, or the rules of home_stream.h hold. So
 * whoever is ordered behind a use is ordered behind a rematerialisation that was launched before him; and what
 * is launched there waits for nobody but what was there before. Whoever is ordered by the host alone (another
 * context; the first stream that the program makes, when it has waited before) finds the rematerialisation
 * done: it is waited for. There is one thread: another one may be
 * in a call that touches what is deferred meanwhile. Nobody outside of this process and context reads the
 * memory: once the program has asked for what it takes to let others do so (exports, peers, attributes of a
 * pointer, as libraries for messages do), or has loaded a library for it, nothing is deferred any more. The
 * host sees device memory only through calls that come here. A rematerialisation gives the same bytes as its
 * launches would have given in their place. What it reads has not been written since (or it would have been
 * materialised), but by itself, and the analysis has made sure that it writes before it reads (stale.h).
 *
 * How it could hang: by waiting for a rematerialisation that stands behind something that waits for the host.
 * It is waited for only where the host has waited since (it may have seen the use done), and since then
 * nothing that may wait has come: at host functions all are materialised, and kernels that may wait (volatile
 * and such) are no bystanders. A stream that is made without such a wait is told to wait itself.
 *
 * How it could be slow: one that is materialised costs what the fused kernel saved. A group whose deferred
 * stores are materialised too often stores everything for some hundred uses (credit). While one is pending,
 * launches of the plan's kernels take the lock.
 *
 * All with the queue's lock and the queue's context current, but for deferred_is_pending and
 * deferred_is_forbidden. */
#ifndef KFUSE_INTERPOSE_DEFERRED_H
#define KFUSE_INTERPOSE_DEFERRED_H

#include "common/plan.h"
#include "interpose/held.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct deferred_use { /* of the launches of a complete pattern, or the first steps of one */
    uint32_t group;
    const struct held *held;               /* by step of the group */
    const unsigned char *const *arguments; /* likewise */
};

extern _Atomic uint32_t deferred_count; /* that are pending */
static inline bool deferred_is_pending(void)
{
    return __builtin_expect(atomic_load_explicit(&deferred_count, memory_order_relaxed), 0);
}

/* Takes all memory. False when there is none. */
bool deferred_start(const struct plan *plan);
/* A group of the plan may leave something stale. */
bool deferred_is_planned(void);
/* The group's first form may leave its ranges stale in this use. */
bool deferred_fits(const struct deferred_use *use);
/* Before anything of the use goes to the driver: materialises what it touches, but for what it overwrites. */
void deferred_resolve(const struct deferred_use *use);
/* Drops what it overwrites. Of a group, before anything of it: should its launch fail, its members run. Of a bystander once it has
 * been launched: it may fail, and then nothing is overwritten. */
void deferred_drop(const struct deferred_use *use);
/* The form that leaves ranges stale has been launched. With KFUSE_SPOIL_STALE they are spoiled at once. */
void deferred_add(const struct deferred_use *use);

/* Verification. Of the last one: its rematerialisation is launched, and it is pending all the same. */
void deferred_rematerialise_last(void);
/* Whoever reads what that one has left stale, and has not been seen to, finds the complement of what he should
 * find: waits for the default stream, and takes three times the ranges on the host. Materialises where that
 * fails. */
void deferred_spoil_last(void);

/* Bytes of memory that are about to be read, or written. A call may fail: only a free is believed, of an
 * allocation that is known. */
struct deferred_touch {
    uint64_t address, bytes;
    bool is_written, is_freed;
};
/* is_own: the program's call is for the queue's context. True when one was materialised. */
bool deferred_resolve_touch(const struct deferred_touch *touch, bool is_own);
void deferred_materialise_all(void);
/* While this is on, what is materialised is no reason to store more: originals are measured. */
void deferred_spare(bool spares);

/* From now on none is made; those that are pending must be materialised. */
void deferred_forbid(const char *reason);
bool deferred_is_forbidden(void);
/* The context is gone, this is the child of a fork, or what was stale has been put there by verification. */
void deferred_forget(void);
/* Forbids them where a library is loaded that may hand memory to a network card without any call of the
 * driver. */
void deferred_look_around(void);
/* The same where a library has been loaded since the last time. */
void deferred_look_at_news(void);

#endif
