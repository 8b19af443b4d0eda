/* SPDX-License-Identifier: Apache-2.0
 * Guards: one function a check, by table. Addresses are modular 64-bit numbers, ranges are refused when they
 * wrap. */
#include "common/guard.h"

#include <stddef.h>

static inline bool read_pair(const struct guard_check *check, const struct guard_view *view, uint64_t *b)
{
    return guard_read(view, check->step_b, check->offset_b, 8, b);
}

static bool range_at(uint64_t pointer, int64_t from, int64_t to, uint64_t *start, uint64_t *end)
{
    *start = pointer + (uint64_t)from;
    *end = pointer + (uint64_t)to;
    bool start_wraps = from < 0 ? *start > pointer : *start < pointer;
    bool end_wraps = to < 0 ? *end > pointer : *end < pointer;
    return !start_wraps && !end_wraps && *start <= *end;
}

static bool find_allocation(const struct guard_check *check, const struct guard_view *view, uint64_t address,
                            uint64_t *start, uint64_t *size)
{
    if (check->size == GUARD_OPEN)
        return view->open_allocation && view->open_allocation(view->context, address, start, size);
    return view->allocation && view->allocation(view->context, address, start, size);
}

static bool is_inside(const struct guard_check *check, const struct guard_view *view, uint64_t start,
                      uint64_t end)
{
    uint64_t from, size;
    if (!find_allocation(check, view, start, &from, &size)) return false;
    return start >= from && end >= start && end - from <= size;
}

static bool are_disjoint(const struct guard_check *check, uint64_t a, uint64_t b)
{
    uint64_t a_start, a_end, b_start, b_end;
    if (!range_at(a, check->value[0], check->value[1], &a_start, &a_end)) return false;
    if (!range_at(b, check->value[2], check->value[3], &b_start, &b_end)) return false;
    return a_end <= b_start || b_end <= a_start;
}

static bool are_apart(const struct guard_check *check, const struct guard_view *view, uint64_t a, uint64_t b)
{
    uint64_t from, size, start, end;
    if (!find_allocation(check, view, a, &from, &size)) return false;
    if (a - from != (uint64_t)check->value[0]) return false;
    if (!range_at(b, check->value[2], check->value[3], &start, &end)) return false;
    return end <= from || start >= from + size;
}

/* By far the most frequent check. */
static inline bool difference_holds(const struct guard_check *check, const struct guard_view *view)
{
    uint64_t a, b;
    return guard_read(view, check->step_a, check->offset_a, 8, &a) && read_pair(check, view, &b) &&
           b - a == (uint64_t)check->value[0];
}

static __attribute__((noinline)) bool check_holds(const struct guard_check *check,
                                                  const struct guard_view *view)
{
    uint64_t a, b, start, end;
    uint32_t size = guard_size(check);
    if (!guard_read(view, check->step_a, check->offset_a, size, &a)) return false;
    switch ((enum guard_check_kind)check->kind) {
    case GUARD_VALUE:
        return a == (uint64_t)check->value[0];
    case GUARD_BETWEEN: {
        int64_t number = size == 4 ? (int32_t)(uint32_t)a : (int64_t)a;
        return number >= check->value[0] && number <= check->value[1];
    }
    case GUARD_DIFFERENCE:
        return difference_holds(check, view);
    case GUARD_DISJOINT:
        return read_pair(check, view, &b) && are_disjoint(check, a, b);
    case GUARD_INSIDE:
        return range_at(a, check->value[0], check->value[1], &start, &end) &&
               is_inside(check, view, start, end);
    case GUARD_ALIGNED:
        return check->value[0] > 0 && a % (uint64_t)check->value[0] == 0;
    case GUARD_APART:
        return read_pair(check, view, &b) && are_apart(check, view, a, b);
    case GUARD_KINDS:
        break;
    }
    return false;
}

bool guard_holds(const struct guard_check *checks, uint32_t count, const struct guard_view *view)
{
    for (const struct guard_check *check = checks; check < checks + count; check++)
        if (!(check->kind == GUARD_DIFFERENCE ? difference_holds(check, view) : check_holds(check, view)))
            return false;
    return true;
}
