/* SPDX-License-Identifier: Apache-2.0
 * The contraction rule. ptxas may contract an unrounded product into a sum that uses it. Two changes of ours
 * could make it do so where the original did not: a product whose store is forwarded in a register gets the
 * uses of the load, and a product whose store is dropped loses a use. Both are sound only when the product
 * goes nowhere but into stores: then it is given .rn, which forbids contraction and changes nothing else. */
#ifndef KFUSE_FUSER_KERNEL_PRODUCT_H
#define KFUSE_FUSER_KERNEL_PRODUCT_H

#include "ptx/ptx.h"

enum product_state {
    PRODUCT_NONE,    /* the stored value is no unrounded product */
    PRODUCT_ROUND,   /* it may be one; each of them goes into stores alone: give them .rn */
    PRODUCT_BLOCKED, /* it may be one that has other uses, or that cannot be given .rn */
};
/* Where a compiler may choose how a kernel rounds. An index of an instruction, or PRODUCT_NOWHERE. */
#define PRODUCT_NOWHERE UINT32_MAX
struct product_choice {
    uint32_t product, sum; /* an unrounded product whose value may reach an unrounded sum */
    uint32_t expansion;    /* an operation that each compiler expands as it likes (div.full, sin.approx) */
};
/* Follows every product through registers and memory; whatever does not compute a new floating-point value
 * passes its operands on. False when the function cannot be followed (calls, unknown instructions) or memory
 * is out. */
bool product_find_choice(const struct ptx_function *function, struct product_choice *choice);
/* An unrounded product or sum of floating-point numbers. */
bool product_may_contract(const struct ptx_instruction *instruction);
/* The device approximates it: .approx, .full. A compiler that knows the operand may compute it another way. */
bool product_is_approximate(const struct ptx_instruction *instruction);
/* Looks at the value that a store instruction stores, through moves, negations and selections. round (may be
 * NULL; one flag an instruction) receives the products to be rounded, added to what it holds. */
enum product_state product_of_store(const struct ptx_function *function, uint32_t store, bool *round);

#endif
