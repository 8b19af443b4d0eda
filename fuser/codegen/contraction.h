/* SPDX-License-Identifier: Apache-2.0
 * A kernel's products and sums with the choice to contract taken from the compiler: some get .rn, and into
 * some sums a product is contracted by an explicit fused multiply-add. Whether that is what the program's
 * code does, recover.h finds out. */
#ifndef KFUSE_FUSER_CODEGEN_CONTRACTION_H
#define KFUSE_FUSER_CODEGEN_CONTRACTION_H

#include "common/arena.h"
#include "ptx/ptx.h"

/* Of one instruction; all 0: it stays as it is. */
struct contraction {
    bool round;       /* a product or a sum: it gets .rn */
    uint8_t summand;  /* a sum, 1 or 2: the operand whose product is contracted into it; 0: none */
    uint8_t negated;  /* 1 to 3: the operand of that fused multiply-add whose sign changes; 0: none */
    uint32_t product; /* the instruction whose result the summand is */
};

/* Whether a fused multiply-add can stand for a product and this sum: one type, no saturation, .ftz in both or
 * in none. */
bool contraction_fits(const struct ptx_instruction *product, const struct ptx_instruction *sum);
/* Fills parts with the one or two instructions that stand for this one, and returns how many; 0 when memory
 * is out. scratch: of the sum's type, written by the first of two. */
uint32_t contraction_parts(struct arena *arena, const struct ptx_function *function,
                           const struct contraction *contractions, uint32_t index,
                           const struct ptx_operand *scratch, struct ptx_instruction parts[2]);
/* Some product or sum is neither rounded nor part of a fused multiply-add. */
bool contraction_leaves_choice(const struct ptx_function *function, const struct contraction *contractions);
/* Some sign changes: scratch registers are needed. */
bool contraction_needs_scratch(const struct ptx_function *function, const struct contraction *contractions);
/* changed: the whole function so, for printing alone. False when memory is out. */
bool contraction_apply(struct arena *arena, const struct ptx_function *function,
                       const struct contraction *contractions, struct ptx_function *changed);

#endif
