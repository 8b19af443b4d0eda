/* SPDX-License-Identifier: Apache-2.0
 * Arrays that a group's kernel reads in one buffer and writes in another (struct plan_rename): where the old
 * contents are, where the new ones go, and how the arrays come to have what the program expects.
 *
 * States. NONE: every array has what it should have. AWAY: the last use wrote the second buffers; the arrays
 * are stale in the bytes that it wrote. HERE: the last use read the second buffers and wrote the arrays, and
 * the buffers are still equal to them but for what the next use will write (only where a rename is PARTIAL;
 * otherwise this is NONE). NONE -> AWAY -> NONE or HERE -> AWAY by uses of the same ranges in the same
 * stream, one after the other; AWAY, HERE -> NONE by rename_end, which copies back what is away. While the
 * state is not NONE the queue announces it as if a launch were held: whoever could see an array, or write
 * one, ends it first (queue.h).
 *
 * Why nobody sees a difference. Whoever may read or write such bytes while a use runs is in a race with it in
 * the program, too. So he is ordered behind it, by a call that comes to the queue first (a use's kernel has
 * no atomics, fences or volatile accesses by which others could tell): the copies are in the use's stream,
 * behind it, before that call is in the driver. They write only bytes that the use has written; the others of
 * the range may be written by anyone at any time. A byte that is read in the second buffer is one that the
 * use before has read or written as well, so whoever has written it since was ordered behind that use, and
 * has ended the state.
 *
 * All with the queue's lock and the queue's context current. */
#ifndef KFUSE_INTERPOSE_RENAME_H
#define KFUSE_INTERPOSE_RENAME_H

#include "common/plan.h"
#include "interpose/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a variant that renames. */
struct rename_use {
    const struct plan *plan;
    const struct plan_variant *variant;
    const unsigned char *const *arguments; /* by step of the group */
    CUstream stream;
};

/* The state is not NONE, or a use is between rename_begin and rename_done. */
extern uint32_t rename_ranges; /* that are on */
static inline bool rename_is_on(void)
{
    return __builtin_expect(rename_ranges, 0);
}
/* Its stream. */
CUstream rename_stream(void);

/* The variant may be used now: its ranges lie in plain allocations and apart. */
bool rename_fits(const struct rename_use *use);
/* What is on goes on with this use; else it must be ended first. */
bool rename_continues(const struct rename_use *use);
/* Before the launch of what fits: puts the distances into the fused kernel's parameters. False, with nothing
 * on, when there are no buffers to be had. If the launch fails, rename_end. */
bool rename_begin(const struct rename_use *use, unsigned char *parameters);
/* The launch has succeeded. */
void rename_done(const struct rename_use *use);
/* Copies back what is away; the number of copies. An error of theirs is remembered for the program. */
unsigned rename_end(void);
/* The context is gone, or this is the child of a fork. */
void rename_forget(void);

#endif
