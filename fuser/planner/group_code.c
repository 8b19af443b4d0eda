/* SPDX-License-Identifier: Apache-2.0
 * Names of groups, which pointers are passed once, and by which argument each member is exact. */
#include "fuser/planner/group_code.h"

#include "common/symbol.h"
#include "fuser/access/pieces.h"
#include "fuser/planner/exactness.h"
#include "fuser/planner/profit.h"

#include <ctype.h>
#include <string.h>

const char *group_code_plain_name(struct arena *arena, const char *kernel_name)
{
    enum { LONGEST = 32 };
    size_t length;
    const char *name = symbol_last_name(kernel_name, &length);
    char *plain = arena_strndup(arena, name, length < LONGEST ? length : LONGEST);
    for (char *c = plain; c && *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return plain;
}

/* Of a group that starts with the same launch. */
static bool is_taken(const struct search *search, const char *name)
{
    for (uint32_t i = 0; i < search->group_count; i++)
        if (strcmp(search->groups[i]->name, name) == 0) return true;
    return false;
}

static const char *join_names(struct search *search, const struct search_group *planned, const char *name)
{
    enum { MOST_NAMED = 4 };
    for (uint32_t m = 0; name && m < planned->member_count && m < MOST_NAMED; m++) {
        const struct launch_class *class = search_class(search, planned->launches[planned->member_steps[m]]);
        const struct program_kernel *kernel = &search->program->kernels[class->kernel];
        name = arena_printf(search->arena, "%s_%s", name, group_code_plain_name(search->arena, kernel->name));
    }
    uint32_t more = planned->member_count > MOST_NAMED ? planned->member_count - MOST_NAMED : 0;
    return name && more ? arena_printf(search->arena, "%s_and_%u", name, more) : name;
}

const char *group_code_name(struct search *search, const struct search_group *planned)
{
    uint32_t first = planned->launches[0];
    const char *name = join_names(search, planned, arena_printf(search->arena, "g%u", first));
    for (uint32_t twin = 2; name && is_taken(search, name); twin++)
        name = join_names(search, planned, arena_printf(search->arena, "g%u_%u", first, twin));
    return name;
}

/* Pointers of members that point to one byte are passed once; guards make sure that they do. Of members pieces are arrays. */
static uint32_t find_aliases(const struct search_group *planned, const struct bound_launch *members,
                             struct codegen_alias *aliases)
{
    uint32_t count = 0;
    for (uint32_t m = 1; m < planned->member_count; m++) {
        const struct bound_launch *bound = &members[m];
        for (uint32_t b = 0; b < bound->summary->base_count; b++) {
            bool found = !access_has_word(&bound->summary->bases[b]);
            for (uint32_t n = 0; n < m && !found; n++) {
                const struct bound_launch *other = &members[n];
                for (uint32_t c = 0; c < other->summary->base_count && !found; c++) {
                    if (!access_has_word(&other->summary->bases[c])) continue;
                    if (other->bindings[c].array != bound->bindings[b].array) continue;
                    if (other->bindings[c].offset != bound->bindings[b].offset) continue;
                    found = true;
                    aliases[count++] = (struct codegen_alias){m, bound->summary->bases[b].argument_offset, n,
                                                              other->summary->bases[c].argument_offset};
                }
            }
        }
    }
    return count;
}

/* The argument for every member, and its code in the program where that is known to be what its PTX compiles
 * to. */
static bool find_exactness(struct search *search, struct search_group *planned,
                           struct codegen_reference *references)
{
    planned->exactness = arena_calloc(search->arena, planned->member_count + 1, sizeof *planned->exactness);
    for (uint32_t m = 0; planned->exactness && m < planned->member_count; m++) {
        const struct launch_class *class = search_class(search, planned->launches[planned->member_steps[m]]);
        struct program_kernel *kernel = &search->program->kernels[class->kernel];
        const struct exactness *exactness =
            exactness_of_copy(search->program, kernel, class->summary->function);
        if (!exactness) return false;
        planned->exactness[m] = exactness;
        references[m] =
            (struct codegen_reference){exactness->cubin, exactness->cubin_size, exactness->kernel,
                                       exactness->contractions, exactness->kind == EXACTNESS_EMULATED};
        if (exactness->kind == EXACTNESS_UNPROVEN && !planned->unproven)
            planned->unproven = arena_printf(search->arena, "kernel %s %s", kernel->name, exactness->text);
    }
    return planned->exactness;
}

/* Blocks for a share of the threads of a multiprocessor: memory-bound kernels lose bandwidth with less than half, stages that wait for
 * each other with less than three quarters. 0: these registers have room for so many. */
static uint32_t blocks_to_ask_for(const struct projection *projection, const struct group *group,
                                  const struct codegen_result *code, double share)
{
    uint32_t most;
    struct projection_kernel kernel = {.threads = group->block[0] * group->block[1] * group->block[2],
                                       .static_shared = code->static_shared + code->dynamic_shared};
    uint32_t without = projection_blocks(projection, &kernel, &most);
    uint32_t wanted = (uint32_t)(most * share);
    kernel.registers = code->registers;
    uint32_t with = projection_blocks(projection, &kernel, &most);
    if (group->stage_count && without < wanted) wanted = without; /* shared memory has room for no more */
    return with < wanted && without >= wanted ? wanted : 0;
}

static double fused_ns(struct search *search, const struct search_group *planned, struct group *group,
                       const struct codegen_result *code)
{
    struct search_group as_it_is = *planned;
    as_it_is.group = group;
    as_it_is.code = *code;
    as_it_is.is_compiled = true;
    return profit_project(search, &as_it_is, profit_saved_ns(search, &as_it_is, group)).fused_ns;
}

/* With fewer registers, if it does not spill then, and is not projected to take longer. */
static void compile_for_more_blocks(struct search *search, const struct search_group *planned,
                                    struct group *group, struct codegen_request *request,
                                    struct codegen_result *code)
{
    static const double shares[] = {0.75, 0.5};
    for (size_t i = group->stage_count ? 0 : 1; i < sizeof shares / sizeof *shares; i++) {
        struct codegen_result other;
        request->least_blocks = blocks_to_ask_for(&search->projection, group, code, shares[i]);
        if (!request->least_blocks) continue;
        codegen_compile(request, &other);
        bool is_better = !other.error &&
                         fused_ns(search, planned, group, &other) <= fused_ns(search, planned, group, code);
        codegen_result_clear(is_better ? code : &other);
        if (is_better) *code = other;
    }
}

void group_code_compile_form(struct search *search, struct search_group *planned, struct group *group,
                             const char *name, struct codegen_result *code)
{
    uint32_t bases = 0;
    for (uint32_t m = 0; m < planned->member_count; m++) bases += planned->bound[m].summary->base_count;
    struct codegen_alias *aliases = arena_calloc(search->arena, bases + 1, sizeof *aliases);
    struct codegen_reference *references =
        arena_calloc(search->arena, planned->member_count + 1, sizeof *references);
    struct bound_launch *members = arena_calloc(search->arena, planned->member_count + 1, sizeof *members);
    if (members) memcpy(members, planned->bound, planned->member_count * sizeof *members);
    if (!aliases || !references || !members || !pieces_part(search->arena, members, planned->member_count) ||
        !find_exactness(search, planned, references)) {
        code->error = "out of memory";
        return;
    }
    const struct trace_device *device = &search->program->device;
    struct codegen_request request = {
        .group = group,
        .name = name,
        .sm = device->compute_major * 10 + device->compute_minor,
        .aliases = aliases,
        .alias_count = find_aliases(planned, members, aliases),
        .references = references,
        .compiler = search->program->compiler,
    };
    codegen_compile(&request, code);
    if (!code->error) compile_for_more_blocks(search, planned, group, &request, code);
    if (!planned->unproven && !device->is_emulated && code->unproven)
        planned->unproven = arena_strdup(search->arena, code->unproven);
}

void group_code_compile(struct search *search, struct search_group *planned)
{
    group_code_compile_form(search, planned, planned->group, planned->name, &planned->code);
}
