/* SPDX-License-Identifier: Apache-2.0
 * How many instructions a warp issues for its cells of a stage. A fused kernel's machine code is cut up by its PTX: what
 * stands in a stage's loop, as a share of all that is used, is that share of the machine code. What is not used (addresses of
 * values that come from a tile, branches' conditions that are left out), the assembler leaves out. */
#ifndef KFUSE_FUSER_CODEGEN_ISSUE_H
#define KFUSE_FUSER_CODEGEN_ISSUE_H

#include "fuser/codegen/codegen.h"

/* One a stage, of what most blocks run; in the arena. NULL: the PTX's loops are not those of the stages. */
double *issue_count(struct arena *arena, const struct codegen_result *result, const struct group *group);

#endif
