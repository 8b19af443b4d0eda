/* SPDX-License-Identifier: Apache-2.0
 * See inter_block.h. */
#include "fuser/fusion/inter_block.h"

#include "common/arena.h"

enum { WARP = 32 };

static uint32_t threads_of(const uint32_t block[3])
{
    return block[0] * block[1] * block[2];
}

static bool keeps_blocks(const struct bound_launch *member)
{
    return member->summary->whole_block;
}

/* As many as the largest launch has, whose blocks would else be many small ones, and at least those of the largest block that must
 * stay whole. That alone, where some such block ends within a warp. */
static uint32_t fused_threads(const struct bound_launch *members, uint32_t member_count)
{
    uint32_t whole = 0, other = 1;
    uint64_t most = 0;
    bool ends_in_warp = false;
    for (uint32_t m = 0; m < member_count; m++) {
        const struct access_summary *summary = members[m].summary;
        uint64_t all = remap_threads(summary->grid, summary->block);
        uint32_t threads = threads_of(summary->block);
        if (keeps_blocks(&members[m]) && threads > whole) whole = threads;
        ends_in_warp |= keeps_blocks(&members[m]) && threads % WARP;
        if (all <= most) continue;
        most = all;
        other = threads;
    }
    return whole > other || ends_in_warp ? whole : other;
}

static uint64_t blocks_of(const struct bound_launch *member, uint32_t threads)
{
    const struct access_summary *summary = member->summary;
    uint64_t all = remap_threads(summary->grid, summary->block);
    return keeps_blocks(member) ? all / threads_of(summary->block) : (all + threads - 1) / threads;
}

static const char *shape_refusal(struct arena *arena, const struct bound_launch *members,
                                 uint32_t member_count)
{
    uint32_t threads = fused_threads(members, member_count);
    uint64_t blocks = 0;
    for (uint32_t m = 0; m < member_count; m++) {
        uint32_t own = threads_of(members[m].summary->block);
        uint64_t all = remap_threads(members[m].summary->grid, members[m].summary->block);
        if (all / own > UINT32_MAX) return "a member has too many blocks";
        blocks += blocks_of(&members[m], threads);
        if (keeps_blocks(&members[m]) && own != threads && own % WARP)
            return arena_printf(arena, "blocks of kernel %s stay whole, and end within a warp",
                                members[m].summary->function->name);
    }
    return blocks > INT32_MAX ? "it would have too many blocks" : NULL;
}

const char *inter_block_refusal(struct arena *arena, struct memo *memo, const struct bound_launch *members,
                                uint32_t member_count)
{
    struct conflict conflict = {0};
    for (uint32_t q = 1; q < member_count; q++)
        for (uint32_t p = 0; p < q; p++)
            if (conflict_may_be(memo, &members[p], &members[q], &conflict))
                return arena_printf(
                    arena,
                    "blocks have no order, and kernel %s line %u and kernel %s line %u may touch the same "
                    "bytes",
                    members[p].summary->function->name, members[p].summary->accesses[conflict.access_p].line,
                    members[q].summary->function->name, members[q].summary->accesses[conflict.access_q].line);
    return shape_refusal(arena, members, member_count);
}

/* The one of fewest blocks that has no place yet. */
static uint32_t next_member(const struct group *group, uint32_t threads)
{
    uint32_t next = group->member_count;
    for (uint32_t m = 0; m < group->member_count; m++)
        if (!group->remaps[m].blocks &&
            (next == group->member_count ||
             blocks_of(&group->members[m], threads) < blocks_of(&group->members[next], threads)))
            next = m;
    return next;
}

void inter_block_place(struct group *group)
{
    uint32_t threads = fused_threads(group->members, group->member_count), first = 0;
    for (uint32_t placed = 0; placed < group->member_count; placed++) {
        uint32_t m = next_member(group, threads);
        struct remap *remap = &group->remaps[m];
        *remap = (struct remap){.kind = REMAP_INTER_BLOCK,
                                .keeps_blocks = keeps_blocks(&group->members[m]),
                                .first_block = first,
                                .blocks = (uint32_t)blocks_of(&group->members[m], threads)};
        first += remap->blocks;
    }
    for (int d = 0; d < 3; d++) group->grid[d] = group->block[d] = 1;
    group->grid[0] = first;
    group->block[0] = threads;
}
