/* SPDX-License-Identifier: Apache-2.0
 * Halo fusion (Wahib and Maruyama, "Scalable Kernel Fusion for Memory-Bound GPU Applications", SC'14, section
 * II: complex fusion): what a block of a later member needs of an earlier one is computed by that block, its
 * neighbours' part once more. Internal to fuser/fusion.
 *
 * The rules, for members p before q:
 * 1. A load of q is served from the tiles of the stores that write last what it reads, each byte by one of
 * them (its last writers), when each is made exactly once by each thread in its domain, and no two of one
 * member write a byte that the load reads. What no member writes is read from memory, and no member may write
 * it. Where several members write what a load reads, one that only copies an element that a store of the
 * group wrote (a periodic border) is seen through: that store is the last writer. Which cell of p a cell of q
 * reads is the relation D = bytes of the load o bytes of the store^-1, with copies between them, a function.
 * The translation that holds for most of D gives the place in the tile; where D is another one (periodic
 * wrap, clamping) the cell in that place, which lies beyond the launch or in another tile, runs the thread
 * that D names. V_p: cells -> threads of p, the union over all loads of p's values and of the identity on p's
 * own cells, must be a function: else the tile would need two values in one place. What does not fit there,
 * and what small members load or store, is cut in pieces, each with the nearest places that are free or hold
 * just these cells.
 * 2. p is recomputed when a load that it is a last writer of is not of its own cell, or q is recomputed: then
 * all loads of p's values are served from tiles, and all last writers of these are recomputed.
 * 3. A recomputed member is run again by other blocks at any time, so what it loads from memory is written by
 * no member. It has no atomics.
 * 4. Any other two accesses of different members that touch a byte, one writing, do so in one cell. Cells of
 * a tile belong to one block, stages are in the members' order, and a barrier lies between.
 * 5. A store of a recomputed member goes to memory only for its own cell in the tile.
 * 6. A member of at most half as many threads as the largest (a row, a column, corners) may have its threads
 * in other cells than those with their coordinates, one each: where large members write the same, or as far
 * as that is one quasi-affine function, what it reads, or what reads it.
 * 7. In the border of p's box there run those places that lie offset away from a cell that loads there and
 * runs itself. Where many cells load so, that is a border of p's in every tile, its dense one; where few do
 * (copies of a periodic border read only the edges), it is their places alone.
 * 8. Of two stores that are each made exactly once, and write elements of both in different cells (the sides of a border at a corner),
 * the last one is made there alone, since blocks have no order. Loads that come between are served from tiles.
 * 9. Where members have a few cells along z, a tile has all of them, and one that has but one there is flat: its place in the tile is
 * that of x and y alone, and is run once for all (the components of a field, and what is computed once for them).
 *
 * Where that fails and members iterate loops, these are expanded (expansion.h): their iterations become cells
 * along z. Then what an iteration of q reads of other threads' iterations of p is what a cell reads of other
 * cells, of the same iteration or of one nearby; conflicts of iterations that are not served must stay in one
 * cell (rule 4), and what an iteration of a member writes, no other cell of that member may touch. The fused
 * kernel has no loop: there is nothing to get out of step. */
#ifndef KFUSE_FUSER_FUSION_HALO_H
#define KFUSE_FUSER_FUSION_HALO_H

#include "fuser/fusion/space.h"

/* Opens a space of cells (one block of all cells) and fills the group's stages, tiles, fetches, remaps
 * (guards aside), grid and block. False when there is no such fusion, with the reason; nothing is left open
 * then. */
bool halo_place_all(struct group *group, struct space *space, struct memo *memo,
                    struct placement_failure *failure);
/* The same of lines of threads over rows of an array: their cells are those of the rows. Where there are none,
 * the failure has no reason. */
bool halo_place_rows(struct group *group, struct space *space, struct memo *memo,
                     struct placement_failure *failure);

#endif
