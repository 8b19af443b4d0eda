/* SPDX-License-Identifier: Apache-2.0
 * The relations that a coarsening stands for. */
#include "fuser/fusion/coarsening.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t one[3] = {1, 1, 1}; /* block */

/* What cell v0, v1, v2 the member's thread c, u is or lies in. */
static void write_cell(FILE *text, const struct coarsening *coarsening, const struct access_summary *summary)
{
    remap_write_bounds(text, "c", "u", summary->grid, summary->block);
    if (coarsening_is_cut(coarsening, summary))
        fprintf(text,
                coarsening->of_blocks ? " and v0 + %u v1 + %llu v2 = cx"
                                      : " and v0 + %u v1 + %llu v2 = %u cx + ux",
                coarsening->extents[0], (unsigned long long)coarsening->extents[0] * coarsening->extents[1],
                summary->block[0]);
    else if (coarsening->of_blocks)
        fprintf(text, " and v0 = cx and v1 = cy and v2 = cz");
    else
        for (int d = 0; d < 3; d++)
            fprintf(text, " and v%d = %u c%c + u%c", d, summary->block[d], "xyz"[d], "xyz"[d]);
    for (int d = 0; d < 3; d++) fprintf(text, " and 0 <= v%d < %u", d, coarsening->extents[d]);
}

/* The box of the block, in which the cell has the coordinates l0, l1, l2. */
static void write_box(FILE *text, const struct space *space, const struct coarsening *coarsening)
{
    for (int d = 0; d < 3; d++) {
        uint32_t blocks = space->grid[d], cells = coarsening->box[d];
        long long origin = coarsening->origin[d];
        fprintf(text, " and 0 <= b%c < %u and 0 <= l%d < %u and v%d = %lld + l%d", "xyz"[d], blocks, d, cells,
                d, origin, d);
        for (int k = 0; k < 3; k++)
            if (coarsening->step[k][d])
                fprintf(text, " + %lld b%c", (long long)coarsening->step[k][d], "xyz"[k]);
    }
}

static void write_threads(FILE *text, const struct space *space)
{
    const uint32_t *block = space->block;
    for (int d = 0; d < 3; d++) fprintf(text, " and 0 <= t%c < %u", "xyz"[d], block[d]);
}

/* Which cell of the box the thread has in the pass. */
static void write_pass(FILE *text, const struct space *space, const struct coarsening *coarsening,
                       const struct access_summary *summary)
{
    const uint32_t *box = coarsening->box;
    fprintf(text, " and 0 <= p < %u and l0 + %u l1 + %llu l2 = ", coarsening->passes, box[0],
            (unsigned long long)box[0] * box[1]);
    if (coarsening->of_blocks) {
        fprintf(text, "p and ");
        remap_write_linear(text, "c", "u", one, summary->block);
        fprintf(text, " = ");
        remap_write_linear(text, "b", "t", one, space->block);
        return;
    }
    remap_write_linear(text, "b", "t", one, space->block);
    fprintf(text, " + %llu p", (unsigned long long)remap_threads(one, space->block));
}

enum relation { BLOCK_TO_CELL, THREAD_TO_CELL, SPACE_TO_MEMBER, PASS_TO_MEMBER };

static __isl_give isl_map *relation(const struct space *space, uint32_t member,
                                    const struct coarsening *coarsening, enum relation which)
{
    static const char *const heads[] = {
        [BLOCK_TO_CELL] = "{ [bz, by, bx] -> [v2, v1, v0] : exists l0, l1, l2 : 0 = 0",
        [THREAD_TO_CELL] = "{ L[cz, cy, cx, uz, uy, ux] -> [v2, v1, v0] : 0 = 0",
        [SPACE_TO_MEMBER] =
            "{ F[bz, by, bx, tz, ty, tx] -> L[cz, cy, cx, uz, uy, ux] : exists v0, v1, v2, l0, "
            "l1, l2 : 0 = 0",
        [PASS_TO_MEMBER] = "{ [bz, by, bx, tz, ty, tx, p] -> [cz, cy, cx, uz, uy, ux] : exists v0, v1, v2, "
                           "l0, l1, l2 : 0 = 0",
    };
    const struct access_summary *summary = space->members[member].summary;
    char *string = NULL;
    size_t length;
    FILE *text = open_memstream(&string, &length);
    if (!text) return NULL;
    fprintf(text, "%s", heads[which]);
    if (which != BLOCK_TO_CELL) write_cell(text, coarsening, summary);
    if (which != THREAD_TO_CELL) write_box(text, space, coarsening);
    if (which >= SPACE_TO_MEMBER) write_threads(text, space);
    if (which == PASS_TO_MEMBER) write_pass(text, space, coarsening, summary);
    for (int d = 0; which == BLOCK_TO_CELL && d < 3; d++)
        fprintf(text, " and 0 <= v%d < %u", d, coarsening->extents[d]);
    fprintf(text, " }");
    isl_map *map = fclose(text) ? NULL : memo_read(space->memo, string);
    free(string);
    return map;
}

__isl_give isl_map *coarsening_boxes(const struct space *space, uint32_t member,
                                     const struct coarsening *coarsening)
{
    return relation(space, member, coarsening, BLOCK_TO_CELL);
}

__isl_give isl_map *coarsening_cells(const struct space *space, uint32_t member,
                                     const struct coarsening *coarsening)
{
    return relation(space, member, coarsening, THREAD_TO_CELL);
}

__isl_give isl_map *coarsening_map(const struct space *space, uint32_t member,
                                   const struct coarsening *coarsening)
{
    return relation(space, member, coarsening, SPACE_TO_MEMBER);
}

__isl_give isl_map *coarsening_passes(const struct space *space, uint32_t member,
                                      const struct coarsening *coarsening)
{
    return relation(space, member, coarsening, PASS_TO_MEMBER);
}
