/* SPDX-License-Identifier: Apache-2.0
 * A group as C for reading: members in order, arrays by the group's names, values that pass between them by
 * the line of PTX that makes them, stores that are left out as comments, tiles in shared memory and the
 * barriers between stages. */
#ifndef KFUSE_FUSER_DECOMPILE_GROUP_H
#define KFUSE_FUSER_DECOMPILE_GROUP_H

#include "fuser/fusion/group.h"

#include <stdio.h>

/* The group is legal. False with *reason (in the arena) when a member cannot be read, or memory is out. */
bool decompile_group(FILE *out, struct arena *arena, const struct group *group, const char *name,
                     const char **reason);

#endif
