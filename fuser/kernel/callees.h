/* SPDX-License-Identifier: Apache-2.0
 * A kernel and the functions of its module that it calls, directly or through others: what an assembler sees of it at once. */
#ifndef KFUSE_FUSER_KERNEL_CALLEES_H
#define KFUSE_FUSER_KERNEL_CALLEES_H

#include "common/arena.h"
#include "ptx/ptx.h"

struct callees {
    const struct ptx_function **functions; /* the kernel first, each once; before what it calls */
    uint32_t count;
    uint32_t instruction_count; /* of all: arrays with one entry each follow this order */
};

/* In the arena. False when memory is out. */
bool callees_find(struct arena *arena, const struct ptx_function *kernel, struct callees *callees);
/* Where the entries of the index-th function begin. */
uint32_t callees_first(const struct callees *callees, uint32_t index);

#endif
