/* SPDX-License-Identifier: Apache-2.0
 * Which rows a group's lines of threads stand for. A guess, from where accesses jump (a part of an array's
 * rows), and from how far loads lie from the stores that they read: {-nx, -1, 0, 1, nx}. Whatever it is, the
 * cut launches are the same launches (line.h), and halo fusion asks of them what it asks of any.
 * Launches of planes, which stay as they are, tell how far rows lie apart, too.
 * Members may have rows of different lengths (an array, and its inside); an array's pitch, which one member
 * tells, tells the others' rows. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_ROWS_H
#define KFUSE_FUSER_FUSION_ROWS_H

#include "fuser/fusion/group.h"

/* The group's members, its lines of threads cut in rows (small ones aside: halo.h has a rule for these); fills
 * the group's cuts. NULL: there are no such rows, or isl gave up. */
struct bound_launch *rows_cut(struct group *group);

#endif
