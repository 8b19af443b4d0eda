/* SPDX-License-Identifier: Apache-2.0
 * The bytes that blocks of a frame touch, one by one. Internal to fuser/fusion. */
#ifndef KFUSE_FUSER_FUSION_FRAME_PATTERN_H
#define KFUSE_FUSER_FUSION_FRAME_PATTERN_H

#include "fuser/fusion/block_pattern.h"
#include "fuser/fusion/frame.h"

/* What blocks of the frame touch through an access of a placed member, from the array's start; see
 * pattern_open. */
bool frame_pattern_open(struct pattern *pattern, struct arena *arena, const struct frame *frame,
                        const struct placed_access *placed);

#endif
