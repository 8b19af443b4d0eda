/* SPDX-License-Identifier: Apache-2.0
 * A group, asked and released. */
#include "fuser/fusion/group.h"

const struct group_forward *group_forward_to(const struct group *group, uint32_t member, uint32_t instruction)
{
    for (uint32_t i = 0; i < group->forward_count; i++)
        if (group->forwards[i].to_member == member && group->forwards[i].to_instruction == instruction)
            return &group->forwards[i];
    return NULL;
}

const struct group_fetch *group_fetch_to(const struct group *group, uint32_t member, uint32_t instruction)
{
    for (uint32_t i = 0; i < group->fetch_count; i++)
        if (group->fetches[i].to_member == member && group->fetches[i].to_instruction == instruction)
            return &group->fetches[i];
    return NULL;
}

bool group_drops(const struct group *group, uint32_t member, uint32_t instruction)
{
    for (uint32_t i = 0; i < group->drop_count; i++)
        if (group->drops[i].member == member && group->drops[i].instruction == instruction) return true;
    return false;
}

const struct group_kept *group_kept_of(const struct group *group, uint32_t member, uint32_t instruction)
{
    for (uint32_t i = 0; i < group->kept_count; i++)
        if (group->kept[i].member == member && group->kept[i].instruction == instruction)
            return &group->kept[i];
    return NULL;
}

bool group_caches(const struct group *group, uint32_t member, uint32_t instruction)
{
    for (uint32_t i = 0; i < group->cached_count; i++)
        if (group->cached[i].member == member && group->cached[i].instruction == instruction) return true;
    return false;
}

const struct group_tile_access *group_tile_access_of(const struct group *group, uint32_t member,
                                                     uint32_t instruction)
{
    for (uint32_t i = 0; i < group->tile_access_count; i++)
        if (group->tile_accesses[i].member == member && group->tile_accesses[i].instruction == instruction)
            return &group->tile_accesses[i];
    return NULL;
}

const struct group_join *group_join_of(const struct group *group, uint32_t member)
{
    for (uint32_t i = 0; i < group->join_count; i++)
        if (member - group->joins[i].first_member < group->joins[i].member_count) return &group->joins[i];
    return NULL;
}

bool group_is_repeated(const struct group *group, const struct group_forward *forward)
{
    const struct group_join *join = group_join_of(group, forward->to_member);
    if (!join || join != group_join_of(group, forward->from_member)) return false;
    const struct group_joined *to = &join->members[forward->to_member - join->first_member];
    return to->segments[to->cfg->block_of[forward->to_instruction]] % 2;
}

const struct group_prefetch *group_prefetch_of(const struct group *group, uint32_t member,
                                               uint32_t instruction)
{
    for (uint32_t i = 0; i < group->prefetch_count; i++)
        if (group->prefetches[i].member == member && group->prefetches[i].instruction == instruction)
            return &group->prefetches[i];
    return NULL;
}

uint32_t group_patch(const struct group *group, int d)
{
    return d && d == group->march ? 1 : group->tile[d];
}

uint32_t group_patches(const struct group *group, int d)
{
    return d && d == group->march ? group->cells[d] : group->grid[d];
}

int32_t group_patch_border(const struct group *group, const int32_t border[3], int d)
{
    return d && d == group->march ? 0 : border[d];
}

const struct group_stage *group_stage_of(const struct group *group, uint32_t member)
{
    const struct group_stage *stage = group->stages;
    while (member >= stage->first_member + stage->member_count) stage++;
    return stage;
}

const struct expansion *group_expansion_of(const struct group *group, uint32_t member)
{
    return group->expansions ? group->expansions[member] : NULL;
}

const struct line_cut *group_cut_of(const struct group *group, uint32_t member)
{
    return group->cuts ? group->cuts[member].cut : NULL;
}

const struct access_summary *group_launch_of(const struct group *group, uint32_t member)
{
    return group_cut_of(group, member) ? group->cuts[member].line : group->members[member].summary;
}

uint64_t group_tile_bytes(const struct group_block_tile *tile)
{
    return (uint64_t)tile->layers * tile->rows * tile->row_bytes;
}

uint64_t group_shared_bytes(const struct group *group)
{
    uint64_t most = 0, bytes = 0;
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct group_join *join = group_join_of(group, member);
        if (!join || join->first_member == member) bytes = 0;
        bytes += access_shared_bytes(group->members[member].summary);
        if (bytes > most) most = bytes;
    }
    for (uint32_t i = 0; i < group->block_tile_count; i++) most += group_tile_bytes(&group->block_tiles[i]);
    return most;
}

const char *const group_fusions[] = {
    "inner-thread", "joined loops", "inner-block", "halo", "halo in each iteration",
    "one-block",    "last-block",   "inter-block", NULL};

enum group_kind group_kind(const struct group *group)
{
    if (group->is_one_block) return GROUP_ONE_BLOCK;
    if (group->last_first) return GROUP_LAST_BLOCK;
    if (group->is_inter_block) return GROUP_INTER_BLOCK;
    for (uint32_t member = 0; group->barriers && member < group->member_count; member++)
        if (group->barriers[member]) return GROUP_INNER_BLOCK;
    if (group->expansions) return GROUP_HALO_IN_ITERATIONS;
    return group->stage_count ? GROUP_HALO : group->join_count ? GROUP_JOINED_LOOPS : GROUP_INNER_THREAD;
}

const char *group_fusion(const struct group *group)
{
    return group_fusions[group_kind(group)];
}

void group_forget_stages(struct group *group)
{
    for (uint32_t i = 0; i < group->fetch_count; i++) isl_set_free(group->fetches[i].covered);
    for (uint32_t i = 0; i < group->kept_count; i++) isl_set_free(group->kept[i].cells);
    group->stage_count = group->tile_count = group->fetch_count = group->kept_count = 0;
    group->march = 0;
    group->prefetch_count = 0;
}

void group_free(struct group *group)
{
    if (!group) return;
    for (uint32_t member = 0; group->remaps && member < group->member_count; member++) {
        isl_pw_multi_aff_free(group->remaps[member].coordinates);
        isl_set_free(group->remaps[member].own);
        isl_set_free(group->remaps[member].sparse);
    }
    group_forget_stages(group);
    arena_free(group->arena);
}
