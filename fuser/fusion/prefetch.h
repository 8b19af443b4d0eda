/* SPDX-License-Identifier: Apache-2.0
 * Where blocks march, a block's next turn reads the next layer, from memory, and every thread then waits for it. So loads ask for
 * what they will read in the next turn: a prefetch into the shared cache, which changes no register and no memory.
 *
 * The address is the load's own, a layer further. It must be one that the program itself reads: the load is exact, it moves on by
 * the same number of bytes from each layer to the next, and the thread a layer further makes it, too. Of several loads of one array
 * only the foremost asks. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_PREFETCH_H
#define KFUSE_FUSER_FUSION_PREFETCH_H

#include "fuser/fusion/space.h"

/* Fills the group's prefetches. placed_apart, by member: its threads have other cells' coordinates. False when memory is out. */
bool prefetch_list(struct group *group, const struct space *space, const bool *placed_apart);

#endif
