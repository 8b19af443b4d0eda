/* SPDX-License-Identifier: Apache-2.0
 * Reasons for which the planner left neighbouring launches apart, held against the program's text: what
 * stands between the two (a call, a copy, another stream), and memory that is no plain allocation. */
#ifndef KFUSE_TESTS_REFEREE_REASONS_H
#define KFUSE_TESTS_REFEREE_REASONS_H

#include "tests/referee/script.h"

enum reasons_verdict {
    REASONS_OTHER, /* not a reason of these kinds */
    REASONS_TRUE,
    REASONS_UNTRUE /* the program has not so many such launches of which it is true */
};
struct reasons_launch {
    const char *kernel;
    uint32_t grid[3], block[3];
};
/* count: of neighbours first, second of which it is said, in the recorded part of the program; has_two_runs: and in
 * all of it, once more. */
enum reasons_verdict reasons_check(const struct script *script, bool has_two_runs,
                                   const struct reasons_launch *first, const struct reasons_launch *second,
                                   const char *reason, uint64_t count);

#endif
