/* SPDX-License-Identifier: Apache-2.0
 * See space_pattern.h. */
#include "fuser/fusion/space_pattern.h"
#include "fuser/fusion/coarsening.h"

#include <string.h>

/* A block of the member is the block of the same number, and its threads are those of the same linear number.
 */
static bool keeps_blocks(const struct space *space, uint32_t member)
{
    const struct access_summary *summary = space->members[member].summary;
    enum remap_kind kind = space->remaps[member].kind;
    return kind == REMAP_SAME ||
           (kind == REMAP_LINEAR && remap_keeps_blocks(summary, space->grid, space->block)) ||
           (kind == REMAP_GLOBAL && !memcmp(summary->block, space->block, sizeof space->block));
}

/* { F[bz, by, bx, tz, ty, tx, counters] -> [byte] }, from { L[..] -> [byte] }. The passes of a coarsened
 * member are counted, too, first. */
static __isl_give isl_map *seen_from_space(const struct space *space, uint32_t member,
                                           __isl_take isl_map *bytes)
{
    isl_size dimensions = isl_map_dim(bytes, isl_dim_in);
    if (dimensions < ACCESS_THREAD_DIMENSIONS) return isl_map_free(bytes); /* isl gave up */
    unsigned counters = (unsigned)dimensions - ACCESS_THREAD_DIMENSIONS;
    bool is_coarsened = space->remaps[member].kind == REMAP_COARSENED;
    isl_map *remap = is_coarsened ? coarsening_passes(space, member, space->remaps[member].coarsening)
                                  : isl_map_copy(space->maps[member]);
    remap = isl_map_add_dims(remap, isl_dim_in, counters);
    remap = isl_map_add_dims(remap, isl_dim_out, counters);
    for (unsigned c = 0; c < counters; c++)
        remap = isl_map_equate(remap, isl_dim_in, (int)(ACCESS_THREAD_DIMENSIONS + is_coarsened + c),
                               isl_dim_out, (int)(ACCESS_THREAD_DIMENSIONS + c));
    remap = isl_map_reset_tuple_id(isl_map_reset_tuple_id(remap, isl_dim_in), isl_dim_out);
    return isl_map_coalesce(isl_map_apply_range(remap, bytes));
}

bool space_pattern_open(struct pattern *pattern, struct arena *arena, const struct space *space,
                        const struct placed_access *placed)
{
    const struct bound_launch *launch = &space->members[placed->member];
    struct pattern_shape shape;
    isl_map *bytes = isl_map_copy(placed->access->relation);
    memcpy(shape.grid, space->grid, sizeof shape.grid);
    memcpy(shape.block, space->block, sizeof shape.block);
    if (!bytes) return false;
    bytes = isl_map_reset_tuple_id(bytes, isl_dim_in);
    if (keeps_blocks(space, placed->member))
        memcpy(shape.block, launch->summary->block, sizeof shape.block);
    else
        bytes = seen_from_space(space, placed->member, bytes);
    bytes = overlap_moved(bytes, launch->bindings[placed->access->base].offset);
    bool is_known = bytes && pattern_open(pattern, arena, bytes, &shape);
    isl_map_free(bytes);
    return is_known;
}
