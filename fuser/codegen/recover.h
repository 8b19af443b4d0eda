/* SPDX-License-Identifier: Apache-2.0
 * Finds what the program's code chose to contract (contraction.h). First whole: every product and sum is
 * rounded or part of an explicit fused multiply-add, and the kernel so written, compiled alone, is the loaded
 * code byte for byte: then nothing is left to the compiler of a fused kernel, whatever stands beside it
 * there. Where that is not found, by counts: a sum is contracted where the code has fewer fused multiply-adds once it is
 * rounded alone; of two products the bytes say which one; and all together have as many as the loaded code. Else in part: what can
 * be given .rn alone without changing the code is not contracted there. What stays free is contracted in the program, so a fused kernel has as many fused
 * multiply-adds as its members together only if each of them is contracted again: equal counts can hide no
 * exchange. */
#ifndef KFUSE_FUSER_CODEGEN_RECOVER_H
#define KFUSE_FUSER_CODEGEN_RECOVER_H

#include "fuser/codegen/compiler.h"
#include "fuser/codegen/contraction.h"
#include "fuser/codegen/cubin.h"
#include "fuser/kernel/callees.h"

/* One an instruction of the kernel and what it calls. loaded: what the kernel compiled alone reproduces, with at most max_registers
 * (0: no limit). compiler as in compiler.h. NULL when nothing could be recovered: too many sums and products,
 * or the code changes. */
const struct contraction *recover_contractions(const struct compiler *compiler, struct arena *arena,
                                               const struct callees *callees, const struct cubin *loaded,
                                               uint32_t sm, uint32_t max_registers);

#endif
