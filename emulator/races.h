/* SPDX-License-Identifier: Apache-2.0
 * Which accesses of a block are ordered: by barriers of the block, of named groups of its warps, and of lanes
 * of a warp; and which of different blocks: by fences of the device and atomic operations. Inside view of the race report.
 *
 * The report is of one launch: accesses of different launches are never compared, whether streams and events
 * order them or not, and also where they run side by side. It goes by address: memory that is mapped at two
 * is two. */
#ifndef KFUSE_EMULATOR_RACES_H
#define KFUSE_EMULATOR_RACES_H

#include "emulator/machine.h"

/* Who accessed, and when: block 31 bits, thread 10, epoch of its warp 22, valid 1. 0: nobody. */
typedef uint64_t race_mark;

static inline uint64_t race_block(race_mark mark)
{
    return mark >> 33;
}
static inline uint32_t race_thread(race_mark mark)
{
    return mark >> 23 & 0x3ff;
}
static inline uint32_t race_epoch(race_mark mark)
{
    return mark >> 1 & 0x3fffff;
}
static inline uint64_t race_place(race_mark mark) /* block and thread */
{
    return mark >> 23;
}

struct race_warp {
    uint32_t epoch;                /* grows at each barrier */
    uint32_t together;             /* what its lanes did before this epoch, they all know of each other */
    uint32_t knows[WARPS_MOST];    /* what other warps did before these epochs, this one comes after */
    uint32_t (*lanes)[LANE_COUNT]; /* the same between its lanes; NULL until some of them meet alone */
};
struct race_barrier {
    uint32_t waiting[WARPS_MOST], arrived[WARPS_MOST]; /* lanes: of bar.sync, of bar.arrive */
    uint32_t joined[WARPS_MOST];                       /* what they all know */
};
struct race_grid;
struct race_order {
    struct race_grid *grid;
    struct race_warp warps[WARPS_MOST];
    struct race_barrier barriers[BARRIER_COUNT];
};

static inline race_mark race_now(const struct race_order *order, uint64_t block, uint32_t warp, uint32_t lane)
{
    return (block & 0x7fffffff) << 33 | (uint64_t)(warp * LANE_COUNT + lane) << 23 |
           (uint64_t)(order->warps[warp].epoch & 0x3fffff) << 1 | 1;
}

/* --- race_grid.c: of the launch; NULL when memory is out */
struct race_grid *race_grid_open(void);
void race_grid_close(struct race_grid *grid);
/* A block begins. */
void race_grid_block(struct race_grid *grid);
/* An atomic operation in global memory that blocks can see of each other. */
void races_atomic(struct worker *worker, const struct warp *of, uint32_t lane,
                  const struct step_memory *memory, uint64_t address);
/* Whole warps at a barrier: what they have acquired, and what others have. And at one of their own. */
void race_grid_tell(struct race_grid *grid, uint32_t warp, uint32_t barrier);
void race_grid_hear(struct race_grid *grid, uint32_t warp, uint32_t barrier);
void race_grid_meet(struct race_grid *grid, uint32_t warp);
/* What another block did. */
bool race_grid_is_ordered(const struct race_grid *grid, race_mark now, race_mark mark);

/* Whether mark is ordered before now, or is nobody's. */
static inline bool race_is_ordered(const struct race_order *order, race_mark now, race_mark mark)
{
    if (mark == 0 || race_place(mark) == race_place(now)) return true;
    if (race_block(mark) != race_block(now)) return race_grid_is_ordered(order->grid, now, mark);
    uint32_t own = race_thread(now) / LANE_COUNT, other = race_thread(mark) / LANE_COUNT;
    const struct race_warp *warp = &order->warps[own];
    if (own != other) return race_epoch(mark) < warp->knows[other];
    return race_epoch(mark) < warp->together ||
           (warp->lanes != NULL &&
            race_epoch(mark) < warp->lanes[race_thread(now) % LANE_COUNT][race_thread(mark) % LANE_COUNT]);
}

void race_order_close(struct race_order *order);
struct race_order *races_order(struct races *races);

#endif
