/* SPDX-License-Identifier: Apache-2.0
 * What a kernel's code contracts (fuser/codegen/contraction.h), told of a copy of its function: without calls, with loads split, or
 * with several turns of a loop written once. Instructions that both have are told by their text. */
#ifndef KFUSE_FUSER_PLANNER_EXACTNESS_COPY_H
#define KFUSE_FUSER_PLANNER_EXACTNESS_COPY_H

#include "fuser/codegen/contraction.h"
#include "fuser/kernel/callees.h"

/* callees: the function and what it calls, for which contractions are. One entry for each instruction of the copy. NULL where that is
 * not told, or memory is out: products or sums of the copy are not of these functions, some choice is left, or the copy has but
 * one of several instructions that compute alike and the code does not treat them alike. */
const struct contraction *exactness_copy(struct arena *arena, const struct callees *callees,
                                         const struct contraction *contractions,
                                         const struct ptx_function *copy);

#endif
