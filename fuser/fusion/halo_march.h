/* SPDX-License-Identifier: Apache-2.0
 * Marching: a block of a halo fusion goes along one axis, y or z, layer by layer, so that no cell is recomputed along it but at
 * the ends of the block's chunk. Micikevicius, "3D Finite Difference Computation on GPUs using CUDA", 2009, has one stage of it;
 * engine.md, section 3, calls each step along the axis a turn. Internal to fuser/fusion.
 *
 * Stage s runs layer z in turn z + shift(s). Its loads that are served need layers up to z + d of stage p, which must have run in
 * an earlier turn: shift(s) >= shift(p) + d + 1, for all of them. Shifts grow strictly from stage to stage. So of two accesses of
 * one cell the earlier member's comes in an earlier turn, and one barrier, after each turn, orders whatever halo.h has ordered by
 * barriers between stages.
 *
 * Stage p's tiles hold its last ring(p) layers. In the turn in which a load reads layer z - d, p writes layer z + shift(s) -
 * shift(p), so that ring(p) >= shift(s) - shift(p) + d + 1 keeps the two apart; what p wrote later than that turn is behind
 * the barrier. The stages of a turn wait for each other nowhere else.
 *
 * No marching where a stage's border along the axis is sparse: few blocks would run it. */
#ifndef KFUSE_FUSER_FUSION_HALO_MARCH_H
#define KFUSE_FUSER_FUSION_HALO_MARCH_H

#include "fuser/fusion/group.h"

/* Fills the stages' first turns and rings for marching along the axis. False: it is not possible, or gains nothing, as no stage has
 * a border there. */
bool halo_march_order(struct group *group, int axis);
/* The turns that a block of so many layers takes. */
uint32_t halo_march_turns(const struct group *group, int axis, uint32_t layers);

#endif
