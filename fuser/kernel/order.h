/* SPDX-License-Identifier: Apache-2.0
 * What may run before or after what inside one member, from its control flow; and the jumps to its end. */
#ifndef KFUSE_FUSER_KERNEL_ORDER_H
#define KFUSE_FUSER_KERNEL_ORDER_H

#include "ptx/ptx.h"

struct order {
    const struct ptx_function *function;
    struct ptx_cfg *cfg;      /* NULL: not known; then anything may follow anything */
    unsigned char *reachable; /* block_count x block_count: a path of one or more edges */
};
/* False when memory is out. */
bool order_open(struct order *order, struct arena *arena, const struct ptx_function *function);
/* Marks what can be reached from the successors of `from`, never entering `wall`, nor leaving by a closed
 * edge (flags of exits, or NULL). stack has room for every block. */
void order_walk(const struct ptx_cfg *cfg, uint32_t from, uint32_t wall, const bool *closed,
                unsigned char *seen, uint32_t *stack);
/* One thread may execute `later` after `earlier`. */
bool order_may_follow(const struct order *order, uint32_t earlier, uint32_t later);
/* A jump that, when taken, ends the member: a predicated ret or exit, or a predicated branch to one. */
bool order_is_exit(const struct ptx_function *function, uint32_t instruction);
/* Whether a thread executes `instruction` exactly when it takes none of the exits that lie before it; exits
 * (a flag an instruction) receives those. */
bool order_exits_decide(const struct order *order, uint32_t instruction, bool *exits);

#endif
