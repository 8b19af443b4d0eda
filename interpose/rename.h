/* SPDX-License-Identifier: Apache-2.0
 * Arrays that a group's kernel reads in one buffer and writes in another (struct plan_rename): where the old
 * contents are, where the new ones go, and how the arrays come to have what the program expects.
 *
 * States of a range. NONE: the array has what it should have. AWAY: the last use wrote the second buffer; the array
 * is stale in the bytes that it wrote. HERE: the last use read the second buffer and wrote the array, and
 * the buffer is still equal to it but for what the next use will write (only where a rename is PARTIAL;
 * otherwise this is NONE). NONE -> AWAY -> NONE or HERE -> AWAY by uses of the same range in the same
 * stream; AWAY, HERE -> NONE by rename_end, which copies back what is away. While a range is not NONE
 * the queue announces it as if a launch were held: whoever could see an array, or write one, ends it first (queue.h).
 *
 * Who need not end it, in a program of one thread and without streams of its own: launches of which the plan lists all that they
 * touch. (Else somebody may be writing what uses neither read nor write, all the while; the host sees without a call that it is
 * done, and makes a launch that reads it.) What they touch of the range
 * must lie in it wholly, and their pointer to it must be a word that serves for addresses alone (PLAN_TOUCH_MOVABLE). Where the
 * range is AWAY such a word is moved: the launch reads and writes the second buffer, as the array would be if nothing were
 * renamed. In a PARTIAL range it may write what uses do not write, and read. So boxes that it writes (plan_effect) are noted, and
 * copied to the other buffer before the next use, which goes there.
 *
 * Why nobody sees a difference. Whoever may read or write such bytes while a use runs is in a race with it in
 * the program, too. So he is ordered behind it, by a call that comes to the queue first (a use's kernel has
 * no atomics, fences or volatile accesses by which others could tell): the copies are in the use's stream,
 * behind it, before that call is in the driver. They write only bytes that a use or a launch whose words were moved has
 * written; the others of the range may be written by anyone at any time. A byte that is read in the second buffer is one that the
 * use before has read or written as well, or such a launch, so whoever has written it since was ordered behind that use, and
 * has ended the state.
 *
 * All with the queue's lock and the queue's context current. */
#ifndef KFUSE_INTERPOSE_RENAME_H
#define KFUSE_INTERPOSE_RENAME_H

#include "common/plan.h"
#include "interpose/held.h"

#include <stdbool.h>
#include <stdint.h>

#define RENAME_NONE UINT32_MAX
enum { RENAME_EFFECTS_MOST = 128 /* of a group whose words may be moved */ };

/* The launches of a complete pattern. */
struct rename_use {
    const struct plan *plan;
    uint32_t group;
    const struct plan_variant *variant; /* NULL: a bystander */
    const struct held *held;            /* by step of the group; words are moved in place */
    CUstream stream;
    bool is_alone;  /* nobody but this stream has work */
    bool is_behind; /* all but launches of PLAN_AFTER are with the driver */
};

extern uint32_t rename_ranges; /* that are on: numbers below */
static inline bool rename_is_on(void)
{
    return __builtin_expect(rename_ranges, 0);
}
/* Their stream. */
CUstream rename_stream(void);
/* A range that is on: the array, and its second buffer. */
struct rename_place {
    uint64_t address, shadow, bytes;
    bool is_away;
};
struct rename_place rename_place(uint32_t range);
/* Pieces of the range are to be copied to the other buffer before the next use. */
bool rename_has_mirrors(uint32_t range);
/* Where the use's i-th own range lies; false: it has no more. *range: its number, or RENAME_NONE where it is not on. */
bool rename_own_place(const struct rename_use *use, uint32_t i, struct rename_place *place, uint32_t *range);

/* The variant may be used now: its ranges lie in plain allocations and apart. */
bool rename_fits(const struct rename_use *use);
/* A range that must be ended before these launches, or RENAME_NONE. */
uint32_t rename_in_the_way(const struct rename_use *use);
/* When none is: moves words that point into what is away, and notes what is written. */
void rename_move(const struct rename_use *use);
/* Of these steps, members that read ranges that the use renames: words that point there are moved to the buffer in which they find
 * what they read. Between rename_begin and rename_done. */
void rename_move_members(const struct rename_use *use, uint32_t steps);
/* The launches are with the driver: their words are no longer known. */
void rename_settle(void);
/* Before the launch of what fits: puts the distances into the fused kernel's parameters. False when there are no buffers to be
 * had; then, or if the launch fails, rename_end. */
bool rename_begin(const struct rename_use *use, unsigned char *parameters);
/* The launch has succeeded. keeps_buffers: also those of ranges that have come back whole: a deferred store may need what is there.
 */
void rename_done(const struct rename_use *use, bool keeps_buffers);
/* Copies back what is away of one range; the number of copies. An error of theirs is remembered for the program. What words of
 * launches that are not settled were moved is undone. Ranges behind it get lower numbers. */
unsigned rename_end_range(uint32_t range);
/* Of all. */
unsigned rename_end(void);
/* The context is gone, or this is the child of a fork. */
void rename_forget(void);

#endif
