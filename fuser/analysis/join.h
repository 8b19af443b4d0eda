/* SPDX-License-Identifier: Apache-2.0
 * Joins the loops of consecutive members (struct group_join): their iterations run in turn, so that what one
 * reads or computes in an iteration the next has in a register. Internal to fuser/analysis.
 *
 * A loop can be joined that is outermost, jumps back in one place, at its end, and is left there alone. The
 * members of a join have no barrier and share no memory within a block, each fused thread runs one thread of
 * each, and every conflict between them lies within a thread (frame_find). What ran as p, then q, runs
 * otherwise: iteration j of q before iteration i > j of p, q's code before a loop before p's loop. That is
 * legal where no byte is touched by two that change places, one of them writing. Iterations are counted from
 * 0 for each loop and thread: an unrolled loop meets an unrolled one, the rest of its iterations the rest of
 * the other's.
 *
 * A join is kept only if a value passes in one of its loops. */
#ifndef KFUSE_FUSER_ANALYSIS_JOIN_H
#define KFUSE_FUSER_ANALYSIS_JOIN_H

#include "fuser/analysis/frame.h"
#include "fuser/analysis/order.h"

struct joining; /* a group's joins, and what was asked about iterations */

/* Fills group->joins. NULL when memory is out. Release with join_close. */
struct joining *join_open(struct group *group, struct frame *frame);
void join_close(struct joining *joining);
/* Takes away the joins in whose loops no value passes; true when there was one. */
bool join_prune(struct joining *joining);

/* Both members are in one join, and both accesses in one loop of it, but in no loop inside that one. */
bool join_is_shared(const struct joining *joining, const struct placed_access *a,
                    const struct placed_access *b);
/* In no thread does a run after b, where their members are joined. */
bool join_keeps_order(const struct joining *joining, const struct placed_access *a,
                      const struct placed_access *b);
/* Of two that share a loop: whenever a thread makes `inner` in an iteration, `outer` touches just these bytes
 * in it. */
bool join_covers(struct joining *joining, const struct placed_access *outer,
                 const struct placed_access *inner);
/* a and b are in one loop of a join: they may touch a byte in the same iteration. */
bool join_may_touch(struct joining *joining, const struct placed_access *a, const struct placed_access *b);
/* Whether a thread may make access `between` after `first` and before `last`, in one iteration of the loop
 * that the latter two share. */
bool join_lies_between(const struct joining *joining, const struct placed_access *first,
                       const struct placed_access *between, const struct placed_access *last);

#endif
