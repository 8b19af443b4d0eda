/* SPDX-License-Identifier: Apache-2.0
 * What the host has written to `__constant__` variables, launch by launch: sizes and tables that shape what kernels do. A
 * word of theirs that the analysis used is a word of the launch (common/plan.h): guards compare it, and replay knows it in
 * the same way (interpose/contents.h).
 *
 * Known are what the module's image begins with, and copies from the host that the call waits for. All else that may write a
 * variable makes it unknown, until the next such copy to all of it. Device code cannot write one (CUDA C++ Programming
 * Guide, "Variable Memory Space Specifiers"). Of a module that is loaded twice nothing is known. */
#ifndef KFUSE_FUSER_PLANNER_CONTENTS_H
#define KFUSE_FUSER_PLANNER_CONTENTS_H

#include "fuser/access/access.h"
#include "fuser/planner/program.h"

/* While the trace is read. False when memory is out. */
bool contents_add(struct program *program, const struct trace_variable *variable, const char *name);
/* bytes: what the host has written there, or NULL: it is not known. */
bool contents_write(struct program *program, uint64_t address, uint64_t size, const unsigned char *bytes);
/* A kernel that is given a variable's address may write it, against the documents: then it is never known. */
void contents_expose(struct program *program, const struct program_launch *launch);
/* Anything may have been written. */
bool contents_forget(struct program *program);
/* Another run begins: the variables are as their images have them, wherever they will lie. */
bool contents_reset(struct program *program);

/* The `__constant__` variables that the launch's kernel names, in the arena; where memory is out, fewer. */
void contents_of_launch(struct program *program, const struct program_launch *launch,
                        const struct ptx_function *function, struct launch_input *input);
/* The launch finds in the variables what the summary takes them to hold, as the launch it was made of. */
bool contents_agree(struct program *program, const struct access_summary *summary,
                    const struct program_launch *example, const struct program_launch *launch);
/* Names the summary's words of variables among the kernel's. False when there are too many of them. */
bool contents_name_words(struct program *program, struct program_kernel *kernel,
                         const struct access_summary *summary);
/* Where the summary's index-th word of variables lies among the words of a launch. */
uint32_t contents_offset(const struct program_kernel *kernel, const struct access_summary *summary,
                         uint32_t index);

#endif
