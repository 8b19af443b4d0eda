/* SPDX-License-Identifier: Apache-2.0
 * Traces as text: one line a record. */
#ifndef KFUSE_TOOLS_TRACE_TEXT_H
#define KFUSE_TOOLS_TRACE_TEXT_H

#include "common/trace.h"

#include <stdio.h>

/* "launch #12 kernel 3 grid 8x1x1 ...": the record with every field that says something, and a newline. */
void trace_text_print(FILE *out, const struct trace_view *view);
/* "device", "pageable host", ... */
const char *trace_text_memory(uint32_t kind);
/* Why recording ended, as the end of a sentence. */
const char *trace_text_reason(uint32_t reason);

#endif
