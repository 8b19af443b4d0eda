/* SPDX-License-Identifier: Apache-2.0
 * The situations of a program, each by its first launch: those that recur, and of these what takes the device longest, then the
 * others. Where the time for searching is cut, the steps of a program have been looked at, and what it does once, at its beginning
 * and end, has not. The answers do not depend on the order. */
#ifndef KFUSE_FUSER_PLANNER_SITUATIONS_H
#define KFUSE_FUSER_PLANNER_SITUATIONS_H

#include "fuser/planner/search.h"

/* In the search's arena. False when memory is out. */
bool situations_find(struct search *search, struct situations *situations);

#endif
