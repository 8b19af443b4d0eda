/* SPDX-License-Identifier: Apache-2.0
 * Kernels that use the place of their thread in its block, and of the block in the grid, for the thread's global index alone:
 * ctaid * ntid + tid. */
#ifndef KFUSE_FUSER_KERNEL_GLOBAL_INDEX_H
#define KFUSE_FUSER_KERNEL_GLOBAL_INDEX_H

#include "ptx/ptx.h"

/* Along x, y or z (0, 1, 2): wherever the function reads tid or ctaid, it is for that sum. So the global index may stand for tid where
 * 0 stands for ctaid. False also where memory is out. */
bool global_index_is_all(const struct ptx_function *function, int dimension);

#endif
