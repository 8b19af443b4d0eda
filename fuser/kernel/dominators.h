/* SPDX-License-Identifier: Apache-2.0
 * Reverse postorder and dominators of a function's control flow graph. */
#ifndef KFUSE_FUSER_KERNEL_DOMINATORS_H
#define KFUSE_FUSER_KERNEL_DOMINATORS_H

#include "ptx/ptx.h"

enum { DOMINATORS_NONE = -1 };

struct dominators {
    const struct ptx_cfg *cfg;
    uint32_t *order; /* reachable blocks in reverse postorder */
    uint32_t order_count;
    int32_t *position; /* block -> its place in order, or DOMINATORS_NONE: unreachable */
    /* block -> immediate dominator; of the entry and of unreachable blocks DOMINATORS_NONE */
    int32_t *parent;
};

/* Cooper, Harvey, Kennedy: A simple, fast dominance algorithm. NULL when memory is out. */
struct dominators *dominators_build(struct arena *arena, const struct ptx_cfg *cfg);
bool dominators_is_reachable(const struct dominators *dominators, uint32_t block);
/* A block dominates itself. */
bool dominators_dominates(const struct dominators *dominators, uint32_t above, uint32_t below);

#endif
