/* SPDX-License-Identifier: Apache-2.0
 * What became of every two neighbouring launches, and why: `kfuse explain` shows it. The layout is in
 * planner.h. */
#ifndef KFUSE_FUSER_PLANNER_NEIGHBOURS_H
#define KFUSE_FUSER_PLANNER_NEIGHBOURS_H

#include "fuser/planner/search.h"

#include <jansson.h>

enum neighbours_kind {
#define NEIGHBOURS(name, text, next_step) NEIGHBOURS_##name,
#include "fuser/planner/neighbours.def"
#undef NEIGHBOURS
};

/* After the search: an array with one object for each situation, in the order of their first launches. */
json_t *neighbours_json(struct search *search);

#endif
