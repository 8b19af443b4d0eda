/* SPDX-License-Identifier: Apache-2.0
 * See last_block.h. */
#include "fuser/fusion/last_block.h"

/* In a line of threads, whatever else fits is one of these as well. */
static bool number_threads(struct space *space)
{
    for (uint32_t member = 0; member < space->member_count; member++) {
        enum remap_kind kind = space->remaps[member].kind;
        if (kind == REMAP_SAME || kind == REMAP_GLOBAL) space->remaps[member].kind = REMAP_LINEAR;
        if (kind == REMAP_AFFINE || kind == REMAP_COARSENED) return false;
    }
    return true;
}

bool last_block_open(struct space *space, struct memo *memo, struct arena *arena,
                     const struct bound_launch *members, uint32_t member_count, uint32_t most_threads,
                     uint32_t *threads)
{
    if (!space_place_in_one_block(space, memo, arena, members, member_count, most_threads)) return false;
    *threads = space->block[0];
    if (number_threads(space)) return true;
    space_clear(space);
    return false;
}

bool last_block_serves(const struct memo *memo, const struct bound_launch *launch, uint32_t most_threads)
{
    const struct access_summary *summary = launch->summary;
    return !memo->without_last_block && !summary->no_whole_block &&
           space_one_block_threads(launch, 1, most_threads);
}
