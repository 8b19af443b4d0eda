/* SPDX-License-Identifier: Apache-2.0
 * Parts of kfuse explain. */
#ifndef KFUSE_TOOLS_EXPLAIN_H
#define KFUSE_TOOLS_EXPLAIN_H

#include "tools/plan_file.h"

#include <stdbool.h>

/* The pairs of neighbouring launches, one a line; in full: shapes, values, the whole reason and the next
 * step. */
void explain_pairs(const json_t *plan, bool in_full);

/* What keeps the two kernels of this pair apart, in a line without its end. */
void explain_reason(const json_t *pair, const char *first, const char *second);

/* Groups and kernels as C, or the one of this name. Returns the command's status. */
int explain_source(const json_t *plan, const char *folder, const char *wanted);

/* "12x8x1" of an array of three. */
void explain_shape(const json_t *shape);

enum { EXPLAIN_NAME_SIZE = 256 };
/* The name of the kernel with this id, as in the source. */
const char *explain_kernel_name(const json_t *plan, long long id, char *name);

#endif
