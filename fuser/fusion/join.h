/* SPDX-License-Identifier: Apache-2.0
 * Joins the loops of consecutive members (struct group_join): their iterations run in turn, so that what one
 * reads or computes in an iteration the next has in a register. Internal to fuser/fusion.
 *
 * A loop can be joined that is outermost. In a join each fused thread runs one thread of each member, and
 * every conflict between members lies within a thread (space_place_all). What ran as p, then q, runs
 * otherwise: an iteration of q before later iterations of p, q's code before a loop before p's loop. That is
 * legal where no byte is touched by two that change places, one of them writing. Iterations are counted from
 * 0 for each loop and thread: an unrolled loop meets an unrolled one, the rest of its iterations the rest of
 * the other's. Where q's iteration j needs p's iteration j + 1, q is shifted by one iteration, and what it
 * does before its loop, if that needs p's first iterations, is done in the joint iteration in which it
 * begins.
 *
 * Where threads of a member meet, in a block or a warp, they must meet in the join as they do in the launch:
 * - Each thread runs just the member's instructions, in the member's order, however members alternate; and
 * the joint iterations are the same for all threads, segment by segment. So where all threads of a block
 * reach a barrier together (the member is not early-exit divergent, uniform.h), they reach it together in the
 * join, and between the same two barriers of others: none waits at another one.
 * - That is so between loops. Inside, joint iterations depend on how often a thread iterates. A loop with a
 * barrier in it is not joined: it belongs to the code between loops. A loop with a warp collective in it is
 * joined only where each thread iterates it as often in every member, which is proved: it is then one plain
 * loop, left by the member's own condition, which its warp agrees on.
 * - What a member does before its loop, and has to wait for the first iteration, has neither.
 * - Threads of a warp that went different ways to a segment's beginning need not have met again at a barrier
 * behind it: barriers in a join allow that (barrier.sync). Those of a warp's collective wait for each other
 * anyway.
 * - Shared arrays of members lie side by side, as their code alternates with no barrier between. Before a
 * join there is one where it has what an earlier member had, and before a later member.
 *
 * A member without such loops, between members that have them, does all that it does before the loops; or it
 * ends the join. A join is kept only if a value passes in one of its loops. */
#ifndef KFUSE_FUSER_FUSION_JOIN_H
#define KFUSE_FUSER_FUSION_JOIN_H

#include "fuser/fusion/space.h"
#include "fuser/kernel/order.h"

enum { JOIN_MOST_SHIFT = 4 }; /* iterations; a value is kept for as many */

struct joining; /* a group's joins, and what was asked about iterations */

/* Fills group->joins. NULL when memory is out. Release with join_close. */
struct joining *join_open(struct group *group, struct space *space);
void join_close(struct joining *joining);
/* Takes away the joins in whose loops no value passes; true when there was one. */
bool join_prune(struct joining *joining);

/* Cuts iterations into unroll chunks, and sets what is in place, now that it is known which values pass.
 * False when memory is out. */
bool join_cut(struct joining *joining);

/* Both members are in one join, and both accesses in one loop of it, but in no loop inside that one. */
bool join_is_shared(const struct joining *joining, const struct placed_access *a,
                    const struct placed_access *b);
/* In no thread does a run after b, where their members are joined. Both are in no loop. */
bool join_keeps_order(const struct joining *joining, const struct placed_access *a,
                      const struct placed_access *b);

/* Of two that share a loop. Iteration j of inner meets iteration j + shift of outer `distance` iterations
 * after it. */
int32_t join_shift(const struct joining *joining, const struct placed_access *outer,
                   const struct placed_access *inner, uint32_t distance);
/* Whenever a thread makes `inner` in an iteration from `first` on, `outer` touches just these bytes so many
 * iterations before. */
bool join_covers(struct joining *joining, const struct placed_access *outer,
                 const struct placed_access *inner, uint32_t distance, uint32_t first);
/* Between access `first`, `distance` iterations before, and `last` of the same thread and loop, the thread
 * may make access `between`, and touch with it what `last` touches. Only for accesses of members from the
 * one's to the other's: all others keep their places. */
bool join_meets_between(struct joining *joining, const struct placed_access *first,
                        const struct placed_access *between, const struct placed_access *last,
                        uint32_t distance);

#endif
