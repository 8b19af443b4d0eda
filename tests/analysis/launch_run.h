/* SPDX-License-Identifier: Apache-2.0
 * Memory of a launch of a launch file on the emulator: buffers with pseudo-random contents, variables as
 * told. */
#ifndef KFUSE_TESTS_ANALYSIS_LAUNCH_RUN_H
#define KFUSE_TESTS_ANALYSIS_LAUNCH_RUN_H

#include "emulator/exec.h"
#include "tests/analysis/launch_file.h"

/* Allocates and fills the line's buffers, sets its pointers and the program's variables. starts: one a
 * buffer. */
bool launch_place(struct emu_program *program, struct launch_line *line, uint32_t seed, uint64_t *starts);
void launch_release(const struct launch_line *line, const uint64_t *starts);

#endif
