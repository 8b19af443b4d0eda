/* SPDX-License-Identifier: Apache-2.0
 * Relations of a halo's cells and places as moves: translations, each with the cells that it moves. isl makes linear equations of several
 * ones where it can, as an array's rows follow each other, and congruences where borders are periodic; what is asked of these later
 * takes long. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_HALO_MOVES_H
#define KFUSE_FUSER_FUSION_HALO_MOVES_H

#include <isl/map.h>
#include <stdbool.h>

/* The same relation { F -> F }, move by move; where some part has many, as isl coalesces it. */
__isl_give isl_map *halo_moves_coalesce(__isl_take isl_map *map);
/* Where both relations have a cell, it is moved to one place by both; where both are one relation: it is single-valued. False, too,
 * when isl gives up. */
bool halo_moves_agree(__isl_keep isl_map *a, __isl_keep isl_map *b);

#endif
