/* SPDX-License-Identifier: Apache-2.0
 * Places of a tile that are chosen freely, where what is needed lies at no one distance: the nearest that are free. Internal to
 * fuser/fusion. needed: { F -> F }: cell of the reader -> cell whose store it needs; p: of the writer. */
#ifndef KFUSE_FUSER_FUSION_HALO_NEAREST_H
#define KFUSE_FUSER_FUSION_HALO_NEAREST_H

#include "fuser/fusion/halo_parts.h"

/* { cell of the reader -> place of what lies offset away from it }: a flat writer's has no layer. */
__isl_give isl_map *halo_place_of(const struct spread *p, isl_ctx *ctx, const int64_t offset[3]);
/* { place in the tile -> cell that runs there }, where what is needed of a cell lies offset away from it. */
__isl_give isl_map *halo_placed(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3]);
/* The places that far away are free, or hold these very cells. */
bool halo_is_free(const struct spread *p, __isl_keep isl_map *needed, const int64_t offset[3]);
/* { place -> cell }, as if the member's own cells followed each other in every direction: what others need of
 * a periodic border then lies as its neighbours need it. NULL: they are no box. */
__isl_give isl_map *halo_periodic_places(const struct halo *halo, uint32_t member);
/* The nearest offset of free places, periodic ones first. False: there is none within HALO_NEARBY. */
bool halo_find_nearest(const struct halo *halo, uint32_t member, __isl_keep isl_map *needed,
                       int64_t offset[3]);

#endif
