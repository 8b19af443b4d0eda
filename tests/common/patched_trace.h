/* SPDX-License-Identifier: Apache-2.0
 * Changes to the records of a trace in memory. */
#ifndef TESTS_COMMON_PATCHED_TRACE_H
#define TESTS_COMMON_PATCHED_TRACE_H

#include "common/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* Says of a record whether it has changed it. */
typedef bool patched_trace_change(struct trace_record *record);
/* Makes the checks of changed records fit again. False when there was nothing to change, or the trace is
 * broken. */
bool patched_trace_change_all(unsigned char *bytes, size_t size, patched_trace_change *change);
/* A change: a module that came as PTX text came as machine code, as those of libraries do. */
bool patched_trace_take_ptx(struct trace_record *record);

#endif
