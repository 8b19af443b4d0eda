/* SPDX-License-Identifier: Apache-2.0
 * Tiles are powers of two along each dimension, of at least a half warp along x: the one with the least work,
 * which is the cells that its stages run, and what its ends move for nothing.
 * Large ones as long as there are blocks for the whole device, but where no stage runs a cell twice one of
 * as many cells as threads. Blocks that march have flat tiles, and chunks of many layers; what they save competes with the turns
 * that they take. */
#include "fuser/fusion/halo_tile.h"
#include "fuser/fusion/halo_march.h"

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
    WARP = 32,
    MARCH_MOST_THREADS = 384,
    MARCH_MOST_CELLS = 512, /* of a layer of the tile */
    MARCH_LEAST_LAYERS = 4,
};
static const double SMALL_SHARE = 0.5; /* of the cells: what halo.h calls a small member */
/* What members read of neighbours from memory, in cells: half a sector at each end of a row of 8-byte
 * elements; of rows and layers beside the tile, as the shared cache may have them, half of one. */
static const double ROW_END = 2, SIDE = 0.5;
/* Threads that a large device runs at a time; of their last wave, the part that is idle; of a turn in which stages have nothing to
 * run, the part that it takes; and what a march takes beside a tile that runs as many cells. Two stencils of seven points, 400^3
 * doubles, on an H100: tiles 591 us, marching 550; two steps of one in time: 696 and 749 (bench/results/stencil.txt). */
static const double MARCH_THREADS_AT_ONCE = 132 * 1024, LAST_WAVE = 0.25, WAITING_SHARE = 0.3,
                    MARCH_COST = 1.25;

static uint64_t stage_cells(const struct group_stage *stage, const uint32_t tile[3])
{
    uint64_t cells = 1;
    for (int d = 0; d < 3; d++) cells *= group_stage_extent(stage, tile, d);
    return cells;
}

/* Cells that a tile of the stage has room for; march: the axis, or 0. */
static uint64_t kept_cells(const struct group_stage *stage, const uint32_t tile[3], int march)
{
    uint64_t cells = stage_cells(stage, tile);
    return march ? cells / group_stage_extent(stage, tile, march) * stage->ring : cells;
}

static uint64_t shared_bytes(const struct group *group, const uint32_t tile[3], int march)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->tile_count; i++) {
        if (group->tiles[i].kept_in != i) continue;
        const struct group_stage *stage = group_stage_of(group, group->tiles[i].member);
        uint64_t cells = kept_cells(stage, tile, march);
        bytes += (cells * group->tiles[i].bytes + 15) / 16 * 16;
        if (group->tiles[i].is_masked) bytes += (cells + 15) / 16 * 16;
    }
    return bytes;
}

/* Cells that run, where the member runs everywhere. */
static double run_cells(const struct group_stage *stage, const uint32_t tile[3])
{
    double cells = 1, own = (double)tile[0] * tile[1] * tile[2];
    for (int d = 0; d < 3; d++) cells *= group_stage_dense(stage, tile, d);
    return cells + stage->sparse * own;
}

/* A member's share of the cells: a small one runs in few. */
static double share_of_cells(const struct group *group, uint32_t member)
{
    const struct access_summary *summary = group->members[member].summary;
    double cells = (double)group->cells[0] * group->cells[1] * group->cells[2];
    double threads = (double)remap_threads(summary->grid, summary->block);
    if (group_stage_of(group, member)->is_flat) cells /= group->cells[2];
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
    return stage->dense_low[d] > 0 || stage->dense_high[d] > 0;
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
            uint32_t tile[3] = {x, y, group->has_all_layers ? group->cells[2] : cells / (x * y)};
            if (tile[2] > power_above(group->cells[2]) || x * y * tile[2] > cells) continue;
            double cost = work(group, tile, rows);
            if (shared_bytes(group, tile, 0) > TILE_SHARED_BYTES || (best && cost >= best)) continue;
            best = cost;
            memcpy(group->tile, tile, sizeof tile);
        }
    for (int d = 0; d < 3; d++)
        group->grid[d] = best ? (group->cells[d] + group->tile[d] - 1) / group->tile[d] : 0;
    return best && group->grid[1] <= TILE_MOST_GRID_YZ && group->grid[2] <= TILE_MOST_GRID_YZ;
}

static bool choose_tile(struct group *group, int rows)
{
    bool fits = false;
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
    uint32_t cells = group->tile[0] * group->tile[1] * group->tile[2];
    group->block[0] = cells < TILE_THREADS ? cells : TILE_THREADS;
    return fits;
}

/* --- blocks that march ------------------------------------------------------------------------------------------------- */

struct march {
    int axis;
    uint32_t tile[3];
    double cost;
};

/* The most cells that one layer of a stage's box has. */
static uint32_t layer_cells(const struct group *group, const struct march *march)
{
    uint64_t most = 1;
    for (uint32_t s = 0; s < group->stage_count; s++) {
        const struct group_stage *stage = &group->stages[s];
        uint64_t layers = group_stage_extent(stage, march->tile, march->axis);
        uint64_t cells = stage_cells(stage, march->tile) / layers;
        if (cells > most) most = cells;
    }
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* So few that all of them have cells in every pass over a layer. */
static uint32_t march_threads(const struct group *group, const struct march *march)
{
    uint32_t cells = layer_cells(group, march),
             passes = (cells + MARCH_MOST_THREADS - 1) / MARCH_MOST_THREADS;
    return ((cells + passes - 1) / passes + WARP - 1) / WARP * WARP;
}

static double block_count(const struct group *group, const uint32_t tile[3])
{
    double blocks = 1;
    for (int d = 0; d < 3; d++) blocks *= (group->cells[d] + tile[d] - 1) / tile[d];
    return blocks;
}

/* What it runs, and what a device that has few blocks, or a last few, leaves undone. Turns in which not every stage has a layer
 * wait as others do. */
static double march_cost(const struct group *group, const struct march *march, int rows)
{
    double blocks = block_count(group, march->tile),
           at_once = MARCH_THREADS_AT_ONCE / march_threads(group, march);
    double turns = halo_march_turns(group, march->axis, march->tile[march->axis]);
    double idle = turns / march->tile[march->axis];
    double waves = blocks < at_once ? at_once / blocks : 1 + LAST_WAVE * at_once / blocks;
    return work(group, march->tile, rows) * (1 + WAITING_SHARE * (idle - 1)) * waves * MARCH_COST;
}

/* The best number of layers for a block of this patch of a layer. */
static void try_chunks(const struct group *group, struct march *march, int rows, struct march *best)
{
    uint32_t all = group->cells[march->axis];
    for (uint32_t chunks = 1; chunks <= all && all / chunks >= MARCH_LEAST_LAYERS;
         chunks += 1 + chunks / 16) { /* where there are many, their number hardly matters */
        march->tile[march->axis] = (all + chunks - 1) / chunks;
        march->cost = march_cost(group, march, rows);
        if (!best->cost || march->cost < best->cost) *best = *march;
    }
}

static struct march choose_march(struct group *group, int rows)
{
    struct march best = {0}, march = {.axis = group->cells[2] > 1 ? 2 : 1};
    uint32_t most_x = power_above(group->cells[0]),
             most_y = march.axis == 2 ? power_above(group->cells[1]) : 1;
    if (rows == march.axis || group->has_all_layers || !halo_march_order(group, march.axis)) return best;
    for (uint32_t x = TILE_LEAST_X; x <= most_x && x <= MARCH_MOST_CELLS; x *= 2)
        for (uint32_t y = 1; y <= most_y && x * y <= MARCH_MOST_CELLS; y *= 2) {
            march.tile[0] = x;
            march.tile[1] = march.tile[2] = 1;
            if (march.axis == 2) march.tile[1] = y;
            if (shared_bytes(group, march.tile, march.axis) > TILE_SHARED_BYTES) continue;
            try_chunks(group, &march, rows, &best);
        }
    return best;
}

/* layers: 0, or as many are wanted. */
static bool use_march(struct group *group, struct march *march, uint32_t layers)
{
    if (!march->cost) return false;
    if (layers)
        march->tile[march->axis] = layers < group->cells[march->axis] ? layers : group->cells[march->axis];
    group->march = march->axis;
    memcpy(group->tile, march->tile, sizeof group->tile);
    for (int d = 0; d < 3; d++) group->grid[d] = (group->cells[d] + group->tile[d] - 1) / group->tile[d];
    group->block[0] = march_threads(group, march);
    return group->grid[1] <= TILE_MOST_GRID_YZ && group->grid[2] <= TILE_MOST_GRID_YZ;
}

bool halo_tile_choose(struct group *group, uint32_t march_layers, struct placement_failure *failure)
{
    int rows = axis_of_rows(group);
    bool fits = choose_tile(group, rows);
    struct march march = {0};
    bool has_layers = group->cells[2] > 1; /* of rows; one row is too little for a turn: measured */
    if (march_layers != UINT32_MAX && (has_layers || march_layers || !fits))
        march = choose_march(group, rows);
    bool is_better = march_layers || !fits || march.cost < work(group, group->tile, rows);
    if (march.cost && is_better) fits = use_march(group, &march, march_layers);
    if (!fits)
        snprintf(failure->reason, sizeof failure->reason,
                 "the values of a tile do not fit into shared memory");
    group->block[1] = group->block[2] = 1;
    return fits;
}
