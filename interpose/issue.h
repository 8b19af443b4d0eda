/* SPDX-License-Identifier: Apache-2.0
 * How launches that were held go to the driver: in groups, by their fused kernels, or as they were. With the
 * queue's lock; the launches are the first ones of queue.held, queue.state says what they match. */
#ifndef KFUSE_INTERPOSE_ISSUE_H
#define KFUSE_INTERPOSE_ISSUE_H

#include "interpose/held.h"
#include "interpose/rename.h"

/* In any thread. From here on no array is renamed: each has what it should have. */
void issue_restore_now(void);
static inline void issue_restore(void)
{
    if (rename_is_on()) issue_restore_now();
}
/* A launch of which it is not known what it touches. */
void issue_original(const struct held *held);
/* The group whose pattern the first launches complete; no bystander. */
void issue_group(void);
/* The same, as originals, while that is measured. */
void issue_apart(void);
/* Before the first launch goes to the driver by itself; known: it is a bystander. */
void issue_meet_alone(bool is_known);
/* The first launch, a bystander. */
void issue_bystander(void);
/* The group is used no more. */
void issue_disable(uint32_t group, const char *reason);
/* The same for those that have been measured to lose. What is followed must be dropped next. */
void issue_disable_losers(void);

#endif
