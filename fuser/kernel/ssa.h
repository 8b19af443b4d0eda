/* SPDX-License-Identifier: Apache-2.0
 * Static single assignment over a function's registers. The instructions stay as they are: every register that an
 * instruction reads or writes is given the number of a value. An instruction under a guard defines a value that
 * remembers the value before it. Phis are placed by Cytron et al.'s dominance frontiers, for registers that live
 * across blocks only. */
#ifndef KFUSE_FUSER_KERNEL_SSA_H
#define KFUSE_FUSER_KERNEL_SSA_H

#include "fuser/kernel/dominators.h"

enum ssa_kind { SSA_UNDEFINED, SSA_PHI, SSA_DEFINITION };
enum { SSA_NO_VALUE = 0 }; /* value 0 is the undefined one */

struct ssa_value {
    enum ssa_kind kind;
    int32_t reg;
    uint32_t block;
    uint32_t instruction; /* DEFINITION */
    uint32_t previous;    /* DEFINITION under a guard or of a vector's component: the value before it */
    uint32_t *arguments;  /* PHI: one a predecessor of the block */
};
struct ssa_register {
    int32_t reg;
    uint32_t value;
};
struct ssa_list {
    struct ssa_register *items;
    uint32_t count;
};
struct ssa {
    const struct dominators *dominators;
    struct ssa_value *values;
    uint32_t value_count, value_capacity;
    struct ssa_list *uses;        /* instruction -> registers that it reads, guard included */
    struct ssa_list *definitions; /* instruction -> registers that it writes */
    struct ssa_list *phis;        /* block -> its phis */
    struct arena *arena;
};

/* NULL when memory is out. Instructions of unreachable blocks have empty lists. */
struct ssa *ssa_build(struct arena *arena, const struct dominators *dominators);
/* The value of a register that the instruction reads. */
uint32_t ssa_use(const struct ssa *ssa, uint32_t instruction, int32_t reg);

/* Whether anything reads the value: an instruction, a phi, or a definition under a guard that may keep it. */
bool ssa_is_used(const struct ssa *ssa, uint32_t value);

#endif
