/* SPDX-License-Identifier: Apache-2.0
 * See traffic.h. */
#include "fuser/analysis/traffic.h"

enum counted { /* of a member's accesses */
               COUNT_ALL,
               COUNT_MOVED,  /* those that are made */
               COUNT_FETCHED /* those that are made and not cached */
};

/* Served without memory, or not made at all. */
static bool is_saved(const struct group *group, uint32_t member, uint32_t instruction)
{
    const struct group_tile_access *tiled = group_tile_access_of(group, member, instruction);
    return group_forward_to(group, member, instruction) || group_fetch_to(group, member, instruction) ||
           group_drops(group, member, instruction) || (tiled && !tiled->is_global);
}

static bool is_counted(const struct group *group, uint32_t member, uint32_t instruction, enum counted counted)
{
    if (counted == COUNT_ALL) return true;
    if (is_saved(group, member, instruction)) return false;
    /* what a tile has need not have gone to memory before */
    return counted == COUNT_MOVED || !group_caches(group, member, instruction) ||
           group_tile_access_of(group, member, instruction);
}

/* One direction through one base: the sum over the accesses, at most what the base spans. group NULL:
 * COUNT_ALL. */
static uint64_t base_traffic(const struct group *group, uint32_t member, const struct access_summary *summary,
                             uint32_t base, bool is_write, enum counted counted)
{
    uint64_t bytes = 0, span = UINT64_MAX;
    const struct access_base *of = &summary->bases[base];
    if (of->is_bounded && of->to > of->from) span = (uint64_t)(of->to - of->from);
    for (uint32_t i = 0; i < summary->access_count; i++) {
        const struct access *access = &summary->accesses[i];
        if (access->base != base || !is_counted(group, member, access->instruction, counted)) continue;
        if (access->kind == ACCESS_ATOMIC || (access->kind == ACCESS_WRITE) == is_write)
            bytes += access_traffic(summary, access);
    }
    return bytes < span ? bytes : span;
}

static uint64_t moved(const struct group *group, uint32_t member, const struct access_summary *summary,
                      bool is_write, enum counted counted)
{
    uint64_t bytes = 0;
    for (uint32_t base = 0; base < summary->base_count; base++)
        bytes += base_traffic(group, member, summary, base, is_write, counted);
    return bytes;
}

uint64_t traffic_of_launch(const struct access_summary *summary)
{
    return moved(NULL, 0, summary, false, COUNT_ALL) + moved(NULL, 0, summary, true, COUNT_ALL);
}

static uint64_t moved_by_group(const struct group *group, enum counted counted)
{
    uint64_t bytes = 0;
    for (uint32_t member = 0; member < group->member_count; member++)
        for (int is_write = 0; is_write < 2; is_write++)
            bytes += moved(group, member, group->members[member].summary, is_write, counted);
    return bytes;
}

uint64_t traffic_cached(const struct group *group)
{
    return moved_by_group(group, COUNT_MOVED) - moved_by_group(group, COUNT_FETCHED);
}

/* The most that a member from this one on moves through bases of the array in one direction. */
static uint64_t array_traffic(const struct group *group, uint32_t first, uint32_t array)
{
    uint64_t most = 0;
    for (uint32_t member = first; member < group->member_count; member++) {
        const struct bound_launch *launch = &group->members[member];
        for (int is_write = 0; is_write < 2; is_write++) {
            uint64_t bytes = 0;
            for (uint32_t base = 0; base < launch->summary->base_count; base++)
                if (launch->bindings[base].array == array)
                    bytes += base_traffic(group, member, launch->summary, base, is_write, COUNT_MOVED);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

static bool is_touched_before(const struct group *group, uint32_t member, uint32_t base)
{
    uint32_t array = group->members[member].bindings[base].array;
    for (uint32_t m = 0; m <= member; m++)
        for (uint32_t b = 0; b < (m < member ? group->members[m].summary->base_count : base); b++)
            if (group->members[m].bindings[b].array == array) return true;
    return false;
}

uint64_t traffic_of_block(const struct group *group)
{
    uint64_t bytes = 0, blocks = (uint64_t)group->grid[0] * group->grid[1] * group->grid[2];
    for (uint32_t member = 0; member < group->member_count; member++)
        for (uint32_t base = 0; base < group->members[member].summary->base_count; base++)
            if (!is_touched_before(group, member, base))
                bytes += array_traffic(group, member, group->members[member].bindings[base].array);
    return blocks ? (bytes + blocks - 1) / blocks : 0;
}

double traffic_repeated(const struct group *group, uint32_t member)
{
    double run = 1, own = 1;
    if (!group->stage_count) return 0;
    const struct group_stage *stage = group_stage_of(group, member);
    if (stage->repeats) return stage->repeats;
    for (int d = 0; d < 3; d++) {
        own *= group->tile[d];
        run *= (double)(group->tile[d] + stage->near_low[d] + stage->near_high[d]);
    }
    return run / own - 1 + stage->far;
}

int64_t traffic_saved(const struct group *group)
{
    double saved = 0;
    for (uint32_t m = 0; m < group->member_count; m++) {
        const struct access_summary *summary = group->members[m].summary;
        uint64_t loads = moved(group, m, summary, false, COUNT_MOVED);
        saved += (double)traffic_of_launch(summary) -
                 (double)(loads + moved(group, m, summary, true, COUNT_MOVED)) -
                 traffic_repeated(group, m) * (double)loads;
    }
    return (int64_t)saved;
}
