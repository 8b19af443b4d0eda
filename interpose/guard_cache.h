/* SPDX-License-Identifier: Apache-2.0
 * Guards that held before: a list of checks is not evaluated again for the same operands and allocations. A group of kernels
 * with many arrays has a check for every pair of them, a thousand at each use, but no more operands than arguments.
 *
 * A list depends on nothing but its operands and on what the view says of allocations. The operands of the last few times
 * that it held are kept (programs swap arrays), each with the view's generation. It is read before the checks: if allocations
 * change meanwhile, what was found is not found again. Lists that are cheaper to evaluate than to compare keep nothing, nor
 * does anything where memory is out. Not thread safe: whoever has the queue's lock. */
#ifndef KFUSE_INTERPOSE_GUARD_CACHE_H
#define KFUSE_INTERPOSE_GUARD_CACHE_H

#include "common/guard.h"

struct guard_operand;
struct guard_cache { /* zeroes: nothing is known of the list yet */
    uint32_t operand_count;
    struct guard_operand *operands; /* each once */
    uint64_t *values;               /* of the ways, one behind the other */
    uint64_t *generations;          /* of the ways that are filled */
    uint32_t ways, latest;
    bool is_useless;
};

/* Whether all hold, as guard_holds says; always the same list for a cache, which must be longer-lived than it. */
bool guard_cache_holds(struct guard_cache *cache, const struct guard_check *checks, uint32_t count,
                       const struct guard_view *view);
void guard_cache_free(struct guard_cache *cache);

#endif
