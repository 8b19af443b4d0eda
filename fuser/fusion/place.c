/* SPDX-License-Identifier: Apache-2.0
 * Finds a fused shape and a remap for each member such that all conflicts stay within one fused thread, or
 * within one fused block. */
#include "fuser/fusion/coarsening.h"

#include <stdio.h>
#include <string.h>

enum {
    PLACE_OPERATIONS = 2000000, /* of isl, for one fused shape */
    PLACE_MANY_THREADS = 65536, /* of a launch: they fill a device */
    ONE_BLOCK_PASSES = 8,       /* of one block over a launch, at most */
    WARP_THREADS = 32,
};

/* True when the member, placed by this kind, has no conflict beyond the reach with those placed before. failure: NULL: nobody asks. */
static bool place_legally(struct space *space, uint32_t member, enum remap_kind kind,
                          struct placement_failure *failure)
{
    if (!space_place(space, member, kind)) return false;
    for (uint32_t other = 0; other < space->member_count; other++) {
        if (other == member || !space->maps[other]) continue;
        const struct placed_access *a, *b;
        if (!space_violation(space, other < member ? other : member, other < member ? member : other, &a, &b))
            continue;
        if (failure && !failure->reason[0]) failure_describe(space, a, b, failure);
        space_unplace(space, member);
        return false;
    }
    return space_complete(space, member);
}

/* What conflicts with a thread is run by it, or what conflicts with a block is run by that, in any order. */
static bool place_by_conflicts(struct space *space, uint32_t member, struct placement_failure *failure)
{
    return place_legally(space, member, space->has_coarsening ? REMAP_COARSENED : REMAP_AFFINE, failure);
}

/* A block of the member is a block of the space; what blocks the space has beyond them skips the member. */
static bool place_whole_blocks(struct space *space, uint32_t member, struct placement_failure *failure)
{
    const struct access_summary *summary = space->members[member].summary;
    if (remap_shapes_equal(summary, space->grid, space->block))
        return place_legally(space, member, REMAP_SAME, failure);
    if (remap_keeps_blocks(summary, space->grid, space->block))
        return place_legally(space, member, REMAP_LINEAR, failure);
    return (!memcmp(summary->block, space->block, sizeof summary->block) &&
            place_legally(space, member, REMAP_GLOBAL, failure)) ||
           (space->has_coarsening && place_by_conflicts(space, member, failure));
}

static bool place_member(struct space *space, uint32_t member, struct placement_failure *failure)
{
    if (space->members[member].summary->whole_block) return place_whole_blocks(space, member, failure);
    if (remap_shapes_equal(space->members[member].summary, space->grid, space->block))
        return place_legally(space, member, REMAP_SAME, failure) ||
               place_by_conflicts(space, member, failure);
    static const enum remap_kind kinds[] = {REMAP_GLOBAL, REMAP_LINEAR, REMAP_STRIDE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (place_legally(space, member, kinds[i], failure)) return true;
    return place_by_conflicts(space, member, failure);
}

/* Members of the space's own shape first: they are its anchors. */
static bool place_members(struct space *space, struct placement_failure *failure)
{
    for (int anchors = 1; anchors >= 0; anchors--)
        for (uint32_t member = 0; member < space->member_count; member++) {
            bool is_anchor = remap_shapes_equal(space->members[member].summary, space->grid, space->block);
            if (is_anchor == (anchors == 1) && !place_member(space, member, failure)) return false;
        }
    return true;
}

struct shape {
    uint32_t grid[3], block[3];
};
struct placement_attempt {
    enum overlap reach;
    bool has_coarsening;
};

static uint32_t shape_add(struct shape *shapes, uint32_t count, const uint32_t grid[3],
                          const uint32_t block[3])
{
    for (uint32_t i = 0; i < count; i++)
        if (!memcmp(shapes[i].grid, grid, sizeof shapes[i].grid) &&
            !memcmp(shapes[i].block, block, sizeof shapes[i].block))
            return count;
    memcpy(shapes[count].grid, grid, sizeof shapes[count].grid);
    memcpy(shapes[count].block, block, sizeof shapes[count].block);
    return count + 1;
}

/* The shapes to try: the largest member's block over the union of all extents, then each member's own shape
 * from the most threads to the fewest. shapes has room for member_count + 1. */
static uint32_t candidate_shapes(const struct bound_launch *members, uint32_t member_count,
                                 struct shape *shapes)
{
    uint32_t count = 0;
    const struct access_summary *anchor = members[0].summary;
    uint32_t grid[3];
    for (uint32_t member = 1; member < member_count; member++) {
        const struct access_summary *summary = members[member].summary;
        if (remap_threads(summary->grid, summary->block) > remap_threads(anchor->grid, anchor->block))
            anchor = summary;
    }
    for (int d = 0; d < 3; d++) {
        uint64_t extent = 0;
        for (uint32_t member = 0; member < member_count; member++) {
            uint64_t own = (uint64_t)members[member].summary->grid[d] * members[member].summary->block[d];
            if (own > extent) extent = own;
        }
        grid[d] = (uint32_t)((extent + anchor->block[d] - 1) / anchor->block[d]);
    }
    if (remap_threads(grid, anchor->block) <= 2 * remap_threads(anchor->grid, anchor->block))
        count = shape_add(shapes, count, grid, anchor->block);
    uint64_t bound = UINT64_MAX;
    for (;;) {
        uint64_t most = 0;
        for (uint32_t member = 0; member < member_count; member++) {
            uint64_t threads = remap_threads(members[member].summary->grid, members[member].summary->block);
            if (threads < bound && threads > most) most = threads;
        }
        if (!most) return count;
        for (uint32_t member = 0; member < member_count; member++) {
            const struct access_summary *summary = members[member].summary;
            if (remap_threads(summary->grid, summary->block) == most)
                count = shape_add(shapes, count, summary->grid, summary->block);
        }
        bound = most;
    }
}

/* How many times fewer threads than the largest member the shape may have. What has whole blocks runs in
 * their shape, or in none. */
static uint32_t most_times_fewer(const struct placement_attempt *attempt, const struct shape *shape,
                                 const struct bound_launch *members, uint32_t member_count)
{
    if (attempt->reach == OVERLAP_SAME) return 16;
    for (uint32_t member = 0; attempt->has_coarsening && member < member_count; member++)
        if (members[member].summary->whole_block &&
            remap_shapes_equal(members[member].summary, shape->grid, shape->block))
            return COARSENING_PASSES;
    return 2;
}

/* The shape has so many times fewer threads than the largest member, and few. */
static bool wastes_device(const struct shape *shape, const struct bound_launch *members,
                          uint32_t member_count, uint32_t times)
{
    uint64_t own = remap_threads(shape->grid, shape->block);
    if (own >= PLACE_MANY_THREADS) return false;
    for (uint32_t member = 0; member < member_count; member++)
        if (remap_threads(members[member].summary->grid, members[member].summary->block) > times * own)
            return true;
    return false;
}

static bool find_in_shape(struct space *space, const struct placement_attempt *attempt, struct memo *memo,
                          struct arena *arena, const struct bound_launch *members, uint32_t member_count,
                          const struct shape *shape, struct placement_failure *failure)
{
    uint32_t times = most_times_fewer(attempt, shape, members, member_count);
    if (wastes_device(shape, members, member_count, times)) return false;
    if (!space_open(space, memo, arena, members, member_count, shape->grid, shape->block)) return false;
    space->reach = attempt->reach;
    space->has_coarsening = attempt->has_coarsening;
    struct quota quota = quota_begin(memo->ctx, PLACE_OPERATIONS);
    bool placed = place_members(space, failure);
    quota_end(&quota);
    if (!placed) space_clear(space);
    return placed;
}

static bool find_first(struct space *space, const struct placement_attempt *attempts, uint32_t attempt_count,
                       struct memo *memo, struct arena *arena, const struct bound_launch *members,
                       uint32_t member_count, struct placement_failure *failure)
{
    struct shape *shapes = arena_calloc(arena, member_count + 1, sizeof *shapes);
    uint32_t count = shapes ? candidate_shapes(members, member_count, shapes) : 0;
    if (failure) memset(failure, 0, sizeof *failure);
    for (uint32_t i = 0; i < attempt_count * count; i++)
        if (find_in_shape(space, &attempts[i / count], memo, arena, members, member_count, &shapes[i % count],
                          failure))
            return true;
    return false;
}

bool space_place_all(struct space *space, struct memo *memo, struct arena *arena,
                     const struct bound_launch *members, uint32_t member_count,
                     struct placement_failure *failure)
{
    static const struct placement_attempt attempts[] = {{OVERLAP_SAME, false}, {OVERLAP_BLOCK, false}};
    if (find_first(space, attempts, 2, memo, arena, members, member_count, failure)) return true;
    if (!failure->reason[0]) failure_describe_shapes(memo, members, member_count, failure);
    return false;
}

bool space_place_coarsened(struct space *space, struct memo *memo, struct arena *arena,
                           const struct bound_launch *members, uint32_t member_count)
{
    static const struct placement_attempt attempt = {OVERLAP_BLOCK, true};
    return find_first(space, &attempt, 1, memo, arena, members, member_count, NULL);
}

uint32_t space_one_block_threads(const struct bound_launch *members, uint32_t member_count,
                                 uint32_t most_threads)
{
    uint64_t whole = 0, most = 0;
    for (uint32_t member = 0; member < member_count; member++) {
        const struct access_summary *summary = members[member].summary;
        uint64_t threads = remap_threads(summary->grid, summary->block);
        if (threads > most) most = threads;
        if (!summary->whole_block) continue;
        if (summary->grid[0] != 1 || summary->grid[1] != 1 || summary->grid[2] != 1) return 0;
        if (whole && whole != threads) return 0;
        whole = threads;
    }
    uint64_t block = whole ? whole : (most + WARP_THREADS - 1) / WARP_THREADS * WARP_THREADS;
    if (whole > most_threads) return 0;
    if (block > most_threads) block = most_threads / WARP_THREADS * WARP_THREADS;
    return most <= ONE_BLOCK_PASSES * block ? (uint32_t)block : 0;
}

bool space_place_in_one_block(struct space *space, struct memo *memo, struct arena *arena,
                              const struct bound_launch *members, uint32_t member_count,
                              uint32_t most_threads)
{
    static const uint32_t grid[3] = {1, 1, 1};
    const uint32_t block[3] = {space_one_block_threads(members, member_count, most_threads), 1, 1};
    if (!block[0] || !space_open(space, memo, arena, members, member_count, grid, block)) return false;
    space->reach = OVERLAP_BLOCK;
    space->is_one_block = true;
    struct quota quota = quota_begin(memo->ctx, PLACE_OPERATIONS);
    bool placed = place_members(space, NULL);
    quota_end(&quota);
    if (!placed) space_clear(space);
    return placed;
}
