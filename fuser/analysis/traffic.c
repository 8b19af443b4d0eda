/* SPDX-License-Identifier: Apache-2.0
 * See traffic.h. */
#include "fuser/analysis/traffic.h"

/* Served without memory, or not made at all. */
static bool is_saved(const struct group *group, uint32_t member, uint32_t instruction)
{
    return group_forward_to(group, member, instruction) || group_fetch_to(group, member, instruction) ||
           group_drops(group, member, instruction);
}

/* One direction through one base: the sum over the accesses, at most what the base spans. group NULL: of the
 * launch alone. */
static uint64_t base_traffic(const struct group *group, uint32_t member, const struct access_summary *summary,
                             uint32_t base, bool is_write)
{
    uint64_t bytes = 0, span = UINT64_MAX;
    const struct access_base *of = &summary->bases[base];
    if (of->is_bounded && of->to > of->from) span = (uint64_t)(of->to - of->from);
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (access->base != base || (group && is_saved(group, member, access->instruction))) continue;
        if (access->kind == ACCESS_ATOMIC || (access->kind == ACCESS_WRITE) == is_write)
            bytes += access_traffic(summary, access);
    }
    return bytes < span ? bytes : span;
}

static uint64_t moved(const struct group *group, uint32_t member, const struct access_summary *summary,
                      bool is_write)
{
    uint64_t bytes = 0;
    for (uint32_t base = 0; base < summary->base_count; base++)
        bytes += base_traffic(group, member, summary, base, is_write);
    return bytes;
}

uint64_t traffic_of_launch(const struct access_summary *summary)
{
    return moved(NULL, 0, summary, false) + moved(NULL, 0, summary, true);
}

double traffic_repeated(const struct group *group, uint32_t member)
{
    double run = 1, own = 1;
    if (!group->stage_count) return 0;
    const struct group_stage *stage = group_stage_of(group, member);
    for (int d = 0; d < 3; d++) {
        own *= group->tile[d];
        run *= (double)(group->tile[d] + stage->low[d] + stage->high[d]);
    }
    return run / own - 1;
}

int64_t traffic_saved(const struct group *group)
{
    double saved = 0;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct access_summary *summary = group->members[m].summary;
        uint64_t loads = moved(group, m, summary, false);
        saved += (double)traffic_of_launch(summary) - (double)(loads + moved(group, m, summary, true)) -
                 traffic_repeated(group, m) * (double)loads;
    }
    return (int64_t)saved;
}
