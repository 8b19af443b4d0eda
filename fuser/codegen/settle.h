/* SPDX-License-Identifier: Apache-2.0
 * Takes the choice to contract from the compiler, where the program's code shows what was chosen. A product
 * or a sum that can be given .rn without changing the code of the kernel compiled alone is not contracted
 * there: it is given .rn in every fused kernel. What stays free is contracted in the program, so a fused
 * kernel has as many fused multiply-adds as its members together only if each of them is contracted again:
 * equal counts can hide no exchange. */
#ifndef KFUSE_FUSER_CODEGEN_SETTLE_H
#define KFUSE_FUSER_CODEGEN_SETTLE_H

#include "fuser/codegen/cubin.h"
#include "ptx/ptx.h"

/* One flag an instruction: gets .rn. loaded: what the kernel compiled alone reproduces, with at most
 * max_registers (0: no limit). NULL when not all of it could be settled: too many sums and products, or the
 * code changes. */
const bool *settle_rounding(struct arena *arena, const struct ptx_function *function,
                            const struct cubin *loaded, uint32_t sm, uint32_t max_registers);

#endif
