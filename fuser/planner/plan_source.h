/* SPDX-License-Identifier: Apache-2.0
 * Kernels and groups of a plan as C for reading: the files that `kfuse explain --source` shows. */
#ifndef KFUSE_FUSER_PLANNER_PLAN_SOURCE_H
#define KFUSE_FUSER_PLANNER_PLAN_SOURCE_H

#include "fuser/planner/search.h"

/* Names of the files in the plan folder, in the search's arena. A kernel without PTX has none: NULL. */
const char *plan_source_kernel_file(const struct search *search, uint32_t kernel);
const char *plan_source_group_file(const struct search *search, const struct search_group *group);
/* Their texts, to be freed with free(); what cannot be read says why. NULL when memory is out. */
char *plan_source_kernel(const struct search *search, uint32_t kernel);
char *plan_source_group(const struct search *search, const struct search_group *group);

#endif
