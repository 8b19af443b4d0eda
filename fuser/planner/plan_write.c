/* SPDX-License-Identifier: Apache-2.0
 * What goes into the plan folder; how it gets there, plan_folder.h says. */
#include "fuser/planner/plan_write.h"

#include "common/plan_build.h"
#include "fuser/fusion/rename.h"
#include "fuser/planner/guards.h"
#include "fuser/planner/deferred.h"
#include "fuser/planner/memop.h"
#include "fuser/planner/overwrites.h"
#include "fuser/planner/plan_folder.h"
#include "fuser/planner/plan_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the files go. */
struct target {
    int folder;
    const char *directory;
    char *error;
    size_t error_size;
};

static bool stage(const struct target *target, const char *name, const char *text)
{
    return plan_folder_stage(target->folder, target->directory, name, text, target->error,
                             target->error_size);
}

/* Whose addresses the fused kernels want. */
static void add_variables(struct search *search, struct plan_builder *builder, uint32_t launch,
                          struct plan_kernel *planned)
{
    const struct access_summary *summary = search_class(search, launch)->summary;
    const struct variables *variables = summary ? &summary->variables : NULL;
    const char **names = variables ? arena_calloc(search->arena, variables->count + 1, sizeof *names) : NULL;
    if (!names) return;
    for (uint32_t i = 0; i < variables->count; i++) names[i] = variables->items[i]->name;
    planned->first_variable = plan_build_variables(builder, names, variables->count);
    planned->variable_count = variables->count;
}

static uint32_t add_kernel(struct search *search, struct plan_builder *builder, uint32_t launch)
{
    const struct program *program = search->program;
    const struct program_kernel *kernel = &program->kernels[program->launches[launch].record->kernel];
    const struct trace_kernel *record = kernel->record;
    struct plan_kernel planned = {
        .module = plan_build_module(builder, program->modules[record->module].record->hash),
        .name = plan_build_string(builder, kernel->name),
        .registers = record->registers,
        .static_shared = record->static_shared,
        .local_bytes = record->local_bytes,
        .parameter_bytes = record->parameter_bytes,
        .max_dynamic_shared = record->max_dynamic_shared,
    };
    planned.memop = memop_of_kernel(program, record->kernel, &planned.memop_width);
    add_variables(search, builder, launch, &planned);
    planned.first_sum = plan_build_sums(builder, kernel->sums, kernel->sum_count);
    planned.sum_count = kernel->sum_count;
    return plan_build_kernel(builder, &planned);
}

static void add_steps(struct search *search, struct plan_builder *builder, const struct search_group *group,
                      const struct group_conditions *conditions)
{
    for (uint32_t s = 0; s < group->step_count; s++) {
        const struct program_launch *launch = &search->program->launches[group->launches[s]];
        const struct step_condition *condition = &conditions->steps[s];
        struct plan_step step = {
            .kernel = add_kernel(search, builder, group->launches[s]),
            .role = group->roles[s],
            .dynamic_shared = launch->record->dynamic_shared,
            .arguments_size = launch->record->arguments_size,
            .max_gap_ns = s ? group->largest_gap_ns : 0,
        };
        memcpy(step.grid, launch->record->grid, sizeof step.grid);
        memcpy(step.block, launch->record->block, sizeof step.block);
        plan_build_step(builder, &step, condition->mask, condition->value, condition->checks,
                        condition->check_count);
    }
}

_Static_assert((int)RENAME_MOST <= (int)PLAN_RENAMES_LIMIT, "ranges of a group");

/* Two parameters each, old and new side by side. */
static void add_renames(struct plan_builder *builder, const struct search_group *group,
                        const struct codegen_result *code)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->group->rename_count; i++) {
        const struct group_rename *rename = &group->group->renames[i];
        uint64_t before = (uint64_t)group->widened[i].before, behind = (uint64_t)group->widened[i].behind;
        bool is_partial = rename->is_partial || before || behind;
        struct plan_box written = is_partial ? plan_box_of(&rename->written) : (struct plan_box){0};
        if (is_partial) written.from += before;
        while (!code->parameters[next].is_distance) next++;
        plan_build_rename(
            builder, &(struct plan_rename){.step = group->member_steps[rename->member],
                                           .offset = rename->argument_offset,
                                           .from = rename->from - (int64_t)before,
                                           .bytes = rename->bytes + before + behind,
                                           .destination_offset = code->parameters[next].destination_offset,
                                           .flags = is_partial ? PLAN_RENAME_PARTIAL : 0,
                                           .written = written,
                                           .before = before,
                                           .behind = behind});
        next += 2;
    }
}

_Static_assert((int)STALE_MOST <= (int)PLAN_STALES_LIMIT, "ranges of a group");

/* Among all that the plan will have. */
static uint32_t stale_number(const struct search *search, const struct search_group *of, uint32_t range)
{
    uint32_t number = 0;
    for (uint32_t g = 0; g < search->group_count; g++) {
        const struct search_group *group = search->groups[g];
        if (!group->is_kept || !group->deferred) continue;
        for (uint32_t i = 0; i < group->deferred->stale.count; i++) {
            if (group == of && i == range) return number;
            number += group->deferred->stale.ranges[i].is_stale;
        }
    }
    return number;
}

static struct plan_cover *covers_of(struct search *search, const struct search_group *group, uint32_t range,
                                    uint32_t *count)
{
    struct plan_cover *covers = arena_calloc(search->arena, search->cover_count + 1, sizeof *covers);
    *count = 0;
    for (uint32_t i = 0; covers && i < search->cover_count; i++) {
        const struct search_cover *cover = &search->covers[i];
        if (cover->by_group != group || cover->by != range) continue;
        covers[(*count)++] = (struct plan_cover){.stale = stale_number(search, cover->of_group, cover->of),
                                                 .distance = cover->distance};
    }
    return covers;
}

static void add_stales(struct plan_builder *builder, const struct search_group *group)
{
    const struct stale *stale = &group->deferred->stale;
    for (uint32_t i = 0; i < stale->count; i++) {
        const struct stale_range *range = &stale->ranges[i];
        if (!range->is_stale) continue;
        struct plan_stale planned = {.step = group->member_steps[range->range.writer],
                                     .offset = range->argument_offset,
                                     .from = range->from,
                                     .bytes = (uint64_t)(range->range.to - range->range.from)};
        if (range->left.width) {
            planned.flags = PLAN_STALE_PARTIAL;
            planned.left = plan_box_of(&range->left);
        }
        plan_build_stale(builder, &planned);
    }
}

/* Those that nothing was seen to need may still serve in other runs, where they are whole. */
static bool add_overwrites(struct search *search, struct plan_builder *builder,
                           const struct search_group *group)
{
    for (uint32_t i = 0; group->overwrites && i < group->overwrites->count; i++) {
        const struct overwrite *item = &group->overwrites->items[i];
        uint32_t count;
        const struct plan_cover *covers = covers_of(search, group, i, &count);
        if (!covers) return false;
        if (!count && !item->is_complete) continue;
        if (!item->is_used && item->stale == OVERWRITES_NOT_STALE) continue;
        plan_build_overwrite(
            builder,
            &(struct plan_overwrite){.step = item->step,
                                     .offset = item->argument_offset,
                                     .from = item->from,
                                     .bytes = item->bytes,
                                     .flags = item->is_complete ? PLAN_OVERWRITE_COMPLETE : 0},
            covers, count);
    }
    return true;
}

/* Members as steps. */
static uint32_t rematerialisation_of(const struct search_group *group)
{
    uint32_t steps = 0;
    for (uint32_t m = 0; m < group->member_count; m++)
        if (group->deferred->stale.rematerialisation >> m & 1) steps |= 1u << group->member_steps[m];
    return steps;
}

static bool add_variant(struct search *search, struct plan_builder *builder, const struct search_group *group,
                        const struct codegen_result *code, uint32_t rematerialisation)
{
    struct plan_parameter *parameters =
        arena_calloc(search->arena, code->parameter_count + 1, sizeof *parameters);
    const struct trace_device *device = &search->program->device;
    size_t size;
    void *fatbin = ptx_fatbin_write(search->arena, device->compute_major * 10 + device->compute_minor,
                                    code->ptx, code->cubin, code->cubin_size, &size);
    if (!parameters || !fatbin) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < code->parameter_count; i++) {
        const struct codegen_parameter *from = &code->parameters[i];
        if (from->is_distance || from->is_arrivals) continue;
        parameters[count++] = (struct plan_parameter){.step = group->member_steps[from->member],
                                                      .source_offset = from->source_offset,
                                                      .destination_offset = from->destination_offset,
                                                      .size = from->size};
    }
    struct plan_variant variant = {.parameter_bytes = code->parameter_bytes,
                                   .registers = code->registers,
                                   .dynamic_shared = code->dynamic_shared,
                                   .rematerialisation = rematerialisation};
    for (uint32_t i = 0; i < code->parameter_count; i++)
        if (code->parameters[i].is_arrivals)
            variant.arrivals_end = code->parameters[i].destination_offset + code->parameters[i].size;
    memcpy(variant.grid, group->group->grid, sizeof variant.grid);
    memcpy(variant.block, group->group->block, sizeof variant.block);
    plan_build_variant(builder, &variant, code->entry, fatbin, size, parameters, count, NULL, 0);
    return true;
}

/* The form that leaves ranges stale comes first. */
static bool add_variants(struct search *search, struct plan_builder *builder,
                         const struct search_group *group)
{
    const struct search_deferred *deferred = group->deferred;
    if (deferred) {
        if (!add_variant(search, builder, group, &deferred->code, rematerialisation_of(group))) return false;
        add_stales(builder, group);
        add_renames(builder, group, &deferred->code);
    }
    if (!add_variant(search, builder, group, &group->code, 0)) return false;
    add_renames(builder, group, &group->code);
    return true;
}

/* Its steps, and what they touch. */
static bool add_pattern(struct search *search, struct plan_builder *builder, const struct search_group *group,
                        uint32_t flags, struct projected projected)
{
    const struct group_conditions *conditions = guards_make(search, group);
    if (!conditions) return false;
    double gain = projected.original_ns - projected.fused_ns;
    double least = gain > 0 ? projected.fused_ns : projected.original_ns;
    plan_build_group(builder, group->name, flags, gain > 0 ? (uint64_t)gain : 0, (uint64_t)least);
    add_steps(search, builder, group, conditions);
    for (uint32_t i = 0; i < conditions->effect_count; i++)
        plan_build_effect(builder, &conditions->effects[i],
                          conditions->boxes + conditions->effects[i].first_box);
    return add_overwrites(search, builder, group);
}

static bool add_group(struct search *search, struct plan_builder *builder, const struct search_group *group)
{
    uint32_t unproven = group->unproven ? PLAN_NEEDS_VERIFICATION : 0;
    return add_pattern(search, builder, group, search_flags(group) | unproven,
                       group->deferred ? group->deferred->projected : group->projected) &&
           add_variants(search, builder, group);
}

static bool add_groups(struct search *search, struct plan_builder *builder)
{
    bool is_added = true;
    for (uint32_t i = 0; is_added && i < search->group_count; i++)
        if (search->groups[i]->is_kept) is_added = add_group(search, builder, search->groups[i]);
    for (uint32_t i = 0; is_added && i < search->bystander_count; i++)
        is_added =
            add_pattern(search, builder, &search->bystanders[i], PLAN_BYSTANDER, (struct projected){0});
    return is_added;
}

static const char *source_file(struct search *search, const struct search_group *group)
{
    return arena_printf(search->arena, "group-%s.cu", group->name);
}

static const char *deferring_file(struct search *search, const struct search_group *group)
{
    return arena_printf(search->arena, "group-%s_lazy.cu", group->name);
}

static const char *kernel_file(struct search *search, uint32_t k)
{
    const struct program_kernel *kernel = &search->program->kernels[k];
    return kernel->record && kernel->launches ? plan_source_kernel_file(search, k) : NULL;
}

const char **plan_files(struct search *search, uint32_t *count)
{
    size_t most = 3 * (size_t)search->group_count + search->program->kernel_count + 1;
    const char **names = arena_calloc(search->arena, most, sizeof *names);
    *count = 0;
    for (uint32_t i = 0; names && i < search->group_count; i++) {
        const struct search_group *group = search->groups[i];
        if (!group->is_kept) continue;
        names[(*count)++] = source_file(search, group);
        if (group->deferred) names[(*count)++] = deferring_file(search, group);
        names[(*count)++] = plan_source_group_file(search, group);
    }
    for (uint32_t k = 0; names && k < search->program->kernel_count; k++)
        if (kernel_file(search, k)) names[(*count)++] = kernel_file(search, k);
    return names;
}

/* The same as C for reading, and every kernel. text: freed here. */
static bool stage_readable(const struct target *target, const char *name, char *text)
{
    bool is_written = text && stage(target, name, text);
    if (!text) snprintf(target->error, target->error_size, "%s: out of memory", target->directory);
    free(text);
    return is_written;
}

static bool stage_group(struct search *search, const struct target *target, const struct search_group *group)
{
    return stage(target, source_file(search, group), group->code.source) &&
           (!group->deferred || stage(target, deferring_file(search, group), group->deferred->code.source)) &&
           stage_readable(target, plan_source_group_file(search, group), plan_source_group(search, group));
}

static bool stage_sources(struct search *search, const struct target *target)
{
    bool is_written = true;
    for (uint32_t i = 0; is_written && i < search->group_count; i++)
        if (search->groups[i]->is_kept) is_written = stage_group(search, target, search->groups[i]);
    for (uint32_t k = 0; is_written && k < search->program->kernel_count; k++)
        if (kernel_file(search, k))
            is_written = stage_readable(target, kernel_file(search, k), plan_source_kernel(search, k));
    return is_written;
}

static bool write_folder(struct search *search, struct plan_builder *builder, const struct target *target,
                         const char *json)
{
    if (stage_sources(search, target) && stage(target, "plan.json", json) &&
        plan_build_write(builder, target->directory, target->error, target->error_size)) {
        plan_folder_finish(target->folder);
        close(target->folder);
        return true;
    }
    plan_folder_abandon(target->folder, target->directory);
    return false;
}

bool plan_write(struct search *search, const char *directory, const char *json, char *error,
                size_t error_size)
{
    const struct trace_device *device = &search->program->device;
    struct plan_builder *builder = plan_build_start(search->arena);
    struct target target = {.directory = directory, .error = error, .error_size = error_size};
    uint32_t count;
    const char **names = plan_files(search, &count);
    bool built = builder && names;
    if (built) {
        plan_build_device(builder, device->name, device->compute_major, device->compute_minor,
                          device->driver_version, device->is_emulated);
        plan_build_source(builder, hash_bytes(json, strlen(json)));
    }
    if (!built || !add_groups(search, builder)) {
        snprintf(error, error_size, "%s: out of memory", directory);
        return false;
    }
    target.folder = plan_folder_open(directory, names, count, error, error_size);
    return target.folder >= 0 && write_folder(search, builder, &target, json);
}
