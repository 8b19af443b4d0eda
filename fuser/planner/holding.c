/* SPDX-License-Identifier: Apache-2.0 */
#include "fuser/planner/holding.h"

#include "fuser/planner/profit.h"

struct lines { /* time at which the host has made its last call, the device run all that it was given */
    double host, device;
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double gap_before(const struct search *search, uint32_t launch)
{
    return (double)search->program->launches[launch].gap_ns;
}

static void follow_launch(struct search *search, struct lines *lines, uint32_t launch)
{
    lines->host += gap_before(search, launch) + search->projection.host_ns;
    lines->device = later(lines->host, lines->device + search->projection.gap_ns) +
                    (double)search_launch_time(search, launch);
}

/* Of launches that the group passes over: they run before or after it. */
static double passed_ns(struct search *search, const struct search_group *group, uint32_t first)
{
    double sum = 0;
    for (uint32_t i = 0, member = 0; i < group->step_count; i++) {
        if (member < group->member_count && group->member_steps[member] == i)
            member++;
        else
            sum += search->projection.gap_ns + (double)search_launch_time(search, first + i);
    }
    return sum;
}

static void follow_use(struct search *search, struct lines *lines, struct search_group *group, uint32_t first)
{
    double host = search->projection.host_ns, gaps = 0, calls = group->step_count;
    double passed = passed_ns(search, group, first), issued = calls - group->member_count + 1;
    lines->host += gap_before(search, first);
    for (uint32_t i = 1; i < group->step_count; i++) gaps += gap_before(search, first + i);
    double behind = later(lines->device + search->projection.gap_ns - lines->host, 0);
    double all_made = gaps + calls * host + search->projection.floor_ns;
    double apart = later(all_made, host + group->projected.original_ns);
    double unfused = later(all_made, later(host, behind) + passed + group->projected.original_ns);
    double fused = later(gaps + host, behind) + passed + group->projected.fused_ns;
    group->held_apart_ns += apart;
    group->held_gain_ns += unfused - fused;
    lines->device = lines->host + fused;
    lines->host += gaps + issued * host;
}

void holding_follow(struct search *search)
{
    const struct program *program = search->program;
    struct lines lines = {0};
    for (uint32_t i = 0; i < search->group_count; i++)
        search->groups[i]->held_apart_ns = search->groups[i]->held_gain_ns = 0;
    for (uint32_t i = 0; i < program->launch_count;) {
        struct search_group *group = search->start_of[i];
        if (program->launches[i].boundary) lines = (struct lines){0};
        if (group)
            follow_use(search, &lines, group, i);
        else
            follow_launch(search, &lines, i);
        i += group ? group->step_count : 1;
    }
}

bool holding_is_profitable(const struct search *search, const struct search_group *group)
{
    return search->program->device.is_emulated ||
           group->held_gain_ns >= search->options->margin * group->held_apart_ns;
}
