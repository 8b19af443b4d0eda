/* SPDX-License-Identifier: Apache-2.0
 * The parts of `kfuse report`; the first two return an exit status of tools/commands.h. */
#ifndef KFUSE_TOOLS_REPORT_H
#define KFUSE_TOOLS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* with_records: every record as text instead of the tables. */
int report_trace(const char *path, bool with_records);
/* stats_path: what a run left behind (kfuse run --stats FILE), or NULL. */
int report_plan(const char *directory, const char *stats_path);
/* Prints what a run with --verify left in that file, if anything; check: the plan's, which the file must name
 * first, or NULL. */
void report_verified(const char *path, const uint64_t *check);

/* What keeps neighbouring launches apart, by device time. plan: its plan.json. */
void report_apart(const json_t *plan);

/* What runs have measured of the plan's groups; nothing where they have not. */
struct plan;
void report_measured(const char *directory, const struct plan *plan);

#endif
