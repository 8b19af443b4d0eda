/* SPDX-License-Identifier: Apache-2.0
 * Groups that take launches from each other. Replay does not choose: where held launches begin a pattern of the plan, it takes the
 * longest that they complete, though another one that begins a little later would gain more. So a group that the best choice uses once,
 * at the end of a loop say, may take the loop's launches from the group that it is made for. */
#ifndef KFUSE_FUSER_PLANNER_RIVALS_H
#define KFUSE_FUSER_PLANNER_RIVALS_H

#include "fuser/planner/search.h"

/* Of the groups in use, the one without which replay gains most over the recorded program; NULL where it gains no more without any. */
struct search_group *rivals_worst(struct search *search);

#endif
