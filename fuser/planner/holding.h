/* SPDX-License-Identifier: Apache-2.0
 * What holding the launches of a group costs. The host's time line and the device's are followed side by side
 * through each window, with the groups in use: the host goes on by its gaps and calls, the device by what it is
 * given. A use begins where the device is behind the host by what it has not run yet. From there it ends
 * - unfused, when the host has made all launches and the last one has run, or when the device has run them
 *   all, whichever is later;
 * - fused, when one kernel has run, which begins when the host has made the last launch and the device has
 *   run all before.
 * So holding costs nothing where the device is behind for longer than the host takes for the group, and no end
 * is later than without the group, use by use. A window begins with a device that has run everything.
 *
 * An emulated device's clock stands while the host works: there holding costs nothing. */
#ifndef KFUSE_FUSER_PLANNER_HOLDING_H
#define KFUSE_FUSER_PLANNER_HOLDING_H

#include "fuser/planner/search.h"

/* Follows the choice (start_of) through the program: held_apart_ns and held_gain_ns of each group in use. */
void holding_follow(struct search *search);
/* The uses end earlier than unfused, by the margin. */
bool holding_is_profitable(const struct search *search, const struct search_group *group);

#endif
