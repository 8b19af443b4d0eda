/* SPDX-License-Identifier: Apache-2.0
 * Renaming (Wahib and Maruyama, "Scalable Kernel Fusion for Memory-Bound GPU Applications", SC'14, section
 * II-B: expandable arrays): what a group writes goes into a second buffer, so that nothing that it still reads
 * is overwritten. Internal to fuser/fusion.
 *
 * The unit is a range of an array (array_range.h). r is the first member that writes into it. What members
 * before r read of the range, and r itself, is the old contents; what r and later members write, and later
 * members read, is the new contents, which lies elsewhere. In the view that the rest of the analysis gets,
 * these are two arrays, of two bases in r. The rules:
 * 1. No member has atomics (a kernel that waits for one would see the array before it is copied back); each
 * base is a pointer among the arguments and has a hull.
 * 2. r reads nothing of what it writes after it has written into the range, in one thread; where its threads
 * wait for each other, nothing of what it writes at all, as then one might read what another has written.
 * 3. The bytes that r and later members together write for certain are known exactly and are a box, and these
 * write no others. What they do not write is as it was, in both buffers: the second one begins as a copy
 * (is_partial), and only the box is ever copied back, as others may write the rest meanwhile.
 * 4. What a group reads of such a range is known exactly, so that every use reads the same bytes of the rest:
 * those are copied once.
 * 5. What a load of a member behind r reads of the box, all of it has been written for certain before that member: then it is of
 * the new contents. Or nothing of it may have been: then it is of the old ones, as r's own loads (sweeps of which each updates cells of
 * another colour, in place). Or a part has been for certain, and the rest may not have been: then the part must come from shared
 * memory, so that memory is asked for the rest alone, which is old (a border that copies what a sweep updates every other cell of).
 * Loads of old contents follow no store of their thread to the same byte, as in rule 2. */
#ifndef KFUSE_FUSER_FUSION_RENAME_H
#define KFUSE_FUSER_FUSION_RENAME_H

#include "fuser/fusion/space.h"

enum { RENAME_MOST = PLACEMENT_HAZARDS_MOST }; /* ranges of a group */

/* Looks for a space of any kind (place.c, halo.c; iterations are expanded only without renames), with as few
 * ranges renamed as it takes: group->members is the view then, in the group's arena, and group->renames says
 * what has been renamed. False with the group's refusal set, or, when memory is out, not; *failure: of the
 * first attempt. */
bool rename_place_all(struct group *group, struct space *space, struct memo *memo,
                      struct placement_failure *failure);

#endif
