/* SPDX-License-Identifier: Apache-2.0
 * Known ranges of device and host memory: an array sorted by start, without overlaps. */
#include "interpose/track.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_rwlock_t lock;
    struct track_range *ranges;
    size_t count, capacity;
    _Atomic uint64_t generation; /* counts changes */
} memory = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* The first range that ends after the address. */
static size_t lower_bound(uint64_t address)
{
    size_t low = 0, high = memory.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory.ranges[middle].start + memory.ranges[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool reserve(void)
{
    if (memory.count < memory.capacity) return true;
    size_t capacity = memory.capacity ? 2 * memory.capacity : 256;
    struct track_range *ranges = realloc(memory.ranges, capacity * sizeof *ranges);
    if (!ranges) return false;
    memory.ranges = ranges;
    memory.capacity = capacity;
    return true;
}

void track_memory_add(uint64_t start, uint64_t size, enum trace_memory_kind kind)
{
    if (!start || !size || start + size < start) return;
    pthread_rwlock_wrlock(&memory.lock);
    atomic_fetch_add(&memory.generation, 1);
    size_t at = lower_bound(start), end = at;
    while (end < memory.count && memory.ranges[end].start < start + size) end++;
    if (end > at) /* also keeps an empty table's NULL from memmove */
        memmove(memory.ranges + at, memory.ranges + end, (memory.count - end) * sizeof *memory.ranges);
    memory.count -= end - at;
    if (reserve()) {
        memmove(memory.ranges + at + 1, memory.ranges + at, (memory.count - at) * sizeof *memory.ranges);
        memory.ranges[at] = (struct track_range){start, size, kind};
        memory.count++;
    }
    pthread_rwlock_unlock(&memory.lock);
}

bool track_memory_remove(uint64_t start, struct track_range *removed)
{
    pthread_rwlock_wrlock(&memory.lock);
    atomic_fetch_add(&memory.generation, 1);
    size_t at = lower_bound(start);
    bool is_found = at < memory.count && memory.ranges[at].start == start;
    if (is_found) {
        *removed = memory.ranges[at];
        memory.count--;
        memmove(memory.ranges + at, memory.ranges + at + 1, (memory.count - at) * sizeof *memory.ranges);
    }
    pthread_rwlock_unlock(&memory.lock);
    return is_found;
}

bool track_memory_find(uint64_t address, struct track_range *range)
{
    pthread_rwlock_rdlock(&memory.lock);
    size_t at = lower_bound(address);
    bool is_found = at < memory.count && memory.ranges[at].start <= address;
    if (is_found) *range = memory.ranges[at];
    pthread_rwlock_unlock(&memory.lock);
    return is_found;
}

uint64_t track_memory_generation(const void *context)
{
    (void)context;
    return atomic_load_explicit(&memory.generation, memory_order_acquire);
}

/* Guards ask for the same few pointers again and again: a thread remembers the last answers until anything
 * changes. */
bool track_memory_plain(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    enum { REMEMBERED = 64 };
    static __thread struct {
        uint64_t address, generation;
        struct track_range range;
    } remembered[REMEMBERED];
    uint64_t generation = track_memory_generation(NULL);
    unsigned slot = (address ^ address >> 8 ^ address >> 16 ^ address >> 24) % REMEMBERED;
    (void)context;
    if (!address) return false;
    if (remembered[slot].address != address || remembered[slot].generation != generation) {
        struct track_range range;
        if (!track_memory_find(address, &range) || range.kind != TRACE_MEMORY_DEVICE) return false;
        remembered[slot].address = address;
        remembered[slot].generation = generation;
        remembered[slot].range = range;
    }
    *start = remembered[slot].range.start;
    *size = remembered[slot].range.size;
    return true;
}

static bool find_of_kinds(uint64_t address, uint32_t kinds, uint64_t *start, uint64_t *size)
{
    struct track_range range;
    if (!address || !track_memory_find(address, &range)) return false;
    *start = range.start;
    *size = range.size;
    return kinds >> range.kind & 1;
}

enum { OPEN_KINDS = 1 << TRACE_MEMORY_DEVICE | 1 << TRACE_MEMORY_MANAGED | 1 << TRACE_MEMORY_ASYNC };

bool track_memory_open(const void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
    (void)context;
    return find_of_kinds(address, OPEN_KINDS, start, size);
}

bool track_memory_written(uint64_t address, uint64_t *start, uint64_t *size)
{
    return find_of_kinds(address, 1 << TRACE_MEMORY_DEVICE | 1 << TRACE_MEMORY_VARIABLE, start, size);
}

void track_memory_each(void (*visit)(const struct track_range *range))
{
    pthread_rwlock_rdlock(&memory.lock);
    size_t count = memory.count;
    struct track_range *copy = count ? malloc(count * sizeof *copy) : NULL;
    if (copy) memcpy(copy, memory.ranges, count * sizeof *copy);
    pthread_rwlock_unlock(&memory.lock);
    for (size_t i = 0; copy && i < count; i++) visit(&copy[i]);
    free(copy);
}

void track_memory_fork_child(void);
void track_memory_fork_child(void)
{
    pthread_rwlock_init(&memory.lock, NULL);
}
