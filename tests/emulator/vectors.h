/* SPDX-License-Identifier: Apache-2.0
 * A golden vector: one form of emulator/forms.def as a kernel, its inputs, and where its results go. Used by
 * the recorder, which runs on a GPU, and by the test, which runs the emulator. */
#ifndef KFUSE_TESTS_EMULATOR_VECTORS_H
#define KFUSE_TESTS_EMULATOR_VECTORS_H

#include "emulator/forms.h"

#include <stddef.h>
#include <stdint.h>

enum {
    VECTOR_ROWS = 512, /* threads of a launch: VECTOR_BLOCK a block */
    VECTOR_BLOCK = 128,
    VECTOR_OPERANDS = 4, /* 64-bit words a row: %a, %b, %c, %e */
    VECTOR_TEXT = 4096,
    VECTOR_NAME = 160,
};
/* the kernels' third parameter, 16 bytes: this and its inverse */
#define VECTOR_FIXED 0x8123456789abcdefull

/* A row's results: %d in the low bits of first; second is [%out+8], UINT64_MAX where nothing is stored. */
struct vector_result {
    uint64_t first, second;
};

/* What is at the start of a module of vectors; is_old: of those that ask for PTX 6.0. */
const char *vector_module_head(bool is_old);
bool vector_is_old(const struct emu_form *form);
/* The kernel run<number>(in, out, fixed), to be put behind a head: row i reads at in + 32 i, writes at out +
 * 16 i. */
void vector_kernel(const struct emu_form *form, uint32_t number, char text[VECTOR_TEXT]);
void vector_inputs(const struct emu_form *form, uint64_t rows[VECTOR_ROWS][VECTOR_OPERANDS]);
/* Identifies a form's kernel and inputs: a recording of something else has another one. */
uint64_t vector_identity(const struct emu_form *form);
/* The type of a form's result, or of what the row writes. PTX_PRED for a predicate. */
enum ptx_type vector_result_type(const struct emu_form *form);

#endif
