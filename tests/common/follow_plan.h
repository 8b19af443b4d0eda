/* SPDX-License-Identifier: Apache-2.0
 * Does with an accepted plan what replay does, without any check of its own. */
#ifndef KFUSE_TESTS_COMMON_FOLLOW_PLAN_H
#define KFUSE_TESTS_COMMON_FOLLOW_PLAN_H

#include "common/plan.h"

/* Follows a copy of the plan in a heap block of its exact size, where the address sanitizer sees its end.
 * Returns a sum over what was read. */
uint64_t follow_plan_copy(const struct plan *plan);

#endif
