/* SPDX-License-Identifier: Apache-2.0
 * The schedule of a group as the kinds of fusion have decided it, for the legality test (check.h): what is accepted by the
 * rules of a kind is asked again by the rules for all. An instance is a whole thread of a member: no kind that is
 * told here changes what a thread does in its order, and members with barriers keep their blocks, so that the order
 * within a member needs no question but whether all threads of a block come by.
 * Of joined loops, an instance is one iteration.
 * Time is [stage, run, segment, turn, part, member]: the stage counts the block's barriers between members, a run is a
 * join or a member alone.
 *
 * Told are members that are placed by SAME, GLOBAL, LINEAR, STRIDE and AFFINE, with values in registers and stores that
 * are overwritten, and joined loops. Not yet: halos, coarsened blocks, tiles of blocks. */
#ifndef KFUSE_FUSER_FUSION_GROUP_SCHEDULE_H
#define KFUSE_FUSER_FUSION_GROUP_SCHEDULE_H

#include "fuser/fusion/check.h"
#include "fuser/fusion/group.h"
#include "fuser/solver/memo.h"

struct group_schedule {
    struct check_group check; /* accesses in the order of members, then of their summaries */
    struct arena *arena;      /* of all but isl objects */
    const char *untold;       /* NULL, or why the group has no such schedule: then check is not valid */
};

/* Of a group that is legal. Release with group_schedule_close. */
struct group_schedule group_schedule_open(struct memo *memo, const struct group *group);
/* Of any launches: a thread of each by the first of SAME, GLOBAL, LINEAR and STRIDE that fits the largest launch, a barrier
 * before every member. Nothing passes in registers. For what the kinds refuse. */
struct group_schedule group_schedule_propose(struct memo *memo, const struct bound_launch *members,
                                             uint32_t member_count);
void group_schedule_close(struct group_schedule *schedule);

#endif
