/* SPDX-License-Identifier: Apache-2.0
 * Launches that go on where a group has renamed an array: replay gives them the second buffer's address, and nothing is copied
 * back (interpose/rename.h). So uses of the group may be a chain though other launches stand between them. */
#ifndef KFUSE_FUSER_PLANNER_REDIRECT_H
#define KFUSE_FUSER_PLANNER_REDIRECT_H

#include "fuser/planner/search.h"

enum { REDIRECT_BOXES = 4 }; /* that a launch writes through one pointer */

/* The pointer of the launch's base serves for addresses alone, and no other address is made of it. */
bool redirect_may_move(struct search *search, uint32_t launch, uint32_t base);
/* All that the launch writes through the base, as boxes from the first byte of its hull on; their number, 0: that is not known, or
 * nothing. */
uint32_t redirect_boxes(struct search *search, uint32_t launch, uint32_t base,
                        struct group_box boxes[REDIRECT_BOXES]);
/* Where a range that the group renames lies, without what it is widened by, in the use that begins with this launch. */
struct array_range redirect_range(struct search *search, const struct search_group *group, uint32_t index,
                                  uint32_t first);
/* The launches [from, to) leave a chain of uses of the group going on, the last one of which begins with launch first. *copies:
 * of what they write, before the next use. What they touch beside a range that the group renames is renamed along with it
 * (group->widened). */
bool redirect_goes_on(struct search *search, struct search_group *group, uint32_t first, uint32_t from,
                      uint32_t to, uint64_t *copies);
/* The same launches follow as they stand at `first`, a little later, and what is between lets the chain go on. */
bool redirect_comes_again(struct search *search, struct search_group *group, uint32_t first);

#endif
