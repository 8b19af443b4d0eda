/* SPDX-License-Identifier: Apache-2.0
 * Last-block fusion: launches of few threads behind a large one. A sum of partial sums, a source or a receiver at some points, a
 * scalar of the next step. They may read whatever the members before them, the HEAD, have written, from any block, and write whatever
 * these read: none of the other kinds serves that. The head is a group of its own, of any kind. At its end each block arrives at a
 * counter, and the one that finds all others there runs the members behind, the TAIL, as a launch of one block does
 * (group_decide.c): each member's threads in turn, with barriers between. It is the way of threadFenceReduction in NVIDIA's samples.
 *
 * Why it is right. A block arrives behind a barrier of its own, by an atomic addition that releases; the last one goes on behind a
 * fence of the device and a barrier (PTX ISA 9.0, 8.9, memory consistency: release and acquire patterns, cumulative over the
 * barriers). So each access of the head happens before each of the tail, in whatever threads. No block waits for another one: it
 * cannot hang, whether or not all are resident.
 *
 * The rules:
 * 1. No thread of the head leaves the kernel early: the group is tied (group.h).
 * 2. Of a tail's member all threads run within the head's block, eight passes at most; one whose blocks must stay whole has one
 * block, of as many threads as the tail has. Threads of the head's block that the tail has no use for end at the counter.
 * 3. Nothing passes in registers or tiles from the head to the tail, nor are stores of the one left out for the other.
 * 4. What the tail loads and the group writes is loaded by plain loads (demotes, group.h). What is added up in an open order is one
 * member's alone here, too: what the tail makes of it would vary unseen.
 * 5. The head renames nothing. Not yet: the tail would have to know which buffer.
 * 6. The fused kernel's module has PLAN_ARRIVALS counters, one for each stream; which, is told with the launch (interpose/arrivals.h),
 * as launches of one stream follow each other. The last block finds it complete and leaves it zero. */
#ifndef KFUSE_FUSER_FUSION_LAST_BLOCK_H
#define KFUSE_FUSER_FUSION_LAST_BLOCK_H

#include "fuser/fusion/space.h"

/* Opens the space of a tail, in a block of at most so many threads: *threads. Members are placed by LINEAR or STRIDE. False when it
 * does not fit. */
bool last_block_open(struct space *space, struct memo *memo, struct arena *arena,
                     const struct bound_launch *members, uint32_t member_count, uint32_t most_threads,
                     uint32_t *threads);
/* The launch could be of the tail of a group whose blocks have so many threads. */
bool last_block_serves(const struct memo *memo, const struct bound_launch *launch, uint32_t most_threads);

#endif
