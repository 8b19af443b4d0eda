/* SPDX-License-Identifier: Apache-2.0
 * A control flow graph as nested statements: loops, conditions, and gotos for what fits in neither. A block
 * is placed inside the branch that alone leads to it, or behind the block or the loop that dominates it
 * (after N. Ramsey, Beyond Relooper, ICFP 2022). A graph with a loop of two entries becomes a row of blocks
 * with gotos. Internal to fuser/decompile. */
#ifndef KFUSE_FUSER_DECOMPILE_FLOW_H
#define KFUSE_FUSER_DECOMPILE_FLOW_H

#include "fuser/kernel/loops.h"

enum flow_kind {
    FLOW_BLOCK,  /* its statements, without the branch at the end */
    FLOW_IF,     /* the branch of block: first when it is taken, second when not */
    FLOW_SWITCH, /* brx of block: one case a successor, in first and its next */
    FLOW_CASE,   /* first: what to do */
    FLOW_LOOP,   /* first, for ever; a statement at the end is followed by the next round */
    FLOW_GOTO,   /* to target */
    FLOW_BREAK,
    FLOW_CONTINUE,
    FLOW_RETURN,
};
struct flow_node {
    enum flow_kind kind;
    uint32_t block, target;
    struct flow_node *first, *second, *next;
};
struct flow {
    struct flow_node *body;
    bool *is_label; /* by block: some goto leads to it */
};

/* NULL when memory is out. */
struct flow *flow_build(struct arena *arena, const struct dominators *dominators);

#endif
