/* SPDX-License-Identifier: Apache-2.0
 * Instruction forms with recorded results: the PTX of each, and its input values. Used by the recorder, which
 * runs on a GPU, and by the test, which runs the emulator. */
#ifndef KFUSE_TESTS_EMULATOR_GOLDEN_H
#define KFUSE_TESTS_EMULATOR_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

enum { GOLDEN_ROWS = 64, GOLDEN_TEXT = 4096 };

uint32_t golden_count(void);
/* The instruction of a case. */
const char *golden_name(uint32_t index);
/* A module with one kernel `run(in, out)`: row i reads a, b, c (64 bits each) at in + 24 i and writes out + 8
 * i. */
void golden_ptx(uint32_t index, char text[GOLDEN_TEXT]);
void golden_inputs(uint32_t index, uint64_t rows[GOLDEN_ROWS][3]);

#endif
