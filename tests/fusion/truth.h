/* SPDX-License-Identifier: Apache-2.0
 * What a schedule does, by enumeration: all instances, images and barriers of a small group. Nothing here is shared with
 * the legality test but the group itself. */
#ifndef KFUSE_TESTS_FUSION_TRUTH_H
#define KFUSE_TESTS_FUSION_TRUTH_H

#include "fuser/fusion/check.h"

/* NULL: under every order that the schedule leaves open, each load gets what it may get in the original order, each
 * byte's last store is one that was last there, and no block hangs. Else what goes wrong. */
const char *truth_fault(const struct check_group *group);
/* In the original order two accesses to a byte, one of them an ordinary write, are unordered. */
bool truth_has_race(const struct check_group *group);

#endif
