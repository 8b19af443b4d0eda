/* SPDX-License-Identifier: Apache-2.0
 * The C around a member's body: from the fused kernel's coordinates to the member's, and which threads run
 * it. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_REMAP_CODE_H
#define KFUSE_FUSER_CODEGEN_REMAP_CODE_H

#include "fuser/codegen/body.h"

/* Writes declarations of the coordinates that the body takes, and opens as many braces as it returns. */
uint32_t remap_code_open(const struct body *body, FILE *out);
/* What the source needs before the kernel. */
void remap_code_prelude(const struct group *group, FILE *out);

#endif
