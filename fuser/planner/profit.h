/* SPDX-License-Identifier: Apache-2.0
 * What a group is projected to gain, from the times of its members and the traffic that fusing saves, in ns a
 * use. */
#ifndef KFUSE_FUSER_PLANNER_PROFIT_H
#define KFUSE_FUSER_PLANNER_PROFIT_H

#include "fuser/planner/search.h"

/* saved_ns: profit_saved_ns, or the most that it may save before it is decided (planned->group is NULL then). */
struct projected profit_project(struct search *search, const struct search_group *planned, double saved_ns);
/* As projected last; of NULL 0. Where losing groups are kept, at least a little for each member. */
double profit_of(const struct search *search, const struct search_group *group);
bool profit_is_enough(const struct search *search, const struct projected *projected); /* by the margin */
/* A group whose recorded uses are all that there are must win back the time that loading its code takes: in a whole run, or of
 * launches that have other numbers each time. */
bool profit_covers_loading(const struct search *search, const struct search_group *planned, double gain,
                           uint64_t uses);
/* Uses that the recorded run has room for: each takes a launch of the class of every member. */
uint64_t profit_most_uses(const struct search *search, const struct search_group *planned);
/* Of the members' times, what the traffic takes that no longer goes to memory, as far as that is known to save time. */
double profit_saved_ns(struct search *search, const struct search_group *planned, const struct group *group);
/* What it costs as a member of a launch of one block, or of a last block, as a share of what it costs as the launch that it is. 0
 * where losing groups are kept. */
double profit_share_in_one_block(struct search *search, uint32_t launch);
/* Of what the device can run at a time, the share that the launch takes; 1 at most. */
double profit_share_of_device(struct search *search, uint32_t launch);
struct profit_copies {
    uint64_t restores,
        chains; /* of renamed ranges, back at the end of so many chains of uses, and forth at the beginning */
    uint64_t mirrors; /* of pieces, from buffer to buffer */
};
double profit_copying_ns(const struct search *search, const struct group *group,
                         const struct profit_copies *copies);
/* Shared memory that hands values on saves traffic, and takes room from other blocks: it is used or not. */
void profit_choose_block_tiles(struct search *search, const struct search_group *planned);

#endif
