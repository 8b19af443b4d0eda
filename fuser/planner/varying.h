/* SPDX-License-Identifier: Apache-2.0
 * Launches of one kernel and shape that have other numbers each time: where a ring buffer begins, which picture is next, how far a
 * scene has moved. A plan can't know those to come. Where they decide no more than which elements are read of arrays that nobody
 * writes, the launches are analysed once more without them, as one class that knows no number. Other such launches come once. */
#ifndef KFUSE_FUSER_PLANNER_VARYING_H
#define KFUSE_FUSER_PLANNER_VARYING_H

#include "fuser/planner/launch_class.h"

/* After all launches have their classes: moves launches to classes with open words, and sets comes_once of what is left. False
 * when memory is out. */
bool varying_find(struct launch_classes *classes);

#endif
