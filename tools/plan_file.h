/* SPDX-License-Identifier: Apache-2.0
 * plan.json for the commands that show plans; its layout is in fuser/planner/planner.h. Missing or foreign
 * fields read as empty texts and zeros: people edit this file. */
#ifndef KFUSE_TOOLS_PLAN_FILE_H
#define KFUSE_TOOLS_PLAN_FILE_H

#include <jansson.h>

/* Reads DIRECTORY/plan.json. NULL when it is no plan, after a message in the name of the command. json_decref
 * frees. */
json_t *plan_file_open(const char *command, const char *directory);
const char *plan_file_text(const json_t *object, const char *key);
long long plan_file_number(const json_t *object, const char *key);

#endif
