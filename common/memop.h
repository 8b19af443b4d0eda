/* SPDX-License-Identifier: Apache-2.0
 * Memory operations as launches: a set, or a copy within the device, is planned and replayed as a launch of a kernel
 * that does the same, one element a thread. The kernel is of no module of the program's: the planner gives its PTX
 * (fuser/planner/memop.h), so that it can be a member of a group. Where it is none, replay makes the operation that the
 * program asked for (interpose/memop.h). Both lay out its arguments as here. */
#ifndef KFUSE_COMMON_MEMOP_H
#define KFUSE_COMMON_MEMOP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum memop_kind { MEMOP_NONE, MEMOP_SET, MEMOP_COPY, MEMOP_KINDS };
enum { MEMOP_WIDEST = 16 }; /* bytes of an element: a power of two up to this */

/* The parameter buffer. Thread (x, y, z) of the launch has element x + extent[0] * (y + extent[1] * z), where it is
 * inside of the extents; together they are the operation's bytes. */
struct memop_arguments {
    uint64_t to;
    uint64_t from; /* MEMOP_COPY: the source; MEMOP_SET: 8 bytes of the pattern */
    uint32_t extent[3];
};
enum { MEMOP_ARGUMENT_BYTES = 28, MEMOP_ARGUMENT_COUNT = 5 };
_Static_assert(sizeof(struct memop_arguments) >= MEMOP_ARGUMENT_BYTES, "parameter buffer");

/* A set of values of 1, 2 or 4 bytes, as 8 bytes. */
static inline uint64_t memop_pattern(uint32_t value, uint32_t width)
{
    uint64_t pattern = width == 1 ? value & 0xff : width == 2 ? value & 0xffff : value;
    for (uint32_t bits = 8 * width; bits < 64; bits *= 2) pattern |= pattern << bits;
    return pattern;
}

/* A set in elements of so many bytes has this pattern. */
static inline bool memop_repeats(uint64_t pattern, uint32_t width)
{
    uint32_t bits = 8 * width;
    return bits >= 64 || pattern == (pattern >> bits | pattern << (64 - bits));
}

static inline bool memop_overlaps(uint64_t to, uint64_t from, uint64_t bytes)
{
    return to < from ? from - to < bytes : to - from < bytes;
}

/* The largest element that both addresses and the bytes are multiples of, up to most. */
static inline uint32_t memop_width(uint64_t to, uint64_t from, uint64_t bytes, uint32_t most)
{
    while ((to | from | bytes) % most) most /= 2;
    return most;
}

#endif
