/* SPDX-License-Identifier: Apache-2.0
 * The plan folder as a place: whether a plan may be written there, and how a new one takes an old one's
 * place. Only files of plans are ever replaced or removed: those that plan.json lists under "files",
 * plan.json, plan.bin and verified.
 *
 * Every file is staged first, under its name behind PLAN_STAGED. plan.bin then takes its place by one rename;
 * from there on the new plan counts, and plan_folder_finish brings the other files after it. Who reads
 * plan.json in between finds the staged one, which alone fits plan.bin. */
#ifndef KFUSE_FUSER_PLANNER_PLAN_FOLDER_H
#define KFUSE_FUSER_PLANNER_PLAN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False with a message in error: the folder holds something, and no plan. One that is not there will do. */
bool plan_folder_may_hold(const char *directory, char *error, size_t error_size);
/* Makes the folder, and leaves nothing staged in it. names: of the new plan's files; none of them may be
 * somebody else's. Returns the folder, locked until it is closed; -1 with a message. */
int plan_folder_open(const char *directory, const char *const *names, uint32_t count, char *error,
                     size_t error_size);
/* False with a message. */
bool plan_folder_stage(int folder, const char *directory, const char *name, const char *text, char *error,
                       size_t error_size);
/* Nothing has become of it: removes what is staged, and an empty folder. */
void plan_folder_abandon(int folder, const char *directory);
/* If plan.bin is of the staged plan.json: all that is staged takes its place, what only the old plan had
 * goes. */
void plan_folder_finish(int folder);
/* The same where an earlier writer may have been interrupted: before plan.json is read. */
void plan_folder_recover(const char *directory);

#endif
