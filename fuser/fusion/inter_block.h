/* SPDX-License-Identifier: Apache-2.0
 * Inter-block fusion: members that have nothing to do with each other run beside each other, each in blocks of its own. The fused
 * launch is a line of blocks; those from a member's first one on run that member. It is for launches that leave multiprocessors idle,
 * and for many small ones.
 *
 * The rules:
 * 1. No two members touch one byte that either writes. Blocks have no order, and any two may run at a time.
 * 2. A member whose blocks must stay whole (barriers, shared memory, warp collectives) has them as they are, thread by thread: the
 * thread's number in its block is the same, and so are warps. Where the fused block has more threads, the rest of them end at once.
 * They are no part of any barrier then; a part of a warp is not cut off, though, as barriers are of whole warps.
 * 3. Of the other members, threads are numbered through, and take as many blocks as they fill.
 * 4. Nothing passes between members, and each member's shared memory begins where all others' does. */
#ifndef KFUSE_FUSER_FUSION_INTER_BLOCK_H
#define KFUSE_FUSER_FUSION_INTER_BLOCK_H

#include "fuser/fusion/group.h"

/* Why these are no members of one such group, with a pair of them; in the arena. NULL: they are. */
const char *inter_block_refusal(struct arena *arena, struct memo *memo, const struct bound_launch *members,
                                uint32_t member_count);
/* Sets the legal group's grid, block and remaps, which there is room for: members of few blocks come first, as the device
 * begins blocks in order, and long ones would be late. */
void inter_block_place(struct group *group);

#endif
