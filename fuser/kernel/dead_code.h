/* SPDX-License-Identifier: Apache-2.0
 * Instructions whose results nobody needs, and branches that lead where the thread goes anyway. */
#ifndef KFUSE_FUSER_KERNEL_DEAD_CODE_H
#define KFUSE_FUSER_KERNEL_DEAD_CODE_H

#include "ptx/ptx.h"

/* A copy in the arena without them, weak loads among them; other instructions keep their operands, line and text. NULL when
 * memory is out, or the control flow can't be followed. */
const struct ptx_function *dead_code_remove(struct arena *arena, const struct ptx_function *function);

#endif
