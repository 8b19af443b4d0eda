/* SPDX-License-Identifier: Apache-2.0
 * Sets and forms over fused threads, as C. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_RELATION_TEXT_H
#define KFUSE_FUSER_CODEGEN_RELATION_TEXT_H

#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/set.h>

/* A set of fused threads, with the fused coordinates as parameters bz, by, bx, tz, ty, tx, so that isl prints them by
 * name. */
__isl_give isl_set *relation_text_set(__isl_keep isl_set *set);
/* As C; the caller frees it. NULL when isl gave up. */
char *relation_text(__isl_take isl_ast_expr *expression);
/* A coordinate of a remap as C; 0 where it has no thread. Else as relation_text. */
char *relation_text_value(isl_ast_build *build, __isl_keep isl_pw_multi_aff *coordinates, int d);

#endif
