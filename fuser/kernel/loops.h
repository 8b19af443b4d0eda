/* SPDX-License-Identifier: Apache-2.0
 * Natural loops, and for every loop's body (and the whole function outside loops) the post-dominators of the body seen
 * as an acyclic graph in which each inner loop is one node, stood for by its header. */
#ifndef KFUSE_FUSER_KERNEL_LOOPS_H
#define KFUSE_FUSER_KERNEL_LOOPS_H

#include "fuser/kernel/dominators.h"

enum { LOOPS_NONE = -1 }; /* as a loop: the function outside all loops; as a block: the end of a body */

struct loop {
    uint32_t header;
    int32_t parent;        /* the loop around, or LOOPS_NONE */
    uint32_t depth;        /* 1: outermost */
    int32_t postdominator; /* of the whole loop in the parent's body */
};
struct loop_forest {
    const struct dominators *dominators;
    struct loop *loops; /* outer before inner, else in order of the header */
    uint32_t loop_count, max_depth;
    int32_t *loop_of;       /* block -> innermost loop */
    int32_t *postdominator; /* block -> immediate post-dominator inside the body of its innermost loop */
};

/* NULL when memory is out, or with *reason when the control flow is irreducible. */
struct loop_forest *loops_build(struct arena *arena, const struct dominators *dominators,
                                const char **reason);
/* Whether inner is outer or lies inside it; LOOPS_NONE contains everything. */
bool loops_contains(const struct loop_forest *forest, int32_t outer, int32_t inner);
bool loops_contains_block(const struct loop_forest *forest, int32_t loop, uint32_t block);
/* The node that stands for block in the body of `loop`, which contains it. */
uint32_t loops_node(const struct loop_forest *forest, int32_t loop, uint32_t block);
/* The child of `loop` that contains `inner`, or LOOPS_NONE when inner is `loop`. */
int32_t loops_child_towards(const struct loop_forest *forest, int32_t loop, int32_t inner);
bool loops_is_back_edge(const struct loop_forest *forest, uint32_t from, uint32_t to);
/* The block with the only jump back, under a condition, which is the only way out of the loop; UINT32_MAX: there is no
 * such block. */
uint32_t loops_latch(const struct loop_forest *forest, int32_t loop);

#endif
