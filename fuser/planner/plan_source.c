/* SPDX-License-Identifier: Apache-2.0
 * See plan_source.h. */
#include "fuser/planner/plan_source.h"
#include "fuser/decompile/decompile.h"
#include "fuser/decompile/group.h"
#include "fuser/planner/group_code.h"

#include <stdlib.h>

const char *plan_source_kernel_file(const struct search *search, uint32_t kernel)
{
    const struct program_kernel *info = &search->program->kernels[kernel];
    if (!info->function) return NULL;
    return arena_printf(search->arena, "kernel-%u-%s.c", kernel,
                        group_code_plain_name(search->arena, info->name));
}

const char *plan_source_group_file(const struct search *search, const struct search_group *group)
{
    return arena_printf(search->arena, "group-%s.c", group->name);
}

/* The stream's text, with the reason if something could not be read. */
static char *finish(FILE *out, struct arena *arena, char **text, bool is_whole, const char *reason)
{
    if (!is_whole) fprintf(out, "/* not readable: %s */\n", reason ? reason : "memory is out");
    bool is_written = !fclose(out);
    arena_free(arena);
    if (is_written) return *text;
    free(*text);
    return NULL;
}

char *plan_source_kernel(const struct search *search, uint32_t kernel)
{
    const struct program_kernel *info = &search->program->kernels[kernel];
    const struct decompile_options options = {.title = info->name};
    const char *reason = NULL;
    char *text = NULL;
    size_t size;
    struct arena *arena = arena_create();
    FILE *out = arena ? open_memstream(&text, &size) : NULL;
    if (!out) {
        arena_free(arena);
        return NULL;
    }
    bool is_whole = decompile_kernel(out, arena, info->function, &options, &reason);
    return finish(out, arena, &text, is_whole, reason);
}

char *plan_source_group(const struct search *search, const struct search_group *group)
{
    const char *reason = NULL;
    char *text = NULL;
    size_t size;
    (void)search;
    struct arena *arena = arena_create();
    FILE *out = arena ? open_memstream(&text, &size) : NULL;
    if (!out) {
        arena_free(arena);
        return NULL;
    }
    bool is_whole = decompile_group(out, arena, group->group, group->name, &reason);
    return finish(out, arena, &text, is_whole, reason);
}
