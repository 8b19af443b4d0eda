/* SPDX-License-Identifier: Apache-2.0
 * The legality test beside the rules of the kinds of fusion, which decide. */
#ifndef KFUSE_TESTS_FUSION_SHADOW_H
#define KFUSE_TESTS_FUSION_SHADOW_H

#include "fuser/fusion/group.h"

/* Adds a line on the group to the file that KFUSE_TEST_SHADOW names: what the kinds say, what the test says (of a refused group,
 * of a schedule with a barrier before every member), and milliseconds. Nothing where it is not set. */
void shadow_group(struct memo *memo, const struct bound_launch *members, uint32_t member_count,
                  const struct group *group);

#endif
