/* SPDX-License-Identifier: Apache-2.0
 * What the caches serve: bytes that a block of a fused kernel touches for one member and touched for an
 * earlier one just before. As separate launches, each fetches them from memory. */
#ifndef KFUSE_FUSER_FUSION_REUSE_H
#define KFUSE_FUSER_FUSION_REUSE_H

#include "fuser/fusion/space.h"

/* Fills the group's list of cached accesses; its drops are known. False when memory is out. */
bool reuse_list_cached(struct group *group, struct space *space);

#endif
