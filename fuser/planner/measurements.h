/* SPDX-License-Identifier: Apache-2.0
 * What runs have measured of groups (common/measured.h), for the next plan: a group that was measured to lose
 * on the device of the trace is not taken, whatever is projected. */
#ifndef KFUSE_FUSER_PLANNER_MEASUREMENTS_H
#define KFUSE_FUSER_PLANNER_MEASUREMENTS_H

#include "fuser/planner/search.h"

/* Those that the options name, or those beside the older plan. False with search->error set. */
bool measurements_read(struct search *search);
/* Why the group is not to be taken, in the search's arena, or NULL. original_ns: of its members. */
const char *measurements_refusal(struct search *search, const struct search_group *planned,
                                 double original_ns);

#endif
