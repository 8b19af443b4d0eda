/* SPDX-License-Identifier: Apache-2.0
 * Words of a launch's arguments that only look like pointers. A struct's padding has whatever the host had there, often the upper half
 * of a pointer, and the number beside it makes an address of it that may lie in an allocation. Of which the kernel reads one half
 * alone, or nothing, is no pointer. */
#ifndef KFUSE_FUSER_PLANNER_POINTER_WORDS_H
#define KFUSE_FUSER_PLANNER_POINTER_WORDS_H

#include "fuser/planner/program.h"

/* Drops such words from the launch's pointers. None is dropped where the kernel's code is not known, or takes the parameter's
 * address. */
void pointer_words_trim(struct program *program, struct program_launch *launch);

#endif
