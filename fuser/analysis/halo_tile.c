/* SPDX-License-Identifier: Apache-2.0
 * Tiles are powers of two along each dimension: the one whose stages run the fewest cells, among those of at
 * least a half warp along x; large ones as long as there are blocks for the whole device. */
#include "fuser/analysis/halo_tile.h"

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

/* Cells run for each cell of the tile, by all members. */
static double work(const struct group *group, const uint32_t tile[3])
{
    double cells = 0, own = (double)tile[0] * tile[1] * tile[2];
    for (uint32_t s = 0; s < group->stage_count; s++)
        cells += (double)stage_cells(&group->stages[s], tile) * group->stages[s].member_count;
    return cells / own;
}

static uint32_t power_above(uint32_t value)
{
    uint32_t power = 1;
    while (power < value && power < TILE_MOST_CELLS) power *= 2;
    return power;
}

/* The best shape of that many cells; false: none fits. */
static bool best_shape(struct group *group, uint32_t cells)
{
    double best = 0;
    uint32_t most_x = power_above(group->cells[0]), most_y = power_above(group->cells[1]);
    uint32_t least_x = most_x < TILE_LEAST_X ? most_x : TILE_LEAST_X;
    for (uint32_t x = least_x; x <= most_x && x <= cells; x *= 2)
        for (uint32_t y = 1; y <= most_y && x * y <= cells; y *= 2) {
            uint32_t tile[3] = {x, y, cells / (x * y)};
            if (tile[2] > power_above(group->cells[2])) continue;
            double cost = work(group, tile);
            if (shared_bytes(group, tile) > TILE_SHARED_BYTES || (best && cost >= best)) continue;
            best = cost;
            memcpy(group->tile, tile, sizeof tile);
        }
    for (int d = 0; d < 3; d++)
        group->grid[d] = best ? (group->cells[d] + group->tile[d] - 1) / group->tile[d] : 0;
    return best && group->grid[1] <= TILE_MOST_GRID_YZ && group->grid[2] <= TILE_MOST_GRID_YZ;
}

bool halo_tile_choose(struct group *group, struct frame_failure *failure)
{
    bool fits = false;
    for (uint32_t cells = TILE_MOST_CELLS; cells && (!fits || cells >= TILE_LEAST_CELLS); cells /= 2) {
        uint32_t previous[6];
        memcpy(previous, group->tile, sizeof group->tile);
        memcpy(previous + 3, group->grid, sizeof group->grid);
        if (!best_shape(group, cells)) {
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
