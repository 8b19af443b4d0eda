/* SPDX-License-Identifier: Apache-2.0
 * Debts (doc/replay.md): ranges that a fused kernel has not stored though its members write them (struct
 * plan_stale), and how the program comes to see nothing of it. Each use of such a form is one debt: the
 * ranges, and the recipe, the members that write them, with their arguments. A debt is
 *  - dropped, when a later use writes its ranges whole, reading nothing of them before, or when they are
 * freed;
 *  - paid, by launching the recipe, before anything else that may read or write a stale byte, or write what
 * the recipe reads, goes to the driver. What is not known to leave both alone counts as such.
 *
 * Who may touch a range, and how it is known:
 *  - launches: those of patterns of the plan, bystanders among them, by the plan's effects and their own
 *    arguments (debt_meet); every other launch pays all;
 *  - copies, sets and frees in hook_copy.c and hook_memory.c by their ranges (debt_meet_touch);
 *  - calls that only wait, ask or mark (common/waits.h) touch nothing;
 *  - everything else (captures, graphs, host functions, exports, unknown entry points) pays all.
 *
 * Why nobody sees it stale. There is one stream: debts are incurred only as long as the program has made no
 * other one, in the default stream, so whoever is ordered behind a use is ordered behind a recipe that was
 * launched before him; and what is launched there waits for nobody but what was there before. Whoever is
 * ordered by the host alone (another context; the first stream that the program makes, when it has waited
 * before) finds the recipe done: it is waited for. There is one thread: another one may be in a call that
 * touches what is incurred meanwhile. Nobody outside of this process and context reads the memory: once the
 * program has asked for what it takes to let others do so (exports, peers, attributes of a pointer, as
 * libraries for messages do), or has loaded a library for it, none is incurred any more. The host sees device
 * memory only through calls that come here. A recipe gives the same bytes as its launches would have given in
 * their place: what it reads has not been written since (or it would have been paid), but by itself, and the
 * analysis has made sure that it writes before it reads (stale.h).
 *
 * How it could hang: by waiting for a recipe that stands behind something that waits for the host. It is
 * waited for only where the host has waited since (it may have seen the use done), and since then nothing that
 * may wait has come: host functions pay, and kernels that may wait (volatile and such) are no bystanders. A
 * stream that is made without such a wait is told to wait itself.
 *
 * How it could be slow: a debt that is paid costs what the fused kernel saved. A group that has to pay too
 * often stores everything for some hundred uses (credit). While something is owed, launches of the plan's
 * kernels take the token.
 *
 * All with the queue's token and the queue's context current, but for debt_is_on and debt_is_forbidden. */
#ifndef KFUSE_INTERPOSE_DEBT_H
#define KFUSE_INTERPOSE_DEBT_H

#include "common/plan.h"
#include "interpose/held.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct debt_use { /* of the launches of a complete pattern, or the first steps of one */
    uint32_t group;
    const struct held *held;               /* by step of the group */
    const unsigned char *const *arguments; /* likewise */
};

extern _Atomic uint32_t debt_count; /* that are owed */
static inline bool debt_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&debt_count, memory_order_relaxed), 0);
}

/* Takes all memory. False when there is none. */
bool debt_start(const struct plan *plan);
/* The group's first form may leave its ranges stale in this use. */
bool debt_fits(const struct debt_use *use);
/* Before anything of the use goes to the driver: drops what it overwrites, pays what it touches. */
void debt_meet(const struct debt_use *use);
/* The form that leaves ranges stale has been launched. With KFUSE_SPOIL_STALE they are spoiled at once. */
void debt_incur(const struct debt_use *use);

/* Verification. Of the debt that was incurred last: its recipe is launched, and it is owed all the same. */
void debt_make_last(void);
/* Whoever reads what that debt has left stale, and has not been seen to, finds the complement of what he should
 * find: waits for the default stream, and takes three times the ranges on the host. Pays where that fails. */
void debt_spoil_last(void);

/* Bytes of memory that are about to be read, or written. A call may fail: only a free is believed, of an
 * allocation that is known. */
struct debt_touch {
    uint64_t address, bytes;
    bool is_written, is_freed;
};
/* is_own: the program's call is for the queue's context. True when something was paid. */
bool debt_meet_touch(const struct debt_touch *touch, bool is_own);
void debt_pay_all(void);

/* From now on none is incurred; those that are owed must be paid. */
void debt_forbid(const char *reason);
bool debt_is_forbidden(void);
/* The context is gone, this is the child of a fork, or what was stale has been put there by verification. */
void debt_forget(void);
/* Forbids them where a library is loaded that may hand memory to a network card without any call of the
 * driver. */
void debt_look_around(void);

#endif
