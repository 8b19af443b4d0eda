/* SPDX-License-Identifier: Apache-2.0
 * Boxes of bytes (struct group_box): what a set of bytes is as rows and layers of rows, and what two have in common.
 * Of boxes with different pitches nothing is said. Internal to fuser/fusion and the planner. */
#ifndef KFUSE_FUSER_FUSION_BOX_H
#define KFUSE_FUSER_FUSION_BOX_H

#include "fuser/access/array_rows.h"
#include "fuser/fusion/group.h"

/* The box that the set of bytes is; false when it is none, or isl gives up. */
bool box_of(__isl_keep isl_set *set, struct group_box *box);
/* The same of a set { [layer, row, place] }. */
bool box_of_rows(__isl_keep isl_set *set, const struct array_rows *rows, struct group_box *box);
/* { [byte] }; owned. */
__isl_give isl_set *box_set(isl_ctx *ctx, const struct group_box *box);
uint64_t box_bytes(const struct group_box *box);
/* Each byte of meet is one of both. False: they have none in common, or it is not known. Where rows of the one reach
 * into two rows of the other, some common ones may be missing. */
bool box_meet(const struct group_box *a, const struct group_box *b, struct group_box *meet);
/* True: each byte of inner is one of outer. */
bool box_covers(const struct group_box *outer, const struct group_box *inner);

#endif
