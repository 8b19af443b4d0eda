/* SPDX-License-Identifier: Apache-2.0
 * The race report: for every granule of memory the last plain write and what was read, or accessed by atomic
 * and volatile operations, since; each access by (block, thread, epoch). A warp's epoch grows at each of its
 * barriers, and each warp knows up to which epoch it comes after the others (vector clocks of warps,
 * race_order.c). Blocks are ordered by fences and atomic operations alone (race_grid.c). Plain accesses race with each other and with atomic and
 * volatile ones where one of the two writes; atomic and volatile ones don't race among themselves. */
#include "emulator/races.h"

#include "common/arena.h"

#include <stdlib.h>

enum { PAGE_BYTES = 1024, PAGE_COARSE = 4 /* bytes of a granule, 1 after the first narrower access */ };

/* Accesses of one kind: the last one, one by another thread of its block, one by another block. With barriers
 * that all warps of a block meet at, what these three don't race with, no earlier one races with. */
struct race_history {
    race_mark last, too, elsewhere;
};
struct race_extra {
    struct race_history strong_reads, strong_writes;
    race_mark (*by_warp)[2]; /* plain reads of one block, where some barriers are not for all of its warps */
};
struct race_granule {
    race_mark written;
    struct race_history reads;
    struct race_extra *extra; /* NULL until needed; in the arena */
};
struct race_page {
    uint64_t index; /* address / PAGE_BYTES */
    uint32_t granule;
    struct race_granule *granules; /* PAGE_BYTES / granule */
};
struct races {
    struct race_order order;
    struct race_page *pages; /* hashed by index; a power of two, free ones have no granules */
    struct race_page *recent;
    uint64_t page_count, page_capacity;
    struct race_granule *shared; /* one a byte */
    struct arena *arena;
    bool keeps_warps; /* by_warp is used */
};

/* Whether some barriers are not for all warps of a block. */
static bool races_has_partial_barriers(const struct code *code)
{
    for (uint32_t i = 0; i < code->count; i++) {
        const struct step *step = &code->steps[i];
        if (step->kind == STEP_BARRIER &&
            (step->barrier->count != UINT32_MAX || step->barrier->kind == BARRIER_ARRIVE))
            return true;
    }
    return false;
}

struct races *races_open(const struct machine *machine)
{
    struct races *races = calloc(1, sizeof *races);
    if (races == NULL) return NULL;
    races->arena = arena_create();
    races->page_capacity = 64;
    races->pages = calloc(races->page_capacity, sizeof *races->pages);
    races->shared = calloc(machine->shared_bytes ? machine->shared_bytes : 1, sizeof *races->shared);
    races->keeps_warps = races_has_partial_barriers(machine->code);
    races->order.grid = race_grid_open();
    if (races->order.grid != NULL && races->arena != NULL && races->pages != NULL && races->shared != NULL)
        return races;
    races_close(races);
    return NULL;
}

void races_close(struct races *races)
{
    if (races == NULL) return;
    for (uint64_t i = 0; races->pages != NULL && i < races->page_capacity; i++)
        free(races->pages[i].granules);
    free(races->pages);
    free(races->shared);
    arena_free(races->arena);
    race_order_close(&races->order);
    race_grid_close(races->order.grid);
    free(races);
}

struct race_order *races_order(struct races *races)
{
    return &races->order;
}

/* --- pages --- */

static struct race_granule *races_new_granules(uint32_t granule)
{
    return calloc(PAGE_BYTES / granule, sizeof(struct race_granule));
}

/* The page's place, or the free one where it belongs. */
static struct race_page *races_place(struct race_page *pages, uint64_t capacity, uint64_t index)
{
    uint64_t place = (index * 0x9e3779b97f4a7c15 >> 32) & (capacity - 1);
    while (pages[place].granules != NULL && pages[place].index != index) place = (place + 1) & (capacity - 1);
    return &pages[place];
}

static bool races_grow(struct races *races)
{
    uint64_t capacity = races->page_capacity * 2;
    struct race_page *pages = calloc(capacity, sizeof *pages);
    if (pages == NULL) return false;
    for (uint64_t i = 0; i < races->page_capacity; i++) {
        const struct race_page *old = &races->pages[i];
        if (old->granules != NULL) *races_place(pages, capacity, old->index) = *old;
    }
    free(races->pages);
    races->pages = pages;
    races->page_capacity = capacity;
    return true;
}

static struct race_extra *races_copy_extra(struct races *races, const struct race_extra *old)
{
    struct race_extra *copy = arena_alloc(races->arena, sizeof *copy);
    if (copy == NULL) return NULL;
    *copy = *old;
    if (old->by_warp == NULL) return copy;
    size_t bytes = WARPS_MOST * sizeof *old->by_warp;
    copy->by_warp = arena_alloc(races->arena, bytes);
    return copy->by_warp != NULL ? memcpy(copy->by_warp, old->by_warp, bytes), copy : NULL;
}

/* Granules of one byte in place of larger ones. */
static void races_refine(struct races *races, struct race_page *page)
{
    struct race_granule *fine = races_new_granules(1);
    if (fine == NULL) return;
    for (uint32_t i = 0; i < PAGE_BYTES; i++) {
        fine[i] = page->granules[i / page->granule];
        if (i % page->granule != 0 && fine[i].extra != NULL)
            fine[i].extra = races_copy_extra(races, fine[i].extra);
    }
    free(page->granules);
    page->granules = fine;
    page->granule = 1;
}

static struct race_page *races_page(struct races *races, uint64_t address, uint32_t bytes)
{
    uint64_t index = address / PAGE_BYTES;
    uint32_t granule = bytes % PAGE_COARSE == 0 ? PAGE_COARSE : 1;
    struct race_page *page = races->recent;
    if (page != NULL && page->index == index && page->granule <= granule) return page;
    page = races->recent = races_place(races->pages, races->page_capacity, index);
    if (page->granules != NULL) {
        if (page->granule > granule) races_refine(races, page);
        return page;
    }
    races->recent = NULL;
    if (races->page_count * 2 >= races->page_capacity) {
        if (!races_grow(races)) return NULL;
        page = races_place(races->pages, races->page_capacity, index);
    }
    *page = (struct race_page){index, granule, races_new_granules(granule)};
    if (page->granules == NULL) return NULL;
    races->page_count++;
    return page;
}

/* --- accesses --- */

struct race_access {
    struct worker *worker;
    const struct warp *warp;
    const struct step *step;
    enum ptx_space space;
    enum access_kind kind;
    bool is_strong;
    uint32_t lane;
    race_mark now;
};

/* A race with the marked access, unless that is ordered before this one. */
static bool races_check(const struct race_access *access, race_mark other, uint64_t address, const char *what)
{
    const struct worker *worker = access->worker;
    if (race_is_ordered(&worker->races->order, access->now, other)) return true;
    const struct emu_launch *launch = worker->machine->launch;
    uint32_t thread[3];
    uint64_t block = race_block(other);
    if (worker->machine->fault->kind != EMU_FAULT_NONE) return false; /* the first one is told */
    block_thread(worker->machine, race_thread(other), thread);
    machine_fault(access->worker, access->warp, access->lane, access->step, EMU_FAULT_RACE, address,
                  "race in %s memory with an earlier %s of block (%u,%u,%u) thread (%u,%u,%u)",
                  access->space == PTX_SHARED ? "shared" : "global", what,
                  (uint32_t)(block % launch->grid[0]), (uint32_t)(block / launch->grid[0] % launch->grid[1]),
                  (uint32_t)(block / launch->grid[0] / launch->grid[1]), thread[0], thread[1], thread[2]);
    return false;
}

static void races_check_history(const struct race_access *access, const struct race_history *history,
                                uint64_t address, const char *what)
{
    (void)(races_check(access, history->last, address, what) &&
           races_check(access, history->too, address, what) &&
           races_check(access, history->elsewhere, address, what));
}

static void races_note(struct race_history *history, race_mark now)
{
    race_mark last = history->last;
    if (last != 0 && race_block(last) != race_block(now)) {
        history->elsewhere = last;
        history->too = 0;
    } else if (last != 0 && race_place(last) != race_place(now)) {
        history->too = last;
    }
    history->last = now;
}

static struct race_extra *races_extra(struct races *races, struct race_granule *granule)
{
    if (granule->extra == NULL) granule->extra = arena_alloc(races->arena, sizeof *granule->extra);
    return granule->extra;
}

/* Reads of every warp of a block; a read by another block begins anew (one of the old stays in the history).
 */
static void races_note_warp(struct races *races, struct race_granule *granule, race_mark now)
{
    struct race_extra *extra = races_extra(races, granule);
    uint32_t warp = race_thread(now) / LANE_COUNT;
    size_t bytes = WARPS_MOST * sizeof *extra->by_warp;
    if (extra != NULL && extra->by_warp == NULL) extra->by_warp = arena_alloc(races->arena, bytes);
    if (extra == NULL || extra->by_warp == NULL) return;
    race_mark *marks = extra->by_warp[warp];
    if (race_block(granule->reads.last) != race_block(now)) memset(extra->by_warp, 0, bytes);
    if (marks[0] != 0 && race_place(marks[0]) != race_place(now)) marks[1] = marks[0];
    marks[0] = now;
}

static void races_check_reads(const struct race_access *access, const struct race_granule *granule,
                              uint64_t address)
{
    races_check_history(access, &granule->reads, address, "read");
    if (granule->extra == NULL || granule->extra->by_warp == NULL) return;
    for (uint32_t w = 0; w < WARPS_MOST; w++) {
        if (!races_check(access, granule->extra->by_warp[w][0], address, "read") ||
            !races_check(access, granule->extra->by_warp[w][1], address, "read"))
            return;
    }
}

/* What was before a plain write is ordered before it now, or reported. */
static void races_clear(struct race_granule *granule, race_mark written)
{
    struct race_extra *extra = granule->extra;
    if (extra != NULL) {
        race_mark(*by_warp)[2] = extra->by_warp;
        if (by_warp != NULL) memset(by_warp, 0, WARPS_MOST * sizeof *by_warp);
        *extra = (struct race_extra){.by_warp = by_warp};
    }
    *granule = (struct race_granule){.written = written, .extra = extra};
}

static void races_strong(const struct race_access *access, struct race_granule *granule, uint64_t address)
{
    struct race_extra *extra = races_extra(access->worker->races, granule);
    races_check(access, granule->written, address, "write");
    if (access->kind != ACCESS_READ) races_check_reads(access, granule, address);
    if (extra == NULL) return;
    races_note(access->kind == ACCESS_READ ? &extra->strong_reads : &extra->strong_writes, access->now);
}

static void races_granule(const struct race_access *access, struct race_granule *granule, uint64_t address)
{
    if (access->is_strong) {
        races_strong(access, granule, address);
        return;
    }
    races_check(access, granule->written, address, "write");
    if (granule->extra != NULL)
        races_check_history(access, &granule->extra->strong_writes, address, "atomic or volatile write");
    if (access->kind == ACCESS_READ) {
        if (access->worker->races->keeps_warps) races_note_warp(access->worker->races, granule, access->now);
        races_note(&granule->reads, access->now);
        return;
    }
    races_check_reads(access, granule, address);
    if (granule->extra != NULL)
        races_check_history(access, &granule->extra->strong_reads, address, "volatile read");
    races_clear(granule, access->now);
}

/* Shared memory begins anew with each block. */
static bool races_is_of_block(const struct race_granule *granule, uint64_t block)
{
    race_mark mark = granule->written ? granule->written : granule->reads.last;
    if (mark == 0 && granule->extra != NULL)
        mark = granule->extra->strong_writes.last ? granule->extra->strong_writes.last
                                                  : granule->extra->strong_reads.last;
    return mark == 0 || race_block(mark) == block;
}

void races_access(struct worker *worker, const struct warp *warp, uint32_t lane, const struct step *step,
                  enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind)
{
    struct races *races = worker->races;
    struct race_access access = {worker, warp,
                                 step,   space,
                                 kind,   step->memory->is_strong,
                                 lane,   race_now(&races->order, worker->block_number, warp->index, lane)};
    if (space == PTX_SHARED) {
        for (uint32_t i = 0; i < bytes; i++) {
            struct race_granule *granule = &races->shared[address + i];
            if (!races_is_of_block(granule, race_block(access.now))) races_clear(granule, 0);
            races_granule(&access, granule, address + i);
        }
        return;
    }
    if (step->kind == STEP_ATOMIC && step->memory->is_device)
        races_atomic(worker, warp, lane, step->memory, address);
    struct race_page *page = races_page(races, address, bytes);
    if (page == NULL) return;
    uint32_t offset = (uint32_t)(address % PAGE_BYTES);
    for (uint32_t i = 0; i < bytes; i += page->granule)
        races_granule(&access, &page->granules[(offset + i) / page->granule], address + i);
}
