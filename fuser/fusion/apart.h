/* SPDX-License-Identifier: Apache-2.0
 * Whether two threads of members are one thread, or of one block, of their space: told by numbers that are
 * affine in the members' own coordinates. So a question about two threads of a space is one about two of the
 * members', without what composes both. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_APART_H
#define KFUSE_FUSER_FUSION_APART_H

#include "fuser/fusion/space.h"

/* Both members are placed. False where their remaps have no such numbers, or isl gives up. Release with apart_close. */
bool apart_open(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q);
/* The same, and where the space's coordinates are those of both members, by these: threads of the space tell
 * as much then, and are simpler to ask about, unless two of the members' are looked for. */
bool apart_open_members(struct overlap_apart *apart, const struct space *space, uint32_t p, uint32_t q);
void apart_close(struct overlap_apart *apart);

#endif
