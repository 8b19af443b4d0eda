/* SPDX-License-Identifier: Apache-2.0
 * A group in the making: launches that look legal pair by pair. A launch between members is passed over when
 * it may run before the fused kernel (it conflicts with no earlier member) or after it (with no later one).
 */
#ifndef KFUSE_FUSER_PLANNER_DRAFT_H
#define KFUSE_FUSER_PLANNER_DRAFT_H

#include "fuser/planner/search.h"

struct draft { /* a group in the making: consecutive launches from first on */
    struct search *search;
    uint32_t first, count;
    bool is_member[SEARCH_MOST_STEPS];
    enum plan_step_role roles[SEARCH_MOST_STEPS];
    bool follows[SEARCH_MOST_STEPS]; /* while it grows: known to depend on a member, or on such a launch */
    bool renames;                    /* some members conflict unless an array is renamed */
    bool not_in_one_block;           /* the group may not be one of one block */
    bool meets_in_one_block;         /* some members meet in one block alone */
    bool takes_last;                 /* members may run in the last block of those before (last_block.h) */
    bool is_inter_block;             /* members have nothing to do with each other (inter_block.h) */
    bool may_run_last;               /* some could */
    uint32_t last_step;              /* those from this step on do; 0: none */
    uint32_t period;                 /* steps in time: it has several repetitions of so many launches; or 0 */
    bool is_illegal;                 /* decided whole, it is refused for a conflict, not for what it gains */
    uint32_t refused_from;           /* then: as group's */
    const char *reason;              /* why it did not grow, or is none */
};

/* Why no group has both of these launches: the one comes once (launch_class.h), the other does not. Or NULL. */
const char *draft_why_once(const struct search *search, uint32_t first, uint32_t other);
/* Why no group can have this launch as a step, or NULL. Replay holds a launch only when every base lies in a
 * tracked plain allocation of the process. */
const char *draft_why_no_step(struct search *search, uint32_t launch);
/* The same; *base: which of its bases is at fault, UINT32_MAX: none. */
const char *draft_obstacle(struct search *search, uint32_t launch, uint32_t *base);
/* All that the launch touches is known, and it waits for nobody: it may be issued while something is stale. */
bool draft_may_stand_by(struct search *search, uint32_t launch);
/* Extends the draft launch by launch to the end of the window; needs search and first. */
void draft_grow(struct draft *draft);
/* They could be together in one block alone, and that takes much longer than they do apart. */
bool draft_loses_in_one_block(struct search *search, const struct conflict *conflict, uint32_t earlier,
                              uint32_t later);
/* Gives every passed-over launch its side of the fused kernel; false when one can stand on neither. */
bool draft_assign_roles(struct draft *draft);
uint32_t draft_members(const struct draft *draft);
/* So many launches from `other` on are in one window, and of the classes of those from `first` on. */
bool draft_are_alike(const struct search *search, uint32_t first, uint32_t other, uint32_t count);
/* So many launches from the first one on are as those that come a distance behind them, in one window. */
bool draft_come_again(const struct search *search, uint32_t first, uint32_t distance, uint32_t count);
/* How many it may have: whole iterations of the loop that it is in, 16 launches at most, or one iteration. */
uint32_t draft_most_members(const struct draft *draft);
/* Leaves out what stands behind the last member. */
void draft_trim(struct draft *draft);

#endif
