/* SPDX-License-Identifier: Apache-2.0
 * See reuse.h. An estimate, from a few threads of one block in the middle of the launch: is what they touch
 * touched by any thread of their block for an earlier member? */
#include "fuser/fusion/reuse.h"

#include <isl/point.h>
#include <isl/space.h>
#include <isl/val.h>

enum {
    REUSE_OPERATIONS = 200000, /* of isl, for one group */
    REUSE_SAMPLES = 4,
    SECTOR = 32, /* bytes that caches and memory move together */
};

struct reuse {
    struct group *group;
    struct space *space;
    isl_set **blocks;                    /* a shape's bytes in the block; NULL: not computed, or any */
    isl_set *threads[REUSE_SAMPLES + 1]; /* those of each sample, and of the block */
};

static int middle(uint32_t count)
{
    return (int)((count - 1) / 2);
}

/* The block's threads: cells of a tile, where there are stages. z y x */
static void threads_of_block(const struct reuse *reuse, unsigned d, int *first, uint32_t *count)
{
    const struct group *group = reuse->group;
    *count = group->stage_count ? group->tile[2 - d] : reuse->space->block[2 - d];
    *first = group->stage_count ? middle(group->grid[2 - d]) * (int)*count : 0;
    if (group->march != 2 - (int)d || !group->march) return;
    if (*count > GROUP_LAYERS_CACHED) *count = GROUP_LAYERS_CACHED;
    *first += (int)(group->tile[2 - d] - *count) / 2;
}

/* The block's threads; those of a sample are spread over them by its number. Of two neighbours along x one may touch nothing. */
static __isl_give isl_set *find_threads(const struct reuse *reuse, uint32_t number)
{
    isl_space *space = isl_space_set_alloc(reuse->space->ctx, 0, ACCESS_THREAD_DIMENSIONS);
    isl_set *threads = isl_set_universe(isl_space_set_tuple_name(space, isl_dim_set, "F"));
    for (unsigned d = 0; d < 3; d++) {
        int first, last;
        uint32_t count;
        threads_of_block(reuse, d, &first, &count);
        last = first + (int)count - 1;
        threads = isl_set_fix_si(threads, isl_dim_set, d, middle(reuse->space->grid[2 - d]));
        if (number == REUSE_SAMPLES && !reuse->group->stage_count) continue;
        if (number < REUSE_SAMPLES) {
            first += (int)(count * (2 * number + 1) / (2 * REUSE_SAMPLES));
            last = d == 2 ? first + 1 : first;
        }
        threads = isl_set_lower_bound_si(threads, isl_dim_set, 3 + d, first);
        threads = isl_set_upper_bound_si(threads, isl_dim_set, 3 + d, last);
    }
    return threads;
}

/* What they touch. */
static __isl_give isl_set *touched_by(const struct reuse *reuse, uint32_t number, __isl_keep isl_map *bytes)
{
    return isl_map_range(isl_map_intersect_domain(isl_map_copy(bytes), isl_set_copy(reuse->threads[number])));
}

static __isl_keep isl_set *block_bytes(struct reuse *reuse, uint32_t shape)
{
    isl_map *bytes = reuse->space->shapes[shape].touch.bytes;
    if (!reuse->blocks[shape] && bytes) reuse->blocks[shape] = touched_by(reuse, REUSE_SAMPLES, bytes);
    return reuse->blocks[shape];
}

/* Something in the byte's sector. */
static bool touches(struct reuse *reuse, uint32_t shape, int64_t byte)
{
    isl_ctx *ctx = reuse->space->ctx;
    const struct touch *touch = &reuse->space->shapes[shape].touch;
    int64_t sector = byte - ((byte % SECTOR) + SECTOR) % SECTOR, last = sector + SECTOR - 1,
            first = sector + 1 - touch->width;
    if (touch->bytes && (last < touch->from || first > touch->to)) return false;
    isl_set *bytes = isl_set_copy(block_bytes(reuse, shape));
    bytes = isl_set_lower_bound_val(bytes, isl_dim_set, 0, isl_val_int_from_si(ctx, first));
    bytes = isl_set_upper_bound_val(bytes, isl_dim_set, 0, isl_val_int_from_si(ctx, last));
    bool found = isl_set_is_empty(bytes) == isl_bool_false;
    isl_set_free(bytes);
    return found;
}

/* For a load any access of an earlier member leaves the byte in the cache, for a store only a store, since
 * what is written goes to memory once. */
static bool is_touched_before(struct reuse *reuse, const struct placed_access *access, int64_t byte)
{
    const struct space *space = reuse->space;
    for (uint32_t member = 0; member < access->member; member++)
        for (uint32_t i = 0; i < space->members[member].summary->access_count; i++) {
            const struct placed_access *earlier = &space->accesses[member][i];
            if (space->shapes[earlier->shape].array != space->shapes[access->shape].array) continue;
            if (placed_writes(access) && !placed_writes(earlier)) continue;
            if (placed_writes(earlier) && group_drops(reuse->group, member, earlier->access->instruction))
                continue;
            if (touches(reuse, earlier->shape, byte)) return true;
        }
    return false;
}

/* A byte that a thread of the sample touches. */
static bool sample(struct reuse *reuse, const struct placed_access *access, uint32_t number, int64_t *byte)
{
    const struct space *space = reuse->space;
    if (!space->shapes[access->shape].touch.bytes) return false;
    isl_point *point =
        isl_set_sample_point(touched_by(reuse, number, space->shapes[access->shape].touch.bytes));
    bool found = point && isl_point_is_void(point) == isl_bool_false;
    isl_val *value = found ? isl_point_get_coordinate_val(point, isl_dim_set, 0) : NULL;
    if (value) *byte = isl_val_get_num_si(value);
    isl_val_free(value);
    isl_point_free(point);
    return value;
}

static bool is_cached(struct reuse *reuse, const struct placed_access *access)
{
    uint32_t found = 0, asked = 0;
    int64_t byte;
    for (uint32_t number = 0; number < REUSE_SAMPLES; number++) {
        if (!sample(reuse, access, number, &byte)) continue;
        asked++;
        found += is_touched_before(reuse, access, byte);
    }
    return 2 * found > asked;
}

bool reuse_list_cached(struct group *group, struct space *space)
{
    struct reuse reuse = {.group = group, .space = space};
    uint32_t capacity = 0;
    for (uint32_t member = 1; member < group->member_count; member++)
        capacity += group->members[member].summary->access_count;
    group->cached = arena_calloc(group->arena, capacity + 1, sizeof *group->cached);
    reuse.blocks = arena_calloc(group->arena, space->shape_count + 1, sizeof(isl_set *));
    if (!group->cached || !reuse.blocks) return false;
    struct quota quota = quota_begin(space->ctx, REUSE_OPERATIONS);
    for (uint32_t number = 0; number <= REUSE_SAMPLES; number++)
        reuse.threads[number] = find_threads(&reuse, number);
    for (uint32_t member = 1; member < group->member_count; member++)
        for (uint32_t i = 0; i < group->members[member].summary->access_count; i++) {
            const struct placed_access *access = &space->accesses[member][i];
            if (is_cached(&reuse, access))
                group->cached[group->cached_count++] =
                    (struct group_cached){member, access->access->instruction};
        }
    quota_end(&quota);
    for (uint32_t shape = 0; shape < space->shape_count; shape++) isl_set_free(reuse.blocks[shape]);
    for (uint32_t number = 0; number <= REUSE_SAMPLES; number++) isl_set_free(reuse.threads[number]);
    return true;
}
