/* SPDX-License-Identifier: Apache-2.0
 * Workers: children of this process, as it is when they start, that work off tasks while it goes on. All that
 * comes back from them are answers (answers.h). What a worker does beyond that is lost with it, and so is
 * nothing when one dies. */
#ifndef KFUSE_FUSER_PLANNER_CREW_H
#define KFUSE_FUSER_PLANNER_CREW_H

#include "fuser/solver/answers.h"

struct crew {
    int processes[ANSWERS_MOST_WORKERS];
    uint32_t count, started;
    struct crew_tasks *tasks; /* who is at which */
};

/* Starts so many workers (0: none), which take the tasks in order. The crew is empty where that cannot be
 * done. They die with the process that started them. */
void crew_start(struct crew *crew, struct answers *answers, uint32_t workers, uint32_t tasks,
                void (*work)(void *context, uint32_t task), void *context);
/* Whether some worker is not done yet. */
bool crew_is_busy(struct crew *crew);
/* Whether some of the first so many tasks are not done yet. */
bool crew_is_at(const struct crew *crew, uint32_t tasks);
/* Ends the workers, done or not. */
void crew_end(struct crew *crew);
/* Workers beside this process: of so many jobs, or, for 0, of the cores that it may use. */
uint32_t crew_workers(uint32_t jobs);

#endif
