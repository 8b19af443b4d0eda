/* SPDX-License-Identifier: Apache-2.0
 * Calls replaced by what they call: a function whose direct calls of functions of its module are no calls any
 * more. What is passed goes through registers, or through local memory where pieces of a parameter are not
 * those that were passed. */
#ifndef KFUSE_FUSER_KERNEL_INLINE_H
#define KFUSE_FUSER_KERNEL_INLINE_H

#include "ptx/ptx.h"

/* The function itself where it calls nothing, or memory is out; else a copy in the arena, of the same name,
 * module and parameters. Calls that cannot be replaced stay: see inline_obstacle. Lines and texts of
 * instructions are the original's. */
const struct ptx_function *inline_calls(struct arena *arena, const struct ptx_function *function);
/* The function of the module that an instruction calls; NULL: no call, or one of what the module does not hold. */
const struct ptx_function *inline_callee(const struct ptx_function *function,
                                         const struct ptx_instruction *instruction);
/* Why this call is still there. */
const char *inline_obstacle(const struct ptx_function *function, const struct ptx_instruction *call);

#endif
