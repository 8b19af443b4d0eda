/* SPDX-License-Identifier: Apache-2.0
 * The C around a member's body: from the fused kernel's coordinates to the member's, and which threads run
 * it. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_REMAP_CODE_H
#define KFUSE_FUSER_CODEGEN_REMAP_CODE_H

#include "fuser/codegen/body.h"

#include <isl/ast.h>

/* Writes declarations of the coordinates that the body takes, and opens as many braces as it returns. */
uint32_t remap_code_open(const struct body *body, FILE *out);
/* What the source needs before the kernel. */
void remap_code_prelude(const struct group *group, FILE *out);

/* A coordinate of a remap, and a set of fused threads, with the fused coordinates as parameters bz, by, bx,
 * tz, ty, tx, so that isl prints them by name. */
__isl_give isl_pw_aff *remap_code_value_by_name(__isl_keep isl_pw_multi_aff *coordinates, int d);
__isl_give isl_set *remap_code_set_by_name(__isl_keep isl_set *set);
/* As C; the caller frees it. NULL when isl gave up. */
char *remap_code_text(__isl_take isl_ast_expr *expression);

#endif
