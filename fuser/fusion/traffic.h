/* SPDX-License-Identifier: Apache-2.0
 * Bytes that launches move between memory and the multiprocessors, and what a group saves of them. An
 * estimate: what several loads of one launch read of one array counts once, as caches serve the rest. */
#ifndef KFUSE_FUSER_FUSION_TRAFFIC_H
#define KFUSE_FUSER_FUSION_TRAFFIC_H

#include "fuser/fusion/group.h"

uint64_t traffic_of_launch(const struct access_summary *summary);
/* What forwards, drops and fetches save, less what the borders of tiles load again: that may be more. */
int64_t traffic_saved(const struct group *group);
/* Of what a member moves as a launch of its own, the share that it does not move in the group, or that caches serve. */
double traffic_spared(const struct group *group, uint32_t member);
/* Of what the group moves, what its list of cached accesses does. */
uint64_t traffic_cached(const struct group *group);
/* Of one member. */
double traffic_saved_of(const struct group *group, uint32_t member);
double traffic_cached_of(const struct group *group, uint32_t member);
/* Different bytes that one block touches, on average. */
uint64_t traffic_of_block(const struct group *group);
/* Threads that the group runs for each thread of the member, less 1. */
double traffic_repeated(const struct group *group, uint32_t member);

#endif
