/* SPDX-License-Identifier: Apache-2.0
 * The traces of several runs of one program, of other sizes say, read as if one run had followed the other.
 *
 * Numbers of modules and kernels, and sequence numbers, mean something in one trace alone. Those of later
 * traces are renumbered: a module is one of an earlier trace if its image and options are (their hash), a
 * kernel if its module and name are; sequence numbers go on. Numbers of streams, events and threads are left
 * as they are, since no window holds launches of two runs (program.h). All runs are of one device. */
#ifndef KFUSE_FUSER_PLANNER_RUNS_H
#define KFUSE_FUSER_PLANNER_RUNS_H

#include "common/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runs;

/* Maps `count` traces, at least one, from files that nobody else can have written (common/trusted.h) or, for
 * tests, from any. NULL with a message in error: file, what is wrong, what to do. */
struct runs *runs_open(const char *const *paths, uint32_t count, bool are_trusted, char *error,
                       size_t error_size);
/* The next record; run: which trace it is from, counted from 0, never less than before. It stays until
 * runs_close. False behind the last one, or where runs_error tells of something. */
bool runs_next(struct runs *runs, struct trace_view *view, uint32_t *run);
uint32_t runs_count(const struct runs *runs);
/* Once runs_next was false: NULL, or a message as of runs_open. */
const char *runs_error(const struct runs *runs);
/* Likewise: bytes that could not be read, and the first file that has some, or NULL. */
uint64_t runs_damaged_bytes(const struct runs *runs, const char **path);
void runs_close(struct runs *runs);

#endif
