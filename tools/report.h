/* SPDX-License-Identifier: Apache-2.0
 * The two halves of `kfuse report`; both return an exit status of tools/commands.h. */
#ifndef KFUSE_TOOLS_REPORT_H
#define KFUSE_TOOLS_REPORT_H

#include <stdbool.h>

/* with_records: every record as text instead of the tables. */
int report_trace(const char *path, bool with_records);
/* stats_path: what a run left behind (kfuse run --stats FILE), or NULL. */
int report_plan(const char *directory, const char *stats_path);

#endif
