/* SPDX-License-Identifier: Apache-2.0
 * kfuse explain --source: the C for reading that lies in a plan folder, of groups and kernels. */
#include "tools/commands.h"
#include "common/symbol.h"
#include "tools/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int print_file(const char *folder, const char *name)
{
    char path[4096], buffer[8192];
    if (strchr(name, '/') || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return command_error("explain", "%s: not a file of a plan", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return command_error("explain", "%s: %s; make the plan again with 'kfuse plan -o %s TRACE'", path,
                             strerror(errno), folder);
    for (size_t count; (count = fread(buffer, 1, sizeof buffer, file)) > 0;) fwrite(buffer, 1, count, stdout);
    bool is_read = !ferror(file);
    fclose(file);
    printf("\n");
    return is_read ? COMMAND_DONE : command_error("explain", "%s: cannot be read", path);
}

static bool is_wanted(const json_t *object, const char *wanted)
{
    char name[EXPLAIN_NAME_SIZE];
    const char *own = plan_file_text(object, "name");
    return !wanted || !strcmp(own, wanted) || !strcmp(symbol_name(own, name, sizeof name), wanted);
}

int explain_source(const json_t *plan, const char *folder, const char *wanted)
{
    static const char *const lists[] = {"groups", "kernels"};
    int status = COMMAND_DONE;
    bool is_found = false;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        size_t i;
        json_t *object;
        json_array_foreach(json_object_get(plan, lists[l]), i, object)
        {
            const char *file = plan_file_text(object, "readable");
            if (!is_wanted(object, wanted) || status != COMMAND_DONE) continue;
            is_found = true;
            if (*file)
                status = print_file(folder, file);
            else
                printf("/* %s: %s */\n\n", plan_file_text(object, "name"), plan_file_text(object, "refusal"));
        }
    }
    if (is_found) return status;
    return command_error("explain", "%s: no group or kernel %s; 'kfuse explain %s' names them", folder,
                         wanted ? wanted : "", folder);
}
