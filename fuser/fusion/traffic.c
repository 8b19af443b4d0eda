/* SPDX-License-Identifier: Apache-2.0
 * See traffic.h. */
#include "fuser/fusion/traffic.h"

enum counted { /* of a member's accesses */
               COUNT_ALL,
               COUNT_MOVED,  /* those that are made */
               COUNT_FETCHED /* those that are made and not cached */
};

/* By all stores whose values the tile's places have. */
static uint64_t stored_bytes(const struct group *group, uint32_t tile)
{
    const struct access_summary *summary = group->members[group->tiles[tile].member].summary;
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < group->tile_count; t++) {
        if (group->tiles[t].kept_in != group->tiles[tile].kept_in) continue;
        for (uint32_t i = 0; i < summary->access_count; i++)
            if (summary->accesses[i].instruction == group->tiles[t].instruction)
                bytes += access_traffic(summary, &summary->accesses[i]);
    }
    return bytes;
}

/* Of what the load loads, the share that it takes from tiles: all, or what their stores store. */
static double fetched_share(const struct group *group, uint32_t member, const struct access *load,
                            uint64_t bytes)
{
    uint64_t stored = 0;
    for (uint32_t i = 0; i < group->fetch_count; i++) {
        const struct group_fetch *fetch = &group->fetches[i];
        if (fetch->to_member != member || fetch->to_instruction != load->instruction) continue;
        if (fetch->is_whole) return 1;
        stored += stored_bytes(group, fetch->tile);
    }
    return stored < bytes ? (double)stored / (double)bytes : 1;
}

/* Not served without memory, and made. */
static double moved_share(const struct group *group, uint32_t member, const struct access *access,
                          uint64_t bytes)
{
    const struct group_tile_access *tiled = group_tile_access_of(group, member, access->instruction);
    const struct group_kept *kept = group_kept_of(group, member, access->instruction);
    if (kept) return kept->share;
    if (group_forward_to(group, member, access->instruction) ||
        group_drops(group, member, access->instruction) || (tiled && !tiled->is_global))
        return 0;
    return group_fetch_to(group, member, access->instruction)
               ? 1 - fetched_share(group, member, access, bytes)
               : 1;
}

static double counted_share(const struct group *group, uint32_t member, const struct access *access,
                            uint64_t bytes, enum counted counted)
{
    if (counted == COUNT_ALL || !bytes) return 1;
    /* what a tile has need not have gone to memory before */
    bool is_cached = counted == COUNT_FETCHED && group_caches(group, member, access->instruction) &&
                     !group_tile_access_of(group, member, access->instruction);
    return is_cached ? 0 : moved_share(group, member, access, bytes);
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
        if (access->base != base) continue;
        if (access->kind != ACCESS_ATOMIC && (access->kind == ACCESS_WRITE) != is_write) continue;
        uint64_t all = access_traffic(summary, access);
        bytes += (uint64_t)((double)all * counted_share(group, member, access, all, counted));
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

double traffic_cached_of(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    uint64_t bytes = 0;
    for (int is_write = 0; is_write < 2; is_write++)
        bytes += moved(group, member, summary, is_write, COUNT_MOVED) -
                 moved(group, member, summary, is_write, COUNT_FETCHED);
    return (double)bytes;
}

uint64_t traffic_cached(const struct group *group)
{
    double bytes = 0;
    for (uint32_t m = 0; m < group->member_count; m++) bytes += traffic_cached_of(group, m);
    return (uint64_t)bytes;
}

double traffic_spared(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    double all = (double)traffic_of_launch(summary), left = 0;
    for (int is_write = 0; is_write < 2; is_write++)
        left += (double)moved(group, member, summary, is_write, COUNT_FETCHED);
    return all > 0 ? 1 - left / all : 0;
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
    if (group->march) blocks *= group->tile[group->march] / GROUP_LAYERS_CACHED + 1;
    for (uint32_t member = 0; member < group->member_count; member++)
        for (uint32_t base = 0; base < group->members[member].summary->base_count; base++)
            if (!is_touched_before(group, member, base))
                bytes += array_traffic(group, member, group->members[member].bindings[base].array);
    return blocks ? (bytes + blocks - 1) / blocks : 0;
}

double traffic_repeated(const struct group *group, uint32_t member)
{
    double run = 1, own = 1;
    if (!group->stage_count || group_runs_last(group, member)) return 0;
    const struct group_stage *stage = group_stage_of(group, member);
    if (stage->repeats) return stage->repeats;
    for (int d = 0; d < 3; d++) {
        if (d != 2 || !stage->is_flat) own *= group->tile[d];
        run *= group_stage_dense(stage, group->tile, d);
    }
    return run / own - 1 + stage->sparse;
}

double traffic_saved_of(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    uint64_t loads = moved(group, member, summary, false, COUNT_MOVED);
    return (double)traffic_of_launch(summary) -
           (double)(loads + moved(group, member, summary, true, COUNT_MOVED)) -
           traffic_repeated(group, member) * (double)loads;
}

int64_t traffic_saved(const struct group *group)
{
    double saved = 0;
    for (uint32_t m = 0; m < group->member_count; m++) saved += traffic_saved_of(group, m);
    return (int64_t)saved;
}
