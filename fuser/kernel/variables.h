/* SPDX-License-Identifier: Apache-2.0
 * The variables of its module that a kernel names (__device__ and __constant__). A fused kernel is a module
 * of its own, and gets their addresses in the program's instance as words behind the members' arguments
 * (common/plan.h): in order of first appearance in the PTX, 8 bytes each, from the end of the parameter
 * buffer on. */
#ifndef KFUSE_FUSER_KERNEL_VARIABLES_H
#define KFUSE_FUSER_KERNEL_VARIABLES_H

#include "ptx/ptx.h"

struct variables {
    const struct ptx_variable **items;
    uint32_t count;
};
/* In the arena; false when memory is out. */
bool variables_collect(struct arena *arena, const struct ptx_function *function, struct variables *variables);
/* Where the index-th one's address lies among the words of a launch. */
uint32_t variables_offset(const struct ptx_function *function, uint32_t index);

/* A read-only table of the mathematical library (__cudart_...): each module has one of its own, all alike. */
bool variables_is_table(const struct ptx_variable *variable);
/* A __device__ or __constant__ variable of a module. */
bool variables_is_one(const struct ptx_variable *variable);

#endif
