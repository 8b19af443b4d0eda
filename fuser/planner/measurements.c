/* SPDX-License-Identifier: Apache-2.0
 * Measurements as reasons; see measurements.h. */
#include "fuser/planner/measurements.h"

#include "common/measured.h"
#include "fuser/planner/guards.h"

#include <limits.h>
#include <string.h>

static bool read_named(struct search *search, struct measured *measured)
{
    const char *path = search->options->measured_path;
    measured_read(measured, path);
    if (measured->group_count) return true;
    search->error = arena_printf(search->arena,
                                 "%s: no measurements of %s with driver %u: `kfuse run` leaves them in the "
                                 "plan folder, files measured-KEY",
                                 path, measured->device, measured->driver_version);
    return false;
}

static void read_beside_plan(const struct search *search, struct measured *measured)
{
    char path[PATH_MAX];
    for (int in_cache = 0; in_cache < 2; in_cache++)
        if (measured_path(path, sizeof path, search->options->plan_path, measured->device,
                          measured->driver_version, in_cache))
            measured_read(measured, path);
}

static bool has_loser(const struct measured *measured)
{
    for (uint32_t i = 0; i < measured->group_count; i++) {
        struct gain gain = measured_gain(&measured->groups[i]);
        if (gain_loses(&gain)) return true;
    }
    return false;
}

bool measurements_read(struct search *search)
{
    const struct trace_device *device = &search->program->device;
    if (search->options->ignores_measured || search->options->keeps_losing) return true;
    struct measured *measured = arena_alloc(search->arena, sizeof *measured);
    if (!measured) return false;
    measured_start(measured, device->name, device->driver_version);
    if (search->options->measured_path) {
        if (!read_named(search, measured)) return false;
    } else {
        read_beside_plan(search, measured);
    }
    if (has_loser(measured)) search->measured = measured;
    return true;
}

static struct measured_step step_of(const struct search *search, const struct search_group *planned,
                                    const struct group_conditions *conditions, uint32_t index)
{
    const struct program *program = search->program;
    const struct trace_launch *launch = program->launches[planned->launches[index]].record;
    const struct program_kernel *kernel = &program->kernels[launch->kernel];
    const struct step_condition *condition = &conditions->steps[index];
    struct measured_step step = {.module = program->modules[kernel->record->module].record->hash,
                                 .kernel = kernel->name,
                                 .role = planned->roles[index],
                                 .dynamic_shared = launch->dynamic_shared,
                                 .arguments_size = launch->arguments_size,
                                 .mask = condition->mask,
                                 .value = condition->value,
                                 .guards = condition->checks,
                                 .guard_count = condition->check_count};
    memcpy(step.grid, launch->grid, sizeof step.grid);
    memcpy(step.block, launch->block, sizeof step.block);
    return step;
}

/* As measured_identity_of finds it in the plan. False when memory is out. */
static bool identity_of(struct search *search, const struct search_group *planned, struct hash128 *identity)
{
    const struct group_conditions *conditions = guards_make(search, planned);
    *identity = measured_identity_begin(search_flags(planned));
    for (uint32_t s = 0; conditions && s < planned->step_count; s++) {
        const struct measured_step step = step_of(search, planned, conditions, s);
        *identity = measured_identity(*identity, &step);
    }
    return conditions;
}

const char *measurements_refusal(struct search *search, const struct search_group *planned,
                                 double original_ns)
{
    struct hash128 identity;
    if (!search->measured || !identity_of(search, planned, &identity)) return NULL;
    const struct measured_group *group = measured_find(search->measured, identity, 0);
    struct gain gain = group ? measured_gain(group) : (struct gain){0};
    if (!gain_loses(&gain)) return NULL;
    return arena_printf(
        search->arena, "measured %.1f%% slower on %s: a use takes %.2f us longer than its kernels",
        original_ns > 0 ? -100 * gain.mean / original_ns : 0, search->measured->device, -gain.mean / 1e3);
}
