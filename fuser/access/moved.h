/* SPDX-License-Identifier: Apache-2.0
 * Launches of one kernel that do the same, each in another place of its arrays: a row further on at every
 * iteration of a loop of the host, say. What is asked of members has the same answer for both, where all
 * distances within an array are the same. */
#ifndef KFUSE_FUSER_ACCESS_MOVED_H
#define KFUSE_FUSER_ACCESS_MOVED_H

#include "fuser/access/access.h"

/* Whether `there` touches through each base b what `here` does, distances[b] bytes further on, and is the
 * same otherwise. The values of argument words may differ. distances has room for here's bases. */
bool access_is_moved(const struct access_summary *here, const struct access_summary *there,
                     int64_t *distances);

#endif
