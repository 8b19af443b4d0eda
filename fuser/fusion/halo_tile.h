/* SPDX-License-Identifier: Apache-2.0
 * The shape of the tiles of a halo fusion. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_HALO_TILE_H
#define KFUSE_FUSER_FUSION_HALO_TILE_H

#include "fuser/fusion/space.h"

/* Fills the group's tile, march, grid and block; false, with the reason, when no tile's values fit into shared memory.
 * march_layers: as in memo.h. */
bool halo_tile_choose(struct group *group, uint32_t march_layers, struct placement_failure *failure);

#endif
