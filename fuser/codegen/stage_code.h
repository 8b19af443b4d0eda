/* SPDX-License-Identifier: Apache-2.0
 * The C of a halo fusion around the members' bodies: tiles in shared memory, a loop over the cells of every
 * stage, barriers. Internal to fuser/codegen. */
#ifndef KFUSE_FUSER_CODEGEN_STAGE_CODE_H
#define KFUSE_FUSER_CODEGEN_STAGE_CODE_H

#include "fuser/codegen/stage_version.h"

#define STAGE_MARK                                                                                           \
    "stage_" /* begin_N, end_N: registers that are written before and behind each version of stage N, where blocks march */
void stage_code_tiles(const struct group *group, FILE *out);
/* Where blocks march, the loop over the turns; else nothing. */
void stage_code_open_march(const struct group *group, FILE *out);
void stage_code_close_march(const struct group *group, FILE *out);
/* The stage's scope, up to its barrier. True when only some blocks run the stage and wait at its barrier, as the others have
 * no cells of it, or only in some turns. */
bool stage_code_open(const struct group *group, uint32_t stage, FILE *out);
void stage_code_close(const struct group *group, uint32_t stage, bool is_conditional, FILE *out);
/* `if (these blocks) {` */
void stage_code_version(const struct group *group, const struct stage_version *version, FILE *out);
/* The loop over the cells of a version's boxes, up to the first member; from behind the last one to its end. */
void stage_code_open_cells(const struct group *group, const struct stage_version *version, uint32_t stage,
                           FILE *out);
void stage_code_close_cells(const struct group *group, const struct stage_version *version,
                            struct arena *arena, uint32_t stage, FILE *out);
/* What remap_code_open does, for REMAP_CELLS: the thread that the cell runs, loads that are served. */
uint32_t stage_code_open_member(const struct body *body, FILE *out);
/* From the cell's own place in the tile to the place that the load is served from, in bytes. */
int32_t stage_code_distance(const struct body *body, const struct group_fetch *fetch);

#endif
