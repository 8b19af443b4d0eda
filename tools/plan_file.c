/* SPDX-License-Identifier: Apache-2.0
 * Reads plan.json. */
#include "tools/plan_file.h"
#include "fuser/planner/plan_folder.h"
#include "tools/commands.h"

#include <limits.h>
#include <stdio.h>

json_t *plan_file_open(const char *command, const char *directory)
{
    char path[PATH_MAX];
    json_error_t error;
    plan_folder_recover(directory);
    snprintf(path, sizeof path, "%s/plan.json", directory);
    json_t *plan = json_load_file(path, 0, &error);
    if (plan && json_is_array(json_object_get(plan, "groups"))) return plan;
    command_error(command, "%s: %s; make the plan again with 'kfuse plan -o %s TRACE'", path,
                  plan ? "not a plan" : error.text, directory);
    json_decref(plan);
    return NULL;
}

const char *plan_file_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

long long plan_file_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_real(value) ? (long long)json_real_value(value) : (long long)json_integer_value(value);
}
