/* SPDX-License-Identifier: Apache-2.0
 * Block coarsening: a block of the fused kernel runs a box of a member's launch, in several passes. Where
 * that lies is guessed from what a few blocks touch, and then proved. Internal to fuser/fusion.
 *
 * The member's launch is seen as a box of cells, x y z: its threads by their place in the whole launch, or
 * its blocks, where those must stay whole (of_blocks). Where threads lie along x alone and a block needs
 * those of several rows of an array, the line is cut in rows, and these in layers: x then counts in the row,
 * y the rows. Each fused block has a box of cells of one size, which moves on by the same steps from block to
 * block. In pass k, thread t of the block's T runs the cell with number t + k T, x fastest; one of_blocks has
 * one cell a pass, which all threads run together, thread by thread.
 *
 * A wrong result could come from
 * - a thread of the member that no block runs, or two: all threads that write lie in some block's box
 * (coarsening_covers), boxes of two blocks are disjoint, and each number stands for one cell of its box;
 * - a conflict with another member that reaches beyond the block: asked of the space as for any member, whose
 * map here has every thread of the block run every cell of the box, since which does is the code's choice. So
 * what meets is at best within one block, and has a barrier between;
 * - passes that meet: they are different threads of one launch, which do not conflict in memory. In shared
 * memory whole blocks do: a barrier stands between their passes;
 * - a barrier that not all threads come to: whether a pass has a cell is asked of block and pass alone where
 * cells are blocks, and other members have no barriers;
 * - values in registers: a thread of the fused kernel is no thread of such a member; forward.h leaves those
 * out. It could be slow: with fewer threads than the member had (space_place_all's wastes_device), or for
 * what a cell's coordinates cost, which divide by constants. */
#ifndef KFUSE_FUSER_FUSION_COARSENING_H
#define KFUSE_FUSER_FUSION_COARSENING_H

#include "fuser/fusion/space.h"

enum { COARSENING_PASSES = 64 }; /* at most */

/* Its launch is a line that is cut in rows. */
static inline bool coarsening_is_cut(const struct coarsening *coarsening,
                                     const struct access_summary *summary)
{
    uint64_t along = (uint64_t)summary->grid[0] * (coarsening->of_blocks ? 1 : summary->block[0]);
    return coarsening->extents[0] != along;
}
/* Finds the member's box of a block from its conflicts with the members that are placed, in an arena; NULL:
 * none, or isl gave up. */
struct coarsening *coarsening_derive(struct space *space, uint32_t member);
/* --- coarsening_map.c */
/* { L -> [cell, z y x] }: of the launch. */
__isl_give isl_map *coarsening_cells(const struct space *space, uint32_t member,
                                     const struct coarsening *coarsening);
/* { [bz, by, bx] -> [cell, z y x] }: of each fused block. */
__isl_give isl_map *coarsening_boxes(const struct space *space, uint32_t member,
                                     const struct coarsening *coarsening);
/* { F[bz, by, bx, tz, ty, tx] -> L }: all threads that the block may run. */
__isl_give isl_map *coarsening_map(const struct space *space, uint32_t member,
                                   const struct coarsening *coarsening);
/* { [bz, by, bx, tz, ty, tx, pass] -> L }: those that the thread runs. */
__isl_give isl_map *coarsening_passes(const struct space *space, uint32_t member,
                                      const struct coarsening *coarsening);

#endif
