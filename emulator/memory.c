/* SPDX-License-Identifier: Apache-2.0
 * Device memory: a sorted list of the live allocations inside one reserved range, and of host ranges that
 * kernels may touch. Neighbouring allocations are kept 256 bytes apart, so that running over an end is seen,
 * or packed as a GPU does it, so that the end of one is the start of the next.
 */
#include "emulator/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEMORY_ALIGNMENT = 256, MEMORY_FILL = 0xdd, MEMORY_FILL_BYTES = 1 << 20 };

struct memory_entry {
    struct emu_allocation allocation;
    bool is_owned; /* from the host's heap by us */
};

static struct {
    pthread_mutex_t lock;
    uint64_t start, end, used, window, gap;
    uint64_t limit;               /* behind the addresses that programs map memory at, which follow end */
    struct memory_entry *entries; /* by address */
    size_t count, capacity;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .gap = MEMORY_ALIGNMENT};

static void *memory_reserve(uint64_t bytes, int protection)
{
    void *address = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == MAP_FAILED ? NULL : address;
}

bool emu_memory_open(uint64_t capacity)
{
    pthread_mutex_lock(&memory.lock);
    if (memory.start == 0) {
        void *range = memory_reserve(3 * capacity, PROT_READ | PROT_WRITE);
        void *window = memory_reserve(EMU_WINDOW_BYTES, PROT_NONE);
        if (range != NULL && window != NULL) {
            memory.start = (uint64_t)(uintptr_t)range;
            memory.end = memory.start + capacity;
            memory.limit = memory.end + 2 * capacity;
            memory.window = (uint64_t)(uintptr_t)window;
            madvise(range, 3 * capacity, MADV_DONTDUMP);
        } else {
            if (range != NULL) munmap(range, 3 * capacity);
            if (window != NULL) munmap(window, EMU_WINDOW_BYTES);
        }
    }
    bool is_open = memory.start != 0;
    pthread_mutex_unlock(&memory.lock);
    return is_open;
}

void emu_memory_pack(void)
{
    memory.gap = 0;
}

void emu_memory_reserved(uint64_t *start, uint64_t *end)
{
    pthread_mutex_lock(&memory.lock);
    *start = memory.start;
    *end = memory.limit;
    pthread_mutex_unlock(&memory.lock);
}

void emu_memory_virtual(uint64_t *start, uint64_t *end)
{
    pthread_mutex_lock(&memory.lock);
    *start = memory.end;
    *end = memory.limit;
    pthread_mutex_unlock(&memory.lock);
}

uint64_t emu_memory_window(void)
{
    return memory.window;
}

/* Index of the first entry that starts above address. */
static size_t memory_above(uint64_t address)
{
    size_t low = 0, high = memory.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory.entries[middle].allocation.start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool memory_insert(struct memory_entry entry)
{
    if (memory.count == memory.capacity) {
        size_t capacity = memory.capacity ? memory.capacity * 2 : 64;
        struct memory_entry *grown = realloc(memory.entries, capacity * sizeof *grown);
        if (grown == NULL) return false;
        memory.entries = grown;
        memory.capacity = capacity;
    }
    size_t place = memory_above(entry.allocation.start);
    memmove(&memory.entries[place + 1], &memory.entries[place], (memory.count - place) * sizeof entry);
    memory.entries[place] = entry;
    memory.count++;
    return true;
}

static uint64_t memory_span(uint64_t size) /* what an allocation takes of the reserved range */
{
    return (size + memory.gap + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

/* The first gap that is large enough, or 0. */
static uint64_t memory_gap(uint64_t span)
{
    uint64_t from = memory.start;
    for (size_t i = memory_above(memory.start - 1); i < memory.count; i++) {
        const struct emu_allocation *allocation = &memory.entries[i].allocation;
        if (allocation->start >= memory.end) break;
        if (allocation->start - from >= span) return from;
        from = allocation->start + memory_span(allocation->size);
    }
    return memory.end - from >= span && from < memory.end ? from : 0;
}

static uint64_t memory_allocate_host(uint64_t size)
{
    void *address = NULL;
    if (posix_memalign(&address, 4096, size) != 0) return 0;
    struct memory_entry entry = {{(uint64_t)(uintptr_t)address, size, EMU_MEMORY_HOST, false}, true};
    if (!memory_insert(entry)) {
        free(address);
        return 0;
    }
    return entry.allocation.start;
}

static uint64_t memory_allocate_device(uint64_t size, enum emu_memory_kind kind)
{
    if (memory.start == 0 || size > memory.end - memory.start) return 0;
    struct memory_entry entry = {{memory_gap(memory_span(size)), size, kind, false}, false};
    if (entry.allocation.start == 0 || !memory_insert(entry)) return 0;
    memory.used += memory_span(size);
    return entry.allocation.start;
}

uint64_t emu_memory_allocate(uint64_t size, enum emu_memory_kind kind)
{
    if (size == 0) size = 1;
    pthread_mutex_lock(&memory.lock);
    uint64_t address =
        kind == EMU_MEMORY_HOST ? memory_allocate_host(size) : memory_allocate_device(size, kind);
    pthread_mutex_unlock(&memory.lock);
    return address;
}

bool emu_memory_register(uint64_t start, uint64_t size)
{
    if (size == 0 || start + size < start) return false;
    pthread_mutex_lock(&memory.lock);
    size_t above = memory_above(start);
    bool is_free =
        (above == memory.count || memory.entries[above].allocation.start >= start + size) &&
        (above == 0 ||
         memory.entries[above - 1].allocation.start + memory.entries[above - 1].allocation.size <= start);
    struct memory_entry entry = {{start, size, EMU_MEMORY_HOST, false}, false};
    bool is_done = is_free && memory_insert(entry);
    pthread_mutex_unlock(&memory.lock);
    return is_done;
}

bool emu_memory_add(const struct emu_allocation *allocation)
{
    pthread_mutex_lock(&memory.lock);
    bool is_done = memory_insert((struct memory_entry){*allocation, false});
    pthread_mutex_unlock(&memory.lock);
    return is_done;
}

bool emu_memory_take(uint64_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    bool is_there = bytes <= memory.end - memory.start - memory.used;
    if (is_there) memory.used += bytes;
    pthread_mutex_unlock(&memory.lock);
    return is_there;
}

void emu_memory_give(uint64_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    memory.used -= bytes;
    pthread_mutex_unlock(&memory.lock);
}

static void memory_clear(uint64_t start, uint64_t size)
{
    uint64_t filled = size < MEMORY_FILL_BYTES ? size : MEMORY_FILL_BYTES;
    memset((void *)(uintptr_t)start, MEMORY_FILL, filled);
    uint64_t first = (start + filled + 4095) & ~4095ull, last = (start + size) & ~4095ull;
    if (last > first) madvise((void *)(uintptr_t)first, last - first, MADV_DONTNEED);
}

bool emu_memory_release(uint64_t address)
{
    pthread_mutex_lock(&memory.lock);
    size_t above = memory_above(address);
    bool is_start = above > 0 && memory.entries[above - 1].allocation.start == address;
    if (is_start) {
        struct memory_entry entry = memory.entries[above - 1];
        memmove(&memory.entries[above - 1], &memory.entries[above], (memory.count - above) * sizeof entry);
        memory.count--;
        if (entry.is_owned) {
            free((void *)(uintptr_t)address);
        } else if (entry.allocation.kind != EMU_MEMORY_HOST && entry.allocation.kind != EMU_MEMORY_MAPPED) {
            memory.used -= memory_span(entry.allocation.size);
            memory_clear(address, entry.allocation.size);
        }
    }
    pthread_mutex_unlock(&memory.lock);
    return is_start;
}

bool emu_memory_find(uint64_t address, struct emu_allocation *allocation)
{
    pthread_mutex_lock(&memory.lock);
    size_t above = memory_above(address);
    bool is_inside = above > 0 && address - memory.entries[above - 1].allocation.start <
                                      memory.entries[above - 1].allocation.size;
    if (is_inside) *allocation = memory.entries[above - 1].allocation;
    pthread_mutex_unlock(&memory.lock);
    return is_inside;
}

void emu_memory_usage(uint64_t *free_bytes, uint64_t *total_bytes)
{
    pthread_mutex_lock(&memory.lock);
    *total_bytes = memory.end - memory.start;
    *free_bytes = *total_bytes - memory.used;
    pthread_mutex_unlock(&memory.lock);
}
