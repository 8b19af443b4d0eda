/* SPDX-License-Identifier: Apache-2.0
 * Which cell's store a load reads, and how far away that is. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_HALO_SOURCE_H
#define KFUSE_FUSER_FUSION_HALO_SOURCE_H

#include "fuser/fusion/space.h"

/* read: { cell that loads -> [byte] }. *source: { it -> cell whose store it reads }, NULL where there is
 * none. False, and NULL: no function, or not whole elements. */
bool halo_source_cells(const struct space *space, __isl_keep isl_map *read, uint32_t width,
                       const struct placed_access *store, isl_map **source);
/* The translation (x y z), no further than 64 cells along each dimension, that holds for most of the source;
 * the nearest of equals; of a flat source, from cells as if they were of its layer. False: there is none, or there are too many. */
bool halo_source_place(struct memo *memo, __isl_keep isl_map *source, bool is_flat, int64_t offset[3]);
/* Of the box around a set of cells; along one dimension (x y z). */
bool halo_source_range(__isl_keep isl_set *set, int d, int64_t *first, int64_t *last);
bool halo_source_extent(__isl_keep isl_set *set, int d, int64_t *cells);
double halo_source_cell_count(__isl_keep isl_set *set);
/* Of the boxes around its parts: hardly more than it has. */
double halo_source_set_count(__isl_keep isl_set *set);
double halo_source_asked_count(struct memo *memo, __isl_keep isl_set *set); /* the same, once */
/* It as a map of cells. */
__isl_give isl_map *halo_source_translation(isl_ctx *ctx, const int64_t offset[3]);
/* { F[0, 0, 0, z, y, x] -> F[0, 0, 0, 0, y, x] } */
__isl_give isl_map *halo_source_flatten(isl_ctx *ctx);

#endif
