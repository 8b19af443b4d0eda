/* SPDX-License-Identifier: Apache-2.0
 * Finds where activity records come from: the emulator, or the CUPTI plugin. */
#ifndef KFUSE_PROFILER_SOURCE_H
#define KFUSE_PROFILER_SOURCE_H

#include "profiler/activity.h"

/* NULL when there is none; the reason and what to do are in the log. real: as for recorder_open. */
const struct activity_source *source_find(void *(*real)(const char *name));

#endif
