/* SPDX-License-Identifier: Apache-2.0
 * The memory of one use that is verified: the ranges that the group's members write, and ranges beside them
 * that it must leave alone; their contents before, and after the members have run. On the host, given back
 * after each use. */
#ifndef KFUSE_INTERPOSE_VERIFY_MEMORY_H
#define KFUSE_INTERPOSE_VERIFY_MEMORY_H

#include "interpose/entry.h"

#include <stdint.h>

struct verify_range { /* disjoint, in order of start */
    uint64_t start, end;
    bool is_written, is_compared;
    unsigned char *before, *result; /* the same copy where it is not written */
};
struct verify_memory {
    struct verify_range *ranges;
    uint32_t count, capacity;
    unsigned char *bytes; /* all copies, and VERIFY_CHUNK to compare with */
    uint64_t size;
};
enum { VERIFY_CHUNK = 1 << 20 };

/* The first byte that is not as it must be and does not belong to two NaNs in double precision; where all do,
 * the first of these. */
struct verify_difference {
    bool is_found;
    bool is_nan; /* all that differs is which NaN it is */
    uint64_t address;
    unsigned char is, must_be;
};

/* Room for that many ranges; false when memory is out. */
bool verify_memory_reserve(struct verify_memory *memory, uint32_t ranges);
void verify_memory_clear(struct verify_memory *memory);
/* Bytes that the members may write; overlapping ranges become one, which is compared where all of them are. */
void verify_memory_add(struct verify_memory *memory, uint64_t start, uint64_t end, bool is_compared);
/* What is not yet there of this range must stay as it is; left out where that takes more than limit bytes on
 * the host. After the last add. */
void verify_memory_watch(struct verify_memory *memory, uint64_t start, uint64_t end, uint64_t limit);
/* Bytes on the host for what is there. */
uint64_t verify_memory_needed(const struct verify_memory *memory);
bool verify_memory_map(struct verify_memory *memory);
void verify_memory_unmap(struct verify_memory *memory);

/* In the current context, which is at rest. */
CUresult verify_memory_save_before(struct verify_memory *memory);
/* Of the written ranges. */
CUresult verify_memory_save_result(struct verify_memory *memory);
/* The written ranges, on the device when it returns. */
CUresult verify_memory_put_before(struct verify_memory *memory);
/* Everything. */
CUresult verify_memory_put_result(struct verify_memory *memory);
/* Watched ranges with before; with_written: and the written ones with the result. */
CUresult verify_memory_compare(struct verify_memory *memory, bool with_written,
                               struct verify_difference *difference);

#endif
