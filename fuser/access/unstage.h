/* SPDX-License-Identifier: Apache-2.0
 * A launch whose blocks stage in shared memory what their threads then read (staging.h), as one whose threads read it where it lies:
 * no barriers, no shared memory, so that it fuses as plain stencils do. It is what fusion looks at; what its tiles are for, those of
 * the fused kernel do. The program's own launches stay as they are.
 *
 * What could go wrong, and what is asked:
 * 1. a thread reads other bytes than those that were staged: staging.h;
 * 2. they are read later, and by other threads, than the program reads them: nothing in the launch writes them
 *    (regrid_is_apart). That depends on where pointers lead, and is asked of every member of a group;
 * 3. a barrier orders more than shared memory: what a thread of the launch writes, no other one reads or writes (the same);
 * 4. the code has numbers of the launch: words, contents and pointers that they rest on are guarded (regrid_guard);
 * 5. loads whose values nobody stages any more are left out: weak loads alone, which show nothing;
 * 6. how values are computed: the copy has the kernel's own products and sums (planner/exactness_copy.h). */
#ifndef KFUSE_FUSER_ACCESS_UNSTAGE_H
#define KFUSE_FUSER_ACCESS_UNSTAGE_H

#include "fuser/access/staging.h"

/* A copy of the function, in the arena, for launches with this staging. NULL: it can't be written so, or memory is out. */
const struct ptx_function *unstage_function(struct arena *arena, const struct ptx_function *function,
                                            const struct staging *staging);
/* Of the copy's launch: what it reads in place of what was staged is known as well as what plain stencils read. */
bool unstage_is_simple(const struct access_summary *summary);
/* By instruction of the copy: loads that stand for ones from shared memory (launch_input.was_staged). NULL: memory is out. */
const bool *unstage_loads(struct arena *arena, const struct ptx_function *function,
                          const struct ptx_function *copy);

#endif
