/* SPDX-License-Identifier: Apache-2.0
 * Tiles are powers of two along each dimension, of at least a half warp along x: the one with the least work,
 * which is the cells that its stages run, and what its ends move for nothing.
 * Large ones as long as there are blocks for the whole device, but where no stage runs a cell twice one of
 * as many cells as threads. */
#include "fuser/fusion/halo_tile.h"

#include "fuser/access/stride.h"

#include <stdio.h>
#include <string.h>

enum {
    TILE_THREADS = 256,
    TILE_MOST_CELLS = 1024,
    TILE_LEAST_CELLS = 128, /* where there are more */
    TILE_LEAST_X = 16,
    TILE_BLOCKS_WANTED = 256,     /* about two a multiprocessor of the largest devices */
    TILE_SHARED_BYTES = 48 << 10, /* static shared memory on every device */
    TILE_MOST_GRID_YZ = 65535,
};
static const double SMALL_SHARE = 0.5; /* of the cells: what halo.h calls a small member */
/* What members read of neighbours from memory, in cells: half a sector at each end of a row of 8-byte
 * elements; of rows and layers beside the tile, as the shared cache may have them, half of one. */
static const double ROW_END = 2, SIDE = 0.5;

static uint64_t stage_cells(const struct group_stage *stage, const uint32_t tile[3])
{
    uint64_t cells = 1;
    for (int d = 0; d < 3; d++) cells *= tile[d] + stage->low[d] + stage->high[d];
    return cells;
}

static uint64_t shared_bytes(const struct group *group, const uint32_t tile[3])
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->tile_count; i++)
        bytes +=
            (stage_cells(group_stage_of(group, group->tiles[i].member), tile) * group->tiles[i].bytes + 15) /
            16 * 16;
    return bytes;
}

/* Cells that run, where the member runs everywhere. */
static double run_cells(const struct group_stage *stage, const uint32_t tile[3])
{
    double cells = 1, own = (double)tile[0] * tile[1] * tile[2];
    for (int d = 0; d < 3; d++) cells *= tile[d] + stage->dense_low[d] + stage->dense_high[d];
    return cells + stage->sparse * own;
}

/* A member's share of the cells: a small one runs in few. */
static double share_of_cells(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    double cells = (double)group->cells[0] * group->cells[1] * group->cells[2];
    double threads = (double)remap_threads(summary->grid, summary->block);
    return threads < SMALL_SHARE * cells ? threads / cells : 1;
}

static double stage_members(const struct group *group, const struct group_stage *stage)
{
    double members = 0;
    for (uint32_t i = 0; i < stage->member_count; i++)
        members += share_of_cells(group, stage->first_member + i);
    return members;
}

static bool stage_has_border(const struct group_stage *stage, int d)
{
    return stage->dense_low[d] || stage->dense_high[d];
}

static bool has_border(const struct group *group, int d)
{
    for (uint32_t s = 0; s < group->stage_count; s++)
        if (stage_has_border(&group->stages[s], d)) return true;
    return false;
}

/* The axis along which most accesses go from element to element: x, but for kernels whose threads along x lie rows apart. */
static int axis_of_rows(const struct group *group)
{
    uint32_t votes[3] = {0};
    for (uint32_t member = 0; member < group->member_count; member++) {
        const struct access_summary *summary = group->members[member].summary;
        for (uint32_t i = 0; i < summary->access_count; i++) {
            int64_t strides[3];
            if (!access_strides(summary, &summary->accesses[i], strides)) continue;
            for (int d = 0; d < 3; d++) votes[d] += strides[d] == summary->accesses[i].width;
        }
    }
    int axis = 0;
    for (int d = 1; d < 3; d++)
        if (votes[d] > votes[axis]) axis = d;
    return axis;
}

/* Cells run for each cell of the tile, by all members, and what their rows, along an axis, move beyond. */
static double work(const struct group *group, const uint32_t tile[3], int rows)
{
    double cells = 0, own = (double)tile[0] * tile[1] * tile[2];
    for (uint32_t s = 0; s < group->stage_count; s++)
        cells += run_cells(&group->stages[s], tile) * stage_members(group, &group->stages[s]);
    double ends = 1 + ROW_END / tile[rows];
    for (int d = 0; d < 3; d++)
        if (d != rows && has_border(group, d)) ends *= 1 + SIDE / tile[d];
    return cells / own * ends;
}

/* A member that runs in a good part of the cells has cells beyond the tile. */
static bool repeats(const struct group *group)
{
    for (uint32_t s = 0; s < group->stage_count; s++) {
        const struct group_stage *stage = &group->stages[s];
        bool has_border = false;
        for (int d = 0; d < 3; d++) has_border |= stage_has_border(stage, d);
        if (has_border && stage_members(group, stage) >= 1) return true;
    }
    return false;
}

static uint32_t power_above(uint32_t value)
{
    uint32_t power = 1;
    while (power < value && power < TILE_MOST_CELLS) power *= 2;
    return power;
}

/* The best shape of that many cells; false: none fits. */
static bool best_shape(struct group *group, uint32_t cells, int rows)
{
    double best = 0;
    uint32_t most_x = power_above(group->cells[0]), most_y = power_above(group->cells[1]);
    uint32_t least_x = most_x < TILE_LEAST_X ? most_x : TILE_LEAST_X;
    for (uint32_t x = least_x; x <= most_x && x <= cells; x *= 2)
        for (uint32_t y = 1; y <= most_y && x * y <= cells; y *= 2) {
            uint32_t tile[3] = {x, y, cells / (x * y)};
            if (tile[2] > power_above(group->cells[2])) continue;
            double cost = work(group, tile, rows);
            if (shared_bytes(group, tile) > TILE_SHARED_BYTES || (best && cost >= best)) continue;
            best = cost;
            memcpy(group->tile, tile, sizeof tile);
        }
    for (int d = 0; d < 3; d++)
        group->grid[d] = best ? (group->cells[d] + group->tile[d] - 1) / group->tile[d] : 0;
    return best && group->grid[1] <= TILE_MOST_GRID_YZ && group->grid[2] <= TILE_MOST_GRID_YZ;
}

bool halo_tile_choose(struct group *group, struct placement_failure *failure)
{
    bool fits = false;
    int rows = axis_of_rows(group);
    uint32_t most = repeats(group) ? TILE_MOST_CELLS : TILE_THREADS;
    for (uint32_t cells = most; cells && (!fits || cells >= TILE_LEAST_CELLS); cells /= 2) {
        uint32_t previous[6];
        memcpy(previous, group->tile, sizeof group->tile);
        memcpy(previous + 3, group->grid, sizeof group->grid);
        if (!best_shape(group, cells, rows)) {
            memcpy(group->tile, previous, sizeof group->tile);
            memcpy(group->grid, previous + 3, sizeof group->grid);
            continue;
        }
        fits = true;
        if ((uint64_t)group->grid[0] * group->grid[1] * group->grid[2] >= TILE_BLOCKS_WANTED) break;
    }
    if (!fits) {
        snprintf(failure->reason, sizeof failure->reason,
                 "the values of a tile do not fit into shared memory");
        return false;
    }
    uint32_t cells = group->tile[0] * group->tile[1] * group->tile[2];
    group->block[0] = cells < TILE_THREADS ? cells : TILE_THREADS;
    group->block[1] = group->block[2] = 1;
    return true;
}
