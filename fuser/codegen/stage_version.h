/* SPDX-License-Identifier: Apache-2.0
 * A stage of a halo fusion, as some blocks run it. Most blocks are *interior*: every cell of their box runs a member
 * or none does, and every load that the stage serves is served. Their code asks neither, and goes the one way that is left of a member's own branches.
 * So a block asks once what else each cell asked. Blocks at edges run the general code. Where few cells of the border's outer
 * part run, beyond the dense one, interior blocks have none of them: their boxes end with the dense border.
 *
 * What could go wrong: 1. a block is taken for interior in which some cell does not run, or is served from elsewhere, or
 * a cell beyond the dense border runs: the box of blocks is cut until no cell of theirs is bad, and sets that isl gives up
 * make none; 2. a branch is taken to go one
 * way for threads that it was not asked of: it is asked of the threads of the version's cells alone, from supersets of
 * those that go each way; 3. the copies are contracted differently: only code that leaves the compiler no choice has two.
 *
 * What is said of blocks here, holds of the patches of cells that a block runs at a time (group_patch): where blocks march, each
 * layer is one. The general version has layers before the launch's first and behind its last, too. */
#ifndef KFUSE_FUSER_CODEGEN_STAGE_VERSION_H
#define KFUSE_FUSER_CODEGEN_STAGE_VERSION_H

#include "fuser/codegen/body.h"

struct stage_version {
    bool is_interior;
    int32_t border_low[3], border_high[3]; /* its boxes have so many cells before and behind the tile */
    isl_set *cells;          /* { F[0, 0, 0, tz, ty, tx] }: in boxes of the blocks that run it */
    uint32_t low[3], end[3]; /* the blocks that are interior, x y z */
};
/* The cells that the stage's boxes have, and the whole grid. The caller clears it. */
struct stage_version stage_version_general(const struct group *group, const struct group_stage *stage);
/* False: there is none, or so few blocks are interior that it does not pay. */
bool stage_version_interior(const struct group *group, const struct group_stage *stage,
                            struct stage_version *version);
void stage_version_clear(struct stage_version *version);
/* { F[0, 0, 0, tz, ty, tx] } of the cells -> { F[bz, by, bx, 0, 0, 0] } of the blocks that have them in such boxes. */
__isl_give isl_map *stage_version_blocks(const struct group *group, const int32_t border_low[3],
                                         const int32_t border_high[3], isl_ctx *ctx);
/* The cells that run the member; NULL: all whose coordinates are a thread's. */
__isl_give isl_set *stage_version_running(const struct group *group, uint32_t member);
/* What the cells of an interior version do with the member. OTHER: neither is known for certain, and the version is none. */
enum stage_version_use { STAGE_VERSION_OTHER, STAGE_VERSION_ALL_RUN, STAGE_VERSION_IDLE };
enum stage_version_use stage_version_use(const struct group *group, const struct stage_version *version,
                                         uint32_t member);
/* Sets what the body says of its fetches and branches in this version. NULL: in none. */
void stage_version_choose(const struct stage_version *version, struct body *body);

#endif
