/* SPDX-License-Identifier: Apache-2.0
 * Cores that would be idle: a crew (fuser/planner/crew.h) does what the search is about to do, and the
 * search, which decides all by itself and in its own order, finds the answers ready. So the plan does not
 * depend on the crew: not on how many there are, nor on whether they live. */
#ifndef KFUSE_FUSER_PLANNER_AHEAD_H
#define KFUSE_FUSER_PLANNER_AHEAD_H

#include "fuser/planner/search.h"

/* A crew looks at what may start at the launches. */
void ahead_search(struct search *search);
/* Before this group is compiled: a crew compiles others that may be used, and where one is refused, what is left of it,
 * unless it is at that already. */
void ahead_compile(struct search *search, const struct search_group *next);
/* A crew calls look_at with each of so many numbers. */
void ahead_look(struct search *search, uint32_t count, void (*look_at)(void *context, uint32_t number),
                void *context);
void ahead_end(struct search *search);

#endif
