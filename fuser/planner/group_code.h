/* SPDX-License-Identifier: Apache-2.0
 * From a group as planned to its code: its name, and the request to the code generator. */
#ifndef KFUSE_FUSER_PLANNER_GROUP_CODE_H
#define KFUSE_FUSER_PLANNER_GROUP_CODE_H

#include "fuser/planner/draft.h"

/* g, the number of its first use's first launch, and the names of its first members: a C identifier that no other group
 * has, in the search's arena. It does not depend on what else was tried, as workers try other things first. NULL: memory
 * is out. */
const char *group_code_name(struct search *search, const struct search_group *planned);
/* The kernel's name in a form for people and files: the identifier inside a C++ mangled name, or the name. */
const char *group_code_plain_name(struct arena *arena, const char *kernel_name);
/* Fills code, exactness and unproven; code.error says why not. */
void group_code_compile(struct search *search, struct search_group *planned);
/* The same of another form of the group: fills *code, and may set the group's unproven. */
void group_code_compile_form(struct search *search, struct search_group *planned, struct group *group,
                             const char *name, struct codegen_result *code);

#endif
