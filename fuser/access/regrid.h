/* SPDX-License-Identifier: Apache-2.0
 * A launch of a kernel with a grid-stride loop (kernel/grid_stride.h), whose threads iterate, as one with a thread for
 * each iteration: other threads and blocks along x, the same work. It is what fusion looks at then; the program's own
 * launches stay as they are.
 *
 * What could go wrong, and what is asked:
 * 1. an iteration of the one launch is none of the other: the iterations that threads begin are known exactly, of both, and
 *    are the same numbers i = ctaid * ntid + tid + iteration * nctaid * ntid;
 * 2. numbers wrap: all threads of either grid have numbers less than 2^31; of a loop that was unrolled, all numbers that
 *    its form rests on (kernel/reroll.h), for the iterations of the launch;
 * 3. what tells how often the loop iterates is not guarded, as the other launch has no loop: words, contents and pointers that the
 *    analysis of the launch as it is rests on are guarded with those of the other's (regrid_guard);
 * 4. iterations of one thread, which ran one after the other, run at once: no iteration touches what another one writes
 *    (regrid_is_apart). That depends on where pointers lead, and is asked of every member of a group. */
#ifndef KFUSE_FUSER_ACCESS_REGRID_H
#define KFUSE_FUSER_ACCESS_REGRID_H

#include "fuser/access/binding.h"
#include "fuser/kernel/grid_stride.h"
#include "fuser/solver/memo.h"

/* What was asked of launches with their loops. */
struct regrid_seen {
    struct access_summary *summaries[2 * GRID_STRIDE_AXES]; /* or NULL */
    unsigned char *is_used; /* of each byte of the arguments, by other rules; or NULL */
    uint32_t arguments_size;
};
/* Rules 1 and 2: sets the function and the grid of *other, else a copy of the input; axis by axis. False where rules do
 * not hold. regrid_close frees what is seen, in either case. */
bool regrid_input(isl_ctx *ctx, const struct grid_strides *strides, const struct launch_input *input,
                  struct launch_input *other, struct regrid_seen *seen);
void regrid_close(struct regrid_seen *seen);
/* Rule 3. False when memory is out. */
bool regrid_guard(const struct regrid_seen *seen, struct access_summary *other);
/* Rule 4, as far as the launch alone tells, wherever its pointers lead: asked of each once, as one that fails it is better
 * seen as it is. */
bool regrid_may_be_apart(isl_ctx *ctx, const struct access_summary *summary);
/* Rule 4, and the same of loads that other threads run in the program (unstage.h); false also where it is not known. */
bool regrid_is_apart(struct memo *memo, const struct bound_launch *launch);

#endif
