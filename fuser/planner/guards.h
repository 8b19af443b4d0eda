/* SPDX-License-Identifier: Apache-2.0
 * The guards of a planned group: what replay must find true of the arguments for the recorded analysis to
 * hold. */
#ifndef KFUSE_FUSER_PLANNER_GUARDS_H
#define KFUSE_FUSER_PLANNER_GUARDS_H

#include "fuser/planner/search.h"

struct step_condition {          /* of one step */
    unsigned char *mask, *value; /* arguments_size bytes each: words that shaped addresses or control flow */
    struct guard_check *checks;  /* that can be evaluated when this step has arrived */
    uint32_t check_count;
};
struct group_conditions {
    struct step_condition *steps; /* group->step_count */
    struct plan_effect *effects;  /* what the members write, what each step touches */
    uint32_t effect_count;
    struct plan_box *boxes; /* what is written, by effect: from first_box on */
    uint32_t box_count;
};

/* In the search's arena; NULL when memory is out. */
/* As plan.bin has it. */
struct plan_box plan_box_of(const struct group_box *box);
struct group_conditions *guards_make(struct search *search, const struct search_group *group);
/* One check of the group in words, in the search's arena: p(step:offset) is a pointer, &name(step) the
 * address of a variable of the step's module. */
const char *guards_text(struct search *search, const struct search_group *group,
                        const struct guard_check *check);

#endif
