/* SPDX-License-Identifier: Apache-2.0
 * How long the blocks of a halo fusion wait for memory. Each of its stages runs its cells in passes of the block's threads, and each
 * member of a stage loads what it needs behind the stores of the one before: so a block waits for a load once a pass and member.
 * Blocks that are resident together wait side by side, the others behind them. Of values that an earlier member has touched, most
 * are near. */
#ifndef KFUSE_FUSER_PLANNER_LATENCY_H
#define KFUSE_FUSER_PLANNER_LATENCY_H

#include "fuser/planner/search.h"

/* Of a compiled group with stages. */
double latency_ns(const struct search *search, const struct search_group *planned,
                  const struct projection_kernel *kernel);

#endif
