/* SPDX-License-Identifier: Apache-2.0
 * Which values come from data: from a load of memory that launches write, or an atomic. */
#ifndef KFUSE_FUSER_KERNEL_FROM_DATA_H
#define KFUSE_FUSER_KERNEL_FROM_DATA_H

#include "fuser/kernel/ssa.h"

/* By value, in the arena; NULL when memory is out. What is computed from such a value, or may be one (a phi, a guard), is
 * one too; a branch that data decide makes none. */
bool *from_data_find(struct arena *arena, const struct ssa *ssa);

#endif
