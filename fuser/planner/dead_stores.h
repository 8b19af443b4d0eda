/* SPDX-License-Identifier: Apache-2.0
 * Stores of a group that nobody is likely to want, told while groups are searched: ranges that it may leave stale
 * (fuser/fusion/stale.h), and that the recorded program overwrites before anybody reads them. A guess, for the projection: what is
 * left stale in the end is found by playing the program (deferred.h), and a group that does not gain without this is dropped then. */
#ifndef KFUSE_FUSER_PLANNER_DEAD_STORES_H
#define KFUSE_FUSER_PLANNER_DEAD_STORES_H

#include "fuser/planner/search.h"

/* What a use of the group, of the planned group's members where they stand, would save more without these stores; ns. */
double dead_stores_ns(struct search *search, const struct search_group *planned, const struct group *group);
/* Of what that depends on besides the members: what comes after them. */
struct hash128 dead_stores_name(struct search *search, const struct search_group *planned);

#endif
