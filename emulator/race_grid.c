/* SPDX-License-Identifier: Apache-2.0
 * What atomic operations and fences of the device tell the race report: which blocks come after which. A thread's fence, and then an
 * atomic operation, is a release of what the thread knows; one that finds it, and then a fence, an acquire (PTX ISA, memory
 * consistency model: release and acquire patterns, through a chain of atomic operations). So the block that counts all others as
 * done may read what they wrote. Stores and loads in place of the atomic operation order nothing here. */
#include "emulator/races.h"

#include "common/arena.h"

#include <stdlib.h>

struct race_release {                  /* by one lane */
    const struct race_release *before; /* at the same address */
    race_mark place;                   /* of the fence */
    uint32_t knows[WARPS_MOST];
};
struct race_place { /* an address */
    uint64_t address;
    struct race_release *last;
};
struct race_fence { /* of a warp, the last one */
    uint32_t lanes;
    race_mark now[LANE_COUNT];
    uint32_t knows[WARPS_MOST];
};
struct
    race_acquired { /* of a warp: numbers of releases, that all lanes know; that one knows; that one has found without a fence yet */
    uint32_t all, one, lane;
    const struct race_release *found;
    uint32_t finder;
};
struct race_grid {
    struct arena *arena;
    struct race_place *places;
    uint32_t place_count, place_capacity;
    struct race_fence fences[WARPS_MOST];
    struct race_acquired acquired[WARPS_MOST];
    uint32_t joined[BARRIER_COUNT];
    const struct race_release **log; /* what this block has acquired, in order */
    uint32_t log_count, log_capacity;
};

struct race_grid *race_grid_open(void)
{
    struct race_grid *grid = calloc(1, sizeof *grid);
    if (grid != NULL) grid->arena = arena_create();
    if (grid != NULL && grid->arena != NULL) return grid;
    free(grid);
    return NULL;
}

void race_grid_close(struct race_grid *grid)
{
    if (grid == NULL) return;
    arena_free(grid->arena);
    free(grid->places);
    free(grid->log);
    free(grid);
}

void race_grid_block(struct race_grid *grid)
{
    memset(grid->fences, 0, sizeof grid->fences);
    memset(grid->acquired, 0, sizeof grid->acquired);
    memset(grid->joined, 0, sizeof grid->joined);
    grid->log_count = 0;
}

static struct race_place *place_of(struct race_grid *grid, uint64_t address)
{
    for (uint32_t i = 0; i < grid->place_count; i++)
        if (grid->places[i].address == address) return &grid->places[i];
    if (grid->place_count == grid->place_capacity) {
        uint32_t capacity = grid->place_capacity ? 2 * grid->place_capacity : 16;
        struct race_place *grown = realloc(grid->places, capacity * sizeof *grown);
        if (grown == NULL) return NULL;
        grid->places = grown;
        grid->place_capacity = capacity;
    }
    grid->places[grid->place_count] = (struct race_place){.address = address};
    return &grid->places[grid->place_count++];
}

static bool keep(struct race_grid *grid, const struct race_release *release)
{
    if (grid->log_count == grid->log_capacity) {
        uint32_t capacity = grid->log_capacity ? 2 * grid->log_capacity : 64;
        const struct race_release **grown = realloc(grid->log, capacity * sizeof(*grown));
        if (grown == NULL) return false;
        grid->log = grown;
        grid->log_capacity = capacity;
    }
    grid->log[grid->log_count++] = release;
    return true;
}

/* The lane has found the releases, and fences. */
static void acquire(struct race_grid *grid, uint32_t warp, uint32_t lane)
{
    struct race_acquired *acquired = &grid->acquired[warp];
    for (const struct race_release *release = acquired->found; release != NULL; release = release->before)
        if (!keep(grid, release)) return;
    acquired->found = NULL;
    acquired->one = grid->log_count;
    acquired->lane = lane;
}

static void remember(struct worker *worker, const struct warp *warp, uint32_t lanes)
{
    struct race_order *order = races_order(worker->races);
    struct race_fence *fence = &order->grid->fences[warp->index];
    fence->lanes = lanes;
    memcpy(fence->knows, order->warps[warp->index].knows, sizeof fence->knows);
    for (uint32_t lane = 0; lane < LANE_COUNT; lane++)
        fence->now[lane] = race_now(order, worker->block_number, warp->index, lane);
    order->warps[warp->index].epoch++;
}

void races_fence(struct worker *worker, const struct warp *warp, uint32_t lanes)
{
    struct race_grid *grid = races_order(worker->races)->grid;
    const struct race_acquired *acquired = &grid->acquired[warp->index];
    remember(worker, warp, lanes);
    if (acquired->found != NULL && lanes >> acquired->finder & 1)
        acquire(grid, warp->index, acquired->finder);
}

void races_atomic(struct worker *worker, const struct warp *of, uint32_t lane,
                  const struct step_memory *memory, uint64_t address)
{
    struct race_grid *grid = races_order(worker->races)->grid;
    uint32_t warp = of->index;
    if (memory->releases) remember(worker, of, UINT32_C(1) << lane);
    const struct race_fence *fence = &grid->fences[warp];
    bool is_release = fence->lanes >> lane & 1;
    struct race_place *place = NULL;
    for (uint32_t i = 0; place == NULL && i < grid->place_count; i++)
        if (grid->places[i].address == address) place = &grid->places[i];
    if (place == NULL && is_release) place = place_of(grid, address);
    if (place == NULL) return;
    grid->acquired[warp].found = place->last;
    grid->acquired[warp].finder = lane;
    if (memory->acquires) acquire(grid, warp, lane);
    struct race_release *release = is_release ? arena_alloc(grid->arena, sizeof *release) : NULL;
    if (release == NULL) return;
    *release = (struct race_release){.before = place->last, .place = fence->now[lane]};
    memcpy(release->knows, fence->knows, sizeof release->knows);
    place->last = release;
}

void race_grid_tell(struct race_grid *grid, uint32_t warp, uint32_t barrier)
{
    struct race_acquired *acquired = &grid->acquired[warp];
    uint32_t most = acquired->one > acquired->all ? acquired->one : acquired->all;
    if (most > grid->joined[barrier]) grid->joined[barrier] = most;
}

void race_grid_hear(struct race_grid *grid, uint32_t warp, uint32_t barrier)
{
    if (grid->joined[barrier] > grid->acquired[warp].all) grid->acquired[warp].all = grid->joined[barrier];
}

void race_grid_meet(struct race_grid *grid, uint32_t warp)
{
    struct race_acquired *acquired = &grid->acquired[warp];
    if (acquired->one > acquired->all) acquired->all = acquired->one;
}

/* What the release knows: what its own thread did before the fence, and what that came after. */
static bool is_released(const struct race_release *release, race_mark mark)
{
    if (race_block(release->place) != race_block(mark)) return false;
    bool is_own =
        race_place(release->place) == race_place(mark) && race_epoch(mark) <= race_epoch(release->place);
    return is_own || race_epoch(mark) < release->knows[race_thread(mark) / LANE_COUNT];
}

bool race_grid_is_ordered(const struct race_grid *grid, race_mark now, race_mark mark)
{
    uint32_t thread = race_thread(now);
    const struct race_acquired *acquired = &grid->acquired[thread / LANE_COUNT];
    uint32_t known = acquired->all;
    if (acquired->one > known && acquired->lane == thread % LANE_COUNT) known = acquired->one;
    for (uint32_t i = 0; i < known; i++)
        if (is_released(grid->log[i], mark)) return true;
    return false;
}
