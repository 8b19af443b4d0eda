/* SPDX-License-Identifier: Apache-2.0
 * Copies of device memory for verification. The copies of the driver are the plain synchronous ones; a copy
 * to the device may return before it has arrived, so a synchronisation follows. */
#include "interpose/verify_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool verify_memory_reserve(struct verify_memory *memory, uint32_t ranges)
{
    memory->ranges = calloc((size_t)ranges + 1, sizeof *memory->ranges);
    memory->capacity = ranges;
    return memory->ranges;
}

void verify_memory_clear(struct verify_memory *memory)
{
    memory->count = 0;
}

static void remove_range(struct verify_memory *memory, uint32_t index)
{
    memory->count--;
    memmove(memory->ranges + index, memory->ranges + index + 1,
            (memory->count - index) * sizeof *memory->ranges);
}

static void insert_range(struct verify_memory *memory, struct verify_range range)
{
    uint32_t at = 0;
    while (at < memory->count && memory->ranges[at].start < range.start) at++;
    memmove(memory->ranges + at + 1, memory->ranges + at, (memory->count - at) * sizeof *memory->ranges);
    memory->ranges[at] = range;
    memory->count++;
}

void verify_memory_add(struct verify_memory *memory, uint64_t start, uint64_t end, bool is_compared)
{
    if (start >= end) return;
    for (uint32_t i = memory->count; i-- > 0;) {
        const struct verify_range *range = &memory->ranges[i];
        if (range->end <= start || range->start >= end) continue; /* neighbours may be two allocations */
        if (range->start < start) start = range->start;
        if (range->end > end) end = range->end;
        is_compared &= range->is_compared;
        remove_range(memory, i);
    }
    insert_range(memory, (struct verify_range){
                             .start = start, .end = end, .is_written = true, .is_compared = is_compared});
}

uint64_t verify_memory_needed(const struct verify_memory *memory)
{
    uint64_t bytes = VERIFY_CHUNK;
    for (uint32_t i = 0; i < memory->count; i++)
        bytes += (memory->ranges[i].is_written ? 2 : 1) * (memory->ranges[i].end - memory->ranges[i].start);
    return bytes;
}

void verify_memory_watch(struct verify_memory *memory, uint64_t start, uint64_t end, uint64_t limit)
{
    while (start < end) {
        uint32_t at = 0;
        while (at < memory->count && memory->ranges[at].end <= start) at++;
        const struct verify_range *next = at < memory->count ? &memory->ranges[at] : NULL;
        if (next && next->start <= start) {
            start = next->end;
            continue;
        }
        uint64_t stop = next && next->start < end ? next->start : end;
        bool fits = memory->count < memory->capacity && stop - start <= limit &&
                    verify_memory_needed(memory) <= limit - (stop - start);
        if (fits)
            insert_range(memory, (struct verify_range){.start = start, .end = stop, .is_compared = true});
        start = stop;
    }
}

bool verify_memory_map(struct verify_memory *memory)
{
    memory->size = verify_memory_needed(memory);
    void *bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) return false;
    memory->bytes = bytes;
    unsigned char *at = memory->bytes + VERIFY_CHUNK;
    for (uint32_t i = 0; i < memory->count; i++) {
        struct verify_range *range = &memory->ranges[i];
        range->before = range->result = at;
        at += range->end - range->start;
        if (!range->is_written) continue;
        range->result = at;
        at += range->end - range->start;
    }
    return true;
}

void verify_memory_unmap(struct verify_memory *memory)
{
    if (memory->bytes) munmap(memory->bytes, memory->size);
    memory->bytes = NULL;
}

static CUresult save_before(const struct verify_range *range)
{
    return REAL(cuMemcpyDtoH_v2)(range->before, range->start, range->end - range->start);
}

static CUresult save_result(const struct verify_range *range)
{
    if (!range->is_written) return CUDA_SUCCESS;
    return REAL(cuMemcpyDtoH_v2)(range->result, range->start, range->end - range->start);
}

static CUresult put_before(const struct verify_range *range)
{
    if (!range->is_written) return CUDA_SUCCESS;
    return REAL(cuMemcpyHtoD_v2)(range->start, range->before, range->end - range->start);
}

static CUresult put_result(const struct verify_range *range)
{
    return REAL(cuMemcpyHtoD_v2)(range->start, range->result, range->end - range->start);
}

/* Of each range, up to the first error. */
static CUresult copy_all(const struct verify_memory *memory,
                         CUresult (*copy)(const struct verify_range *range))
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < memory->count && result == CUDA_SUCCESS; i++) result = copy(&memory->ranges[i]);
    return result;
}

CUresult verify_memory_save_before(struct verify_memory *memory)
{
    return copy_all(memory, save_before);
}

CUresult verify_memory_save_result(struct verify_memory *memory)
{
    return copy_all(memory, save_result);
}

CUresult verify_memory_put_before(struct verify_memory *memory)
{
    CUresult result = copy_all(memory, put_before);
    return result == CUDA_SUCCESS ? REAL(cuCtxSynchronize)() : result;
}

CUresult verify_memory_put_result(struct verify_memory *memory)
{
    CUresult result = copy_all(memory, put_result);
    return result == CUDA_SUCCESS ? REAL(cuCtxSynchronize)() : result;
}

/* In double precision; not a single-precision number and the one NaN that single precision has. */
static bool is_nan(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return (word & INT64_MAX) > 0x7ff0000000000000 && word >> 32 != 0x7fffffff;
}

/* The word of 8 bytes that byte i is in is a NaN, and another one. */
static bool is_other_nan(const unsigned char *is, const unsigned char *must_be, uint64_t size,
                         uint64_t address, uint64_t i)
{
    uint64_t inside = (address + i) % 8;
    if (inside > i || i - inside + 8 > size) return false;
    return is_nan(is + i - inside) && is_nan(must_be + i - inside);
}

static void compare_chunk(const unsigned char *is, const unsigned char *must_be, uint64_t size,
                          uint64_t address, struct verify_difference *difference)
{
    if (!memcmp(is, must_be, size)) return;
    for (uint64_t i = 0; i < size; i++) {
        if (is[i] == must_be[i]) continue;
        bool nan = is_other_nan(is, must_be, size, address, i);
        if (nan && difference->is_found) continue;
        *difference = (struct verify_difference){
            .is_found = true, .is_nan = nan, .address = address + i, .is = is[i], .must_be = must_be[i]};
        if (!nan) return;
    }
}

CUresult verify_memory_compare(struct verify_memory *memory, bool with_written,
                               struct verify_difference *difference)
{
    CUresult result = CUDA_SUCCESS;
    *difference = (struct verify_difference){.is_found = false};
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct verify_range *range = &memory->ranges[i];
        uint64_t total = range->end - range->start;
        if (!range->is_compared || (range->is_written && !with_written)) continue;
        for (uint64_t at = 0; at < total; at += VERIFY_CHUNK) {
            uint64_t size = total - at < VERIFY_CHUNK ? total - at : VERIFY_CHUNK;
            result = REAL(cuMemcpyDtoH_v2)(memory->bytes, range->start + at, size);
            if (result != CUDA_SUCCESS) return result;
            compare_chunk(memory->bytes, range->result + at, size, range->start + at, difference);
            if (difference->is_found && !difference->is_nan) return CUDA_SUCCESS;
        }
    }
    return result;
}
