/* SPDX-License-Identifier: Apache-2.0
 * Values handed on within a block, in shared memory. Internal to fuser/fusion.
 *
 * What members of a group store to an array also goes to the block's tile, and what later members load of
 * that comes from there. Each byte has its own place (struct group_block_tile), a function of the address
 * alone: so the tile is to the bytes that its block has written what global memory is. Order needs no new
 * thought: two accesses meet in the tile where they met in the array, and the barriers and the order of the
 * group are made for that.
 *
 * A wrong result could come from
 * - a load of a byte that its block has not written: each byte that it may read must be written, surely, by
 * earlier members in the same block. That one block writes all of them follows from the group's being legal
 * (what two members share, one block of each touches), and is seen here again block by block;
 * - a store that goes past the tile: until the last load that is served, every store of a member to the array
 * is in it; atomics, stores without a known place, and stores that another form of code makes refuse the
 * array;
 * - an address that has no place, or another byte's: all stores of all blocks are looked at, block by block
 * where they differ (block_pattern.h). A load that is served reads what stores have written, so it lies
 * inside, too;
 * - a store to memory that is left out (is_global false) though someone needs it: see is_overwritten.
 * It could not hang: there is no new barrier. It could be slow: a tile costs residence of blocks
 * (is_affordable; the planner compares with the group without tiles), arithmetic for each place, and bank
 * conflicts, which rows are padded against. */
#ifndef KFUSE_FUSER_FUSION_BLOCK_TILE_H
#define KFUSE_FUSER_FUSION_BLOCK_TILE_H

#include "fuser/fusion/block_pattern.h"
#include "fuser/fusion/space.h"

/* Fills the group's block_tiles and tile_accesses, when forwards, drops and joins are known. False only when
 * memory is out. */
bool block_tile_choose(struct group *group, struct space *space);

/* --- block_tile_box.c: where bytes lie in a tile ---------------------------------------------------------
 */
struct tile_use { /* an access of the array */
    const struct placed_access *placed;
    struct pattern pattern;
    bool is_store, is_known;   /* is_known: the pattern is open */
    bool is_certain;           /* a store that is made wherever the pattern says so */
    bool is_served, is_global; /* as struct group_tile_access has it */
};
struct tile_uses {
    struct arena *arena;
    struct tile_use *list;
    uint32_t count;
    struct pattern_classes classes;
};
/* Bytes without a gap; the list is to be freed. */
struct tile_run {
    int64_t from, to;
};
struct tile_runs {
    struct tile_run *list;
    size_t count, capacity;
    uint32_t width; /* of the access that is looked at */
};
/* What the block touches, from block 0's; false when memory is out. */
bool tile_runs_add(struct tile_runs *runs, const struct pattern *pattern, const uint32_t block[3],
                   uint32_t width);
/* In order, and none beside another. */
void tile_runs_unite(struct tile_runs *runs);
/* The place of a byte, counted from block 0, without padding; UINT32_MAX: outside. */
uint32_t tile_place(const struct group_block_tile *tile, int64_t byte);
/* The smallest box for what stores of members up to `last` write; false where there is none of most bytes. */
bool tile_box_smallest(struct group_block_tile *tile, const struct tile_uses *uses, uint32_t last,
                       uint32_t most);
/* Pads its rows, and sees that all uses in the tile are aligned. */
bool tile_box_pad(struct group_block_tile *tile, const struct tile_uses *uses, uint32_t most);

#endif
