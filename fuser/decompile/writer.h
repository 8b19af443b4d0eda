/* SPDX-License-Identifier: Apache-2.0
 * The nested statements of a kernel as lines of text. Internal to fuser/decompile. */
#ifndef KFUSE_FUSER_DECOMPILE_WRITER_H
#define KFUSE_FUSER_DECOMPILE_WRITER_H

#include "fuser/decompile/code.h"
#include "fuser/decompile/flow.h"

/* A line behind the indentation, cut at spaces where it is long. lines: of the PTX, for the comment at its
 * end; or NULL. */
void writer_line(FILE *out, unsigned depth, const char *text, const char *lines);
/* The registers' is_hoisted are found by writing to nowhere first: out NULL. */
void writer_write(FILE *out, struct code *code, const struct flow *flow);
/* The instruction is written as a statement of its own. */
bool writer_shows(const struct code *code, uint32_t instruction);

#endif
