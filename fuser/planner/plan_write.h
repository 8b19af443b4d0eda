/* SPDX-License-Identifier: Apache-2.0
 * Writes the plan folder: plan.json, group-NAME.cu and plan.bin. */
#ifndef KFUSE_FUSER_PLANNER_PLAN_WRITE_H
#define KFUSE_FUSER_PLANNER_PLAN_WRITE_H

#include "fuser/planner/search.h"

/* The text of plan.json, to be freed with free(); fills the counts of summary. NULL when memory is out. */
char *plan_json(struct search *search, const char *trace_name, struct planner_summary *summary);
/* Names of the plan's files but plan.json and plan.bin, in the search's arena. NULL when memory is out. */
const char **plan_files(struct search *search, uint32_t *count);
/* Creates the folder, or replaces the plan in it (plan_folder.h). False with a message; then an older plan is
 * as it was. */
bool plan_write(struct search *search, const char *directory, const char *json, char *error,
                size_t error_size);

#endif
