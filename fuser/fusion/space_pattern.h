/* SPDX-License-Identifier: Apache-2.0
 * The bytes that blocks of a space touch, one by one. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_SPACE_PATTERN_H
#define KFUSE_FUSER_FUSION_SPACE_PATTERN_H

#include "fuser/fusion/block_pattern.h"
#include "fuser/fusion/space.h"

/* What blocks of the space touch through an access of a placed member, from the array's start; see
 * pattern_open. */
bool space_pattern_open(struct pattern *pattern, struct arena *arena, const struct space *space,
                        const struct placed_access *placed);

#endif
