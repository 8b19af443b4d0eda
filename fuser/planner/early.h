/* SPDX-License-Identifier: Apache-2.0
 * Cores that would be idle while launches are analysed: a crew (crew.h) looks at pairs of those that have been, as the
 * search will. All that comes of it are answers. */
#ifndef KFUSE_FUSER_PLANNER_EARLY_H
#define KFUSE_FUSER_PLANNER_EARLY_H

#include "fuser/planner/crew.h"
#include "fuser/planner/launch_class.h"
#include "fuser/planner/planner.h"

struct early {
    const struct planner_options *options;
    struct crew crew;
    double opened, next; /* seconds (deadline_now): when a crew starts that knows more */
};

/* The options must outlive it. */
void early_open(struct early *early, const struct planner_options *options);
/* Of a struct early: a launch_classes_watch. */
void early_look(void *early, struct launch_classes *classes, uint32_t launches);
/* Before another crew starts. */
void early_end(struct early *early);

#endif
