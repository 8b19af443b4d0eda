/* SPDX-License-Identifier: Apache-2.0
 * Groups that take launches from each other. Replay does not choose: where held launches begin a pattern of the plan, it takes the
 * longest that they complete, though another one that begins a little later would gain more. So a group that the best choice uses once,
 * at the end of a loop say, may take the loop's launches from the group that it is made for. Where it gains more than that one, the
 * choice should be made with it: what it costs to copy arrays back, say, depends on which groups come before and after. */
#ifndef KFUSE_FUSER_PLANNER_RIVALS_H
#define KFUSE_FUSER_PLANNER_RIVALS_H

#include "fuser/planner/search.h"

/* Offers groups in use to the choice (search->rival_of) at launches where replay would take them, as they begin the longest pattern
 * there, though the search has not tried them there. False: it knows all of those. */
bool rivals_offer(struct search *search);

/* Of the groups in use, the one without which replay gains most over the recorded program; NULL where it gains no more without any. */
struct search_group *rivals_worst(struct search *search);

#endif
