/* SPDX-License-Identifier: Apache-2.0
 * What barriers tell the race report: who comes after whom. */
#include "emulator/races.h"

#include <stdlib.h>

void race_order_close(struct race_order *order)
{
    for (uint32_t w = 0; w < WARPS_MOST; w++) free(order->warps[w].lanes);
}

void races_block(struct worker *worker)
{
    struct race_order *order = races_order(worker->races);
    struct race_grid *grid = order->grid;
    race_order_close(order);
    memset(order, 0, sizeof *order);
    order->grid = grid;
    race_grid_block(grid);
}

/* What the warp did up to now, and what it comes after, is known at the barrier. */
static void race_tell(struct race_order *order, struct race_barrier *barrier, uint32_t index,
                      uint32_t warp_count)
{
    struct race_warp *warp = &order->warps[index];
    race_grid_tell(order->grid, index, (uint32_t)(barrier - order->barriers));
    warp->epoch++;
    warp->knows[index] = warp->epoch;
    for (uint32_t k = 0; k < warp_count; k++)
        barrier->joined[k] = warp->knows[k] > barrier->joined[k] ? warp->knows[k] : barrier->joined[k];
}

static bool race_is_whole(const struct warp *warp, uint32_t lanes)
{
    return (lanes | warp->exited) == ALL_LANES;
}

void races_arrive(struct worker *worker, const struct warp *warp, uint32_t id, uint32_t lanes, bool waits)
{
    struct race_order *order = races_order(worker->races);
    struct race_barrier *barrier = &order->barriers[id];
    uint32_t *all = waits ? &barrier->waiting[warp->index] : &barrier->arrived[warp->index];
    *all |= lanes;
    if (!waits && race_is_whole(warp, *all)) race_tell(order, barrier, warp->index, worker->warp_count);
}

/* Only warps that wait as a whole are ordered: parts of warps at a block's barrier are not followed. */
void races_barrier(struct worker *worker, uint32_t id)
{
    struct race_order *order = races_order(worker->races);
    struct race_barrier *barrier = &order->barriers[id];
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        if (barrier->waiting[w] == 0) continue;
        if (race_is_whole(&worker->warps[w], barrier->waiting[w]))
            race_tell(order, barrier, w, worker->warp_count);
        else
            barrier->waiting[w] = 0;
    }
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        struct race_warp *warp = &order->warps[w];
        if (barrier->waiting[w] == 0) continue;
        for (uint32_t k = 0; k < worker->warp_count; k++)
            warp->knows[k] = barrier->joined[k] > warp->knows[k] ? barrier->joined[k] : warp->knows[k];
        warp->together = warp->epoch;
        race_grid_hear(order->grid, w, id);
    }
    *barrier = (struct race_barrier){0};
}

/* Some lanes meet: each comes after what any of them came after, and after what they did. */
static void race_meet(struct race_warp *warp, uint32_t lanes)
{
    uint32_t known[LANE_COUNT] = {0};
    if (warp->lanes == NULL) warp->lanes = calloc(LANE_COUNT, sizeof *warp->lanes);
    if (warp->lanes == NULL) return;
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        for (uint32_t k = 0; (lanes >> i & 1) && k < LANE_COUNT; k++)
            known[k] = warp->lanes[i][k] > known[k] ? warp->lanes[i][k] : known[k];
    }
    for (uint32_t k = 0; k < LANE_COUNT; k++) {
        if (lanes >> k & 1) known[k] = warp->epoch;
    }
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        if (lanes >> i & 1) memcpy(warp->lanes[i], known, sizeof known);
    }
}

void races_warp(struct worker *worker, const struct warp *warp, uint32_t lanes)
{
    struct race_warp *own = &races_order(worker->races)->warps[warp->index];
    own->epoch++;
    if (race_is_whole(warp, lanes)) {
        own->together = own->epoch;
        race_grid_meet(races_order(worker->races)->grid, warp->index);
    } else {
        race_meet(own, lanes);
    }
}
