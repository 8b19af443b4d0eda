/* SPDX-License-Identifier: Apache-2.0
 * Matching: the patterns of a plan's groups as one trie over steps, followed by all launches that have
 * arrived since a point. Deterministic: paths are followed in the order of the plan; the longest complete
 * pattern wins, among equals the first in the plan. Not thread safe: whoever has the queue's lock. */
#ifndef KFUSE_INTERPOSE_MATCH_H
#define KFUSE_INTERPOSE_MATCH_H

#include "common/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct match;
struct match_launch { /* what a step is compared with; the first eight words at once */
    uint32_t kernel;  /* of the plan */
    uint32_t grid[3], block[3], dynamic_shared, arguments_size;
    const unsigned char *arguments;
};
enum { MATCH_NONE = UINT32_MAX };
enum { MATCH_PATHS = 16 }; /* followed at once; more are dropped, the last ones first */
struct match_state {
    uint32_t depth; /* launches taken */
    uint32_t only;  /* MATCH_NONE, or the one step that can come next, with which no pattern ends */
    uint32_t path_count, paths[MATCH_PATHS];
    int64_t group; /* whose pattern is complete, or -1 */
    uint32_t variant, group_depth;
};

/* NULL when memory is out. The plan stays the caller's and must outlive the trie. All groups are off. */
struct match *match_create(const struct plan *plan);
void match_free(struct match *match);
/* A group that is off takes part in nothing. */
void match_enable(struct match *match, uint32_t group, bool is_on);

void match_start(struct match_state *state);
/* Takes one more launch; view: everything since the start, this launch included. False, with the state as it
 * was, when no path goes on. */
bool match_take(const struct match *match, struct match_state *state, const struct match_launch *launch,
                const struct guard_view *view);
/* The same where state.only says that there is one step to compare with. */
bool match_take_only(const struct match *match, struct match_state *state, const struct match_launch *launch,
                     const struct guard_view *view);
/* The group's pattern is one of those that are followed. */
bool match_follows(const struct match *match, const struct match_state *state, uint32_t group);
/* No further launch can be taken, whatever it is. */
bool match_is_final(const struct match *match, const struct match_state *state);

#endif
