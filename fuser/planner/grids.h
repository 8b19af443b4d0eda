/* SPDX-License-Identifier: Apache-2.0
 * Which launches with grid-stride loops are seen as launches of larger grids (access/regrid.h). Beside kernels of one thread
 * an element they fuse then in every way that those do. Beside a kernel that keeps its grid, as one that adds up what its
 * threads have seen, they fuse as they are, iteration by iteration (fusion/join.h): launches of one grid that follow each
 * other keep it together. Legality is no matter of this choice. */
#ifndef KFUSE_FUSER_PLANNER_GRIDS_H
#define KFUSE_FUSER_PLANNER_GRIDS_H

#include "fuser/kernel/grid_stride.h"
#include "fuser/planner/program.h"

/* Before its launches are analysed. Release with grids_free; NULL when memory is out. */
struct grids *grids_find(struct program *program);
void grids_free(struct grids *grids);
/* The loops of a launch that is seen so; NULL: it is not, nor is any for NULL. */
const struct grid_strides *grids_loops(const struct grids *grids, const struct trace_launch *launch);

#endif
