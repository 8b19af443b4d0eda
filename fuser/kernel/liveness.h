/* SPDX-License-Identifier: Apache-2.0
 * Which registers are read before they are written. */
#ifndef KFUSE_FUSER_KERNEL_LIVENESS_H
#define KFUSE_FUSER_KERNEL_LIVENESS_H

#include "fuser/kernel/ssa.h"

struct liveness {
    uint32_t registers;
    unsigned char *live; /* block x register: from the block's beginning on */
};
/* In the arena. NULL, or why not. */
const char *liveness_compute(struct liveness *liveness, struct arena *arena, const struct ssa *ssa);
bool liveness_of(const struct liveness *liveness, uint32_t block, int32_t reg);

#endif
