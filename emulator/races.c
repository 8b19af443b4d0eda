/* SPDX-License-Identifier: Apache-2.0
 * The race report: for every granule of memory the last plain write and the reads since, each by (block,
 * thread, epoch). A warp's epoch grows at each of its barriers; an access is ordered before another of the
 * same block when the other's warp has passed a barrier with the first one's warp since (vector clocks of
 * warps). Different blocks are never ordered. Atomic and volatile accesses count as reads here: they race
 * with plain writes only. */
#include "emulator/machine.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096, PAGE_COARSE = 4 /* bytes of a granule, 1 after the first narrower access */ };

/* block 31 bits, thread 10, epoch 22, valid 1 */
typedef uint64_t race_mark;
struct race_granule {
    race_mark written, read, read_too,
        read_elsewhere; /* read_too: by another thread; read_elsewhere: another block */
};
struct race_page {
    uint32_t granule;
    struct race_granule granules[]; /* PAGE_BYTES / granule */
};
struct races {
    uint64_t start, page_count;
    struct race_page **pages; /* of the reserved range */
    uint64_t *touched;        /* indices of pages that exist */
    uint64_t touched_count, touched_capacity;
    struct race_granule *shared; /* one a byte */
};

struct races *races_open(const struct machine *machine)
{
    struct races *races = calloc(1, sizeof *races);
    if (races == NULL) return NULL;
    races->start = machine->memory_start;
    races->page_count = (machine->memory_end - machine->memory_start + PAGE_BYTES - 1) / PAGE_BYTES;
    races->pages = calloc(races->page_count ? races->page_count : 1, sizeof *races->pages);
    races->shared = calloc(machine->shared_bytes ? machine->shared_bytes : 1, sizeof *races->shared);
    if (races->pages != NULL && races->shared != NULL) return races;
    races_close(races);
    return NULL;
}

void races_close(struct races *races)
{
    if (races == NULL) return;
    for (uint64_t i = 0; i < races->touched_count; i++) free(races->pages[races->touched[i]]);
    free(races->touched);
    free(races->pages);
    free(races->shared);
    free(races);
}

static struct race_page *races_new_page(uint32_t granule)
{
    struct race_page *page = calloc(1, sizeof *page + PAGE_BYTES / granule * sizeof *page->granules);
    if (page != NULL) page->granule = granule;
    return page;
}

static struct race_page *races_add_page(struct races *races, uint64_t index, uint32_t granule)
{
    if (races->touched_count == races->touched_capacity) {
        uint64_t capacity = races->touched_capacity ? races->touched_capacity * 2 : 256;
        uint64_t *grown = realloc(races->touched, capacity * sizeof *grown);
        if (grown == NULL) return NULL;
        races->touched = grown;
        races->touched_capacity = capacity;
    }
    races->pages[index] = races_new_page(granule);
    if (races->pages[index] != NULL) races->touched[races->touched_count++] = index;
    return races->pages[index];
}

static struct race_page *races_page(struct races *races, uint64_t address, uint32_t bytes)
{
    uint64_t index = (address - races->start) / PAGE_BYTES;
    if (address < races->start || index >= races->page_count) return NULL;
    struct race_page *page = races->pages[index];
    uint32_t granule = bytes % PAGE_COARSE == 0 ? PAGE_COARSE : 1;
    if (page == NULL) return races_add_page(races, index, granule);
    if (page->granule <= granule) return page;
    struct race_page *fine = races_new_page(1);
    if (fine == NULL) return page;
    for (uint32_t i = 0; i < PAGE_BYTES; i++) fine->granules[i] = page->granules[i / page->granule];
    free(page);
    return races->pages[index] = fine;
}

static race_mark races_mark(const struct worker *worker, const struct warp *warp, uint32_t lane)
{
    uint64_t thread = warp->index * LANE_COUNT + lane, epoch = worker->clocks[warp->index][warp->index];
    return (worker->block_number & 0x7fffffff) << 33 | thread << 23 | (epoch & 0x3fffff) << 1 | 1;
}

static uint64_t races_block_of(race_mark mark)
{
    return mark >> 33;
}
static uint32_t races_thread_of(race_mark mark)
{
    return mark >> 23 & 0x3ff;
}

/* Whether the marked access is ordered before what the lane does now. */
static bool races_is_ordered(const struct worker *worker, const struct warp *warp, race_mark mark,
                             race_mark now)
{
    if (mark == 0 || mark >> 23 == now >> 23) return true;
    if (races_block_of(mark) != races_block_of(now)) return false;
    return (mark >> 1 & 0x3fffff) < worker->clocks[warp->index][races_thread_of(mark) / LANE_COUNT];
}

static void races_report(struct worker *worker, const struct warp *warp, uint32_t lane,
                         const struct step *step, enum ptx_space space, uint64_t address, race_mark other,
                         bool was_write)
{
    uint32_t thread[3];
    const struct emu_launch *launch = worker->machine->launch;
    uint64_t block = races_block_of(other);
    block_thread(worker->machine, races_thread_of(other), thread);
    machine_fault(worker, warp, lane, step, EMU_FAULT_RACE, address,
                  "race in %s memory with an earlier %s of block (%u,%u,%u) thread (%u,%u,%u)",
                  space == PTX_SHARED ? "shared" : "global", was_write ? "write" : "read",
                  (uint32_t)(block % launch->grid[0]), (uint32_t)(block / launch->grid[0] % launch->grid[1]),
                  (uint32_t)(block / launch->grid[0] / launch->grid[1]), thread[0], thread[1], thread[2]);
}

static void races_note_read(struct race_granule *granule, race_mark now)
{
    if (granule->read != 0 && races_block_of(granule->read) != races_block_of(now)) {
        granule->read_elsewhere = granule->read;
        granule->read_too = 0;
    } else if (granule->read != 0 && granule->read >> 23 != now >> 23) {
        granule->read_too = granule->read;
    }
    granule->read = now;
}

static void races_granule(struct worker *worker, const struct warp *warp, uint32_t lane,
                          const struct step *step, enum ptx_space space, uint64_t address,
                          struct race_granule *granule, enum access_kind kind, race_mark now)
{
    if (!races_is_ordered(worker, warp, granule->written, now))
        races_report(worker, warp, lane, step, space, address, granule->written, true);
    if (kind != ACCESS_WRITE) {
        races_note_read(granule, now);
        return;
    }
    const race_mark reads[3] = {granule->read, granule->read_too, granule->read_elsewhere};
    for (uint32_t i = 0; i < 3; i++) {
        if (!races_is_ordered(worker, warp, reads[i], now)) {
            races_report(worker, warp, lane, step, space, address, reads[i], false);
            break;
        }
    }
    *granule = (struct race_granule){.written = now};
}

void races_access(struct worker *worker, const struct warp *warp, uint32_t lane, const struct step *step,
                  enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind)
{
    struct races *races = worker->races;
    race_mark now = races_mark(worker, warp, lane);
    if (step->memory->is_strong) kind = ACCESS_ATOMIC;
    if (space == PTX_SHARED) {
        for (uint32_t i = 0; i < bytes; i++) {
            struct race_granule *granule = &races->shared[address + i];
            if (races_block_of(granule->written | granule->read) != races_block_of(now))
                *granule = (struct race_granule){0};
            races_granule(worker, warp, lane, step, space, address + i, granule, kind, now);
        }
        return;
    }
    struct race_page *page = races_page(races, address, bytes);
    if (page == NULL) return;
    uint32_t offset = (uint32_t)((address - races->start) % PAGE_BYTES);
    for (uint32_t i = 0; i < bytes; i += page->granule)
        races_granule(worker, warp, lane, step, space, address + i,
                      &page->granules[(offset + i) / page->granule], kind, now);
}

void races_barrier(struct worker *worker, uint32_t warps)
{
    uint32_t joined[WARPS_MOST] = {0};
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        for (uint32_t k = 0; (warps >> w & 1) && k < worker->warp_count; k++)
            joined[k] = worker->clocks[w][k] > joined[k] ? worker->clocks[w][k] : joined[k];
    }
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        if (warps >> w & 1) joined[w]++;
    }
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        if (warps >> w & 1) memcpy(worker->clocks[w], joined, sizeof joined);
    }
}

void races_block(struct worker *worker)
{
    memset(worker->clocks, 0, sizeof worker->clocks);
}
