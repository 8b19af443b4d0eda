/* SPDX-License-Identifier: Apache-2.0
 * Words of a kernel's arguments that differ from launch to launch and do no more than shift addresses: a time
 * level, the number of a step, the first row of a part. A launch is analysed for a range of them at once, and
 * finds its pointers moved on by so many times the word: such an address is a sum (common/plan.h), which the
 * rest of the planner and replay take for a pointer like any other. */
#ifndef KFUSE_FUSER_PLANNER_SHIFT_H
#define KFUSE_FUSER_PLANNER_SHIFT_H

#include "fuser/planner/launch_class.h"

/* As access_analyse, and sets class->shifts. Words are tried at the first launch of a kernel; they count only where
 * no less is known of the launch than with the words as they are. */
struct access_summary *shift_analyse(struct program *program, struct launch_class *class, isl_ctx *ctx,
                                     const struct launch_input *input);
/* The class's summary holds for this launch's words that shift, too. */
bool shift_fits(const struct launch_class *class, const struct program_launch *launch);
/* For people, in the arena: "p(8)+4*i(40)"; of: what stands before offsets. */
const char *shift_sum_text(struct arena *arena, const struct plan_sum *sum, const char *of);
/* How far behind its pointer the base lies in this launch. */
int64_t shift_of(const struct launch_class *class, const struct access_base *base,
                 const struct program_launch *launch);

#endif
