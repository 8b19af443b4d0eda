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
 * Copies go to the stream of the uses, behind them, before anything that the program orders behind them. They
 * write only bytes that the use has written, which nobody else may touch until it is through. A use's kernel
 * has no atomics, no fences and no volatile accesses: nobody can learn that it has written but by a call.
 *
 * All with the queue's token and the queue's context current. */
#ifndef KFUSE_INTERPOSE_RENAME_H
#define KFUSE_INTERPOSE_RENAME_H

#include "common/plan.h"
#include "interpose/entry.h"

struct rename_use {
    const struct plan *plan;
    const struct plan_variant *variant;
    const unsigned char *const *arguments; /* by step of the group */
    CUstream stream;
};

/* The state is not NONE, or a use is between rename_begin and rename_done. */
bool rename_is_on(void);
/* Its stream. */
CUstream rename_stream(void);

/* The variant may be used now: its ranges lie in plain allocations and apart. Always, when it renames none.
 */
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
