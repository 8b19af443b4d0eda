/* SPDX-License-Identifier: Apache-2.0
 * Guards: the conditions under which a group is legal, as a flat list of checks over the launches that have
 * arrived. The planner writes them; replay evaluates each as soon as the launch it names has arrived. A check
 * never fails loudly: false means that the originals run. Offsets are into a launch's
 * parameter buffer. */
#ifndef KFUSE_COMMON_GUARD_H
#define KFUSE_COMMON_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* X(NAME, meaning); a and b are (step, offset) pairs; p(x) is the 8-byte pointer at x */
#define GUARD_CHECKS(X)                                                                                      \
    X(VALUE, "the size bytes at a equal value[0] (size 1, 2, 4 or 8)")                                       \
    X(BETWEEN, "the size bytes at a, as a signed number, lie in [value[0], value[1]] (size 4 or 8)")         \
    X(DIFFERENCE, "p(b) - p(a) == value[0]")                                                                 \
    X(DISJOINT, "[p(a)+value[0], p(a)+value[1]) and [p(b)+value[2], p(b)+value[3]) share no byte")           \
    X(INSIDE, "[p(a)+value[0], p(a)+value[1]) lies inside one plain device allocation of this context, "     \
              "or, where size is 1, one of managed memory or of a stream's")                                 \
    X(ALIGNED, "p(a) is a multiple of value[0]")                                                             \
    X(APART, "p(a) - value[0] begins a plain device allocation, which shares no byte with "                  \
             "[p(b)+value[2], p(b)+value[3])")

enum guard_check_kind {
#define X(name, meaning) GUARD_##name,
    GUARD_CHECKS(X)
#undef X
        GUARD_KINDS
};

/* Whether the host sees the allocation by calls alone, or it may be managed memory, or such as a stream frees. */
enum guard_memory { GUARD_PRIVATE, GUARD_OPEN };

struct guard_check {
    uint16_t kind;
    uint16_t size;           /* VALUE and BETWEEN: bytes; INSIDE and APART: enum guard_memory */
    uint16_t step_a, step_b; /* steps of the group's pattern; evaluated when max(step_a, step_b) arrives */
    uint32_t offset_a, offset_b;
    int64_t value[4];
};
_Static_assert(sizeof(struct guard_check) == 48, "guard check");

/* Whether a check of this kind reads b as well as a. */
static inline bool guard_is_pair(uint16_t kind)
{
    return kind == GUARD_DIFFERENCE || kind == GUARD_DISJOINT || kind == GUARD_APART;
}

/* What a guard may look at: supplied by replay, and by tests. */
struct guard_view {
    /* The parameter buffer of a step, and its size. */
    const unsigned char *const *arguments;
    const uint32_t *argument_sizes;
    uint32_t steps; /* that have arrived */
    /* The plain device allocation around an address: false when there is none. open_allocation: the same, or one of managed memory,
     * or of a stream's; may be NULL: there is none. */
    bool (*allocation)(const void *context, uint64_t address, uint64_t *start, uint64_t *size);
    bool (*open_allocation)(const void *context, uint64_t address, uint64_t *start, uint64_t *size);
    const void *context;
    /* Another number than before, once one of these two may answer otherwise. NULL: they always may. */
    uint64_t (*generation)(const void *context);
};

/* Bytes of the operand at a. */
static inline uint16_t guard_size(const struct guard_check *check)
{
    return check->kind == GUARD_VALUE || check->kind == GUARD_BETWEEN ? check->size : 8;
}

/* False: outside of what has arrived, or no size that an operand may have. */
static inline bool guard_read(const struct guard_view *view, uint32_t step, uint32_t offset, uint32_t size,
                              uint64_t *value)
{
    if (step >= view->steps || (uint64_t)offset + size > view->argument_sizes[step]) return false;
    if (size == 8) {
        memcpy(value, view->arguments[step] + offset, 8);
        return true;
    }
    if (size != 1 && size != 2 && size != 4) return false;
    *value = 0;
    memcpy(value, view->arguments[step] + offset, size);
    return true;
}

/* True when every check holds. A check that reads outside a parameter buffer or names a step that has not
 * arrived is false. */
bool guard_holds(const struct guard_check *checks, uint32_t count, const struct guard_view *view);

#endif
