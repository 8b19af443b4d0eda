/* SPDX-License-Identifier: Apache-2.0
 * Remaps as relations from the threads of a fused launch to those of a member. Dimensions of extent 1 are
 * dropped from the formulas, which keeps them small for isl. */
#include "fuser/fusion/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t remap_threads(const uint32_t grid[3], const uint32_t block[3])
{
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= (uint64_t)grid[d] * block[d];
    return threads;
}

bool remap_shapes_equal(const struct access_summary *summary, const uint32_t grid[3], const uint32_t block[3])
{
    for (int d = 0; d < 3; d++)
        if (summary->grid[d] != grid[d] || summary->block[d] != block[d]) return false;
    return true;
}

bool remap_keeps_blocks(const struct access_summary *summary, const uint32_t grid[3], const uint32_t block[3])
{
    static const uint32_t one[3] = {1, 1, 1};
    return !memcmp(summary->grid, grid, sizeof summary->grid) &&
           remap_threads(one, summary->block) == remap_threads(one, block);
}

static bool kind_fits(enum remap_kind kind, const uint32_t grid[3], const uint32_t block[3],
                      const struct access_summary *summary)
{
    uint64_t fused = remap_threads(grid, block), own = remap_threads(summary->grid, summary->block);
    switch (kind) {
    case REMAP_SAME:
        return remap_shapes_equal(summary, grid, block);
    case REMAP_GLOBAL:
        for (int d = 0; d < 3; d++)
            if ((uint64_t)grid[d] * block[d] < (uint64_t)summary->grid[d] * summary->block[d]) return false;
        return true;
    case REMAP_LINEAR:
        return fused >= own;
    case REMAP_STRIDE:
        return fused < own;
    case REMAP_AFFINE:
    case REMAP_COARSENED:
    case REMAP_CELLS:
    case REMAP_INTER_BLOCK:
        return false;
    }
    return false;
}

void remap_write_bounds(FILE *text, const char *block_name, const char *thread_name, const uint32_t grid[3],
                        const uint32_t block[3])
{
    for (int d = 0; d < 3; d++)
        fprintf(text, " and 0 <= %s%c < %u and 0 <= %s%c < %u", block_name, "xyz"[d], grid[d], thread_name,
                "xyz"[d], block[d]);
}

void remap_write_linear(FILE *text, const char *block_name, const char *thread_name, const uint32_t grid[3],
                        const uint32_t block[3])
{
    uint64_t weight = 1;
    fprintf(text, "0");
    for (int d = 0; d < 3; d++) {
        if (block[d] > 1) fprintf(text, " + %llu %s%c", (unsigned long long)weight, thread_name, "xyz"[d]);
        weight *= block[d];
    }
    for (int d = 0; d < 3; d++) {
        if (grid[d] > 1) fprintf(text, " + %llu %s%c", (unsigned long long)weight, block_name, "xyz"[d]);
        weight *= grid[d];
    }
}

static void write_global(FILE *text, const uint32_t grid[3], const uint32_t block[3],
                         const struct access_summary *summary)
{
    for (int d = 0; d < 3; d++) {
        char axis = "xyz"[d];
        if (block[d] == summary->block[d])
            fprintf(text, " and b%c = c%c and t%c = u%c", axis, axis, axis, axis);
        else
            fprintf(text, " and %u b%c + t%c = %u c%c + u%c", block[d], axis, axis, summary->block[d], axis,
                    axis);
    }
    (void)grid;
}

/* What the linear id says where the blocks are as many and as large: simpler for isl. */
static void write_same_blocks(FILE *text, const uint32_t block[3], const struct access_summary *summary)
{
    static const uint32_t one[3] = {1, 1, 1};
    fprintf(text, " and bx = cx and by = cy and bz = cz and ");
    remap_write_linear(text, "b", "t", one, block);
    fprintf(text, " = ");
    remap_write_linear(text, "c", "u", one, summary->block);
}

static __isl_give isl_map *relation(isl_ctx *ctx, enum remap_kind kind, const uint32_t grid[3],
                                    const uint32_t block[3], const struct access_summary *summary)
{
    char *string = NULL;
    size_t length;
    FILE *text = open_memstream(&string, &length);
    if (!text) return NULL;
    fprintf(text, "{ F[bz, by, bx, tz, ty, tx] -> L[cz, cy, cx, uz, uy, ux] : 0 = 0");
    remap_write_bounds(text, "b", "t", grid, block);
    remap_write_bounds(text, "c", "u", summary->grid, summary->block);
    if (kind == REMAP_SAME || kind == REMAP_GLOBAL) {
        write_global(text, grid, block, summary);
    } else if (kind == REMAP_LINEAR && remap_keeps_blocks(summary, grid, block)) {
        write_same_blocks(text, block, summary);
    } else {
        fprintf(text, kind == REMAP_STRIDE ? " and exists k : " : " and ");
        remap_write_linear(text, "b", "t", grid, block);
        if (kind == REMAP_STRIDE) fprintf(text, " + %llu k", (unsigned long long)remap_threads(grid, block));
        fprintf(text, " = ");
        remap_write_linear(text, "c", "u", summary->grid, summary->block);
    }
    fprintf(text, " }");
    isl_map *map = fclose(text) ? NULL : isl_map_read_from_str(ctx, string);
    free(string);
    return map;
}

__isl_give isl_map *remap_relation(struct memo *memo, enum remap_kind kind, const uint32_t grid[3],
                                   const uint32_t block[3], const struct access_summary *summary)
{
    if (!kind_fits(kind, grid, block, summary)) return NULL;
    struct memo_question question = {.kind = MEMO_REMAP + ((uint64_t)kind << 8)};
    for (int d = 0; d < 3; d++) {
        question.words[d] = grid[d];
        question.words[3 + d] = block[d];
        question.words[6 + d] = summary->grid[d];
        question.words[9 + d] = summary->block[d];
    }
    struct quota quota;
    if (!quota_ask(&quota, memo->ctx)) return NULL;
    isl_map *map = memo_relation(memo, &question);
    if (!map) {
        map = relation(memo->ctx, kind, grid, block, summary);
        memo_keep_relation(memo, &question, map);
    }
    quota_answer(&quota, map);
    return map;
}
