/* SPDX-License-Identifier: Apache-2.0
 * Sources of activity records: the interface between the recorder and the CUPTI plugin (libkfuse-cupti.so), which
 * exports one function, kfuse_activity_source. */
#ifndef KFUSE_PROFILER_ACTIVITY_H
#define KFUSE_PROFILER_ACTIVITY_H

#include "common/trace.h"

struct activity_source {
    /* Starts delivering; called once, before the first launch. False with *error (static text). */
    bool (*start)(void (*deliver)(const struct trace_activity *activity), const char **error);
    /* Brackets one launch in the launching thread: the record of that launch gets this sequence. */
    void (*launch_begin)(uint64_t sequence);
    void (*launch_end)(void);
    /* Delivers everything that has completed. */
    void (*flush)(void);
    /* Delivers everything there is, complete or not, and ends. at_exit: the process ends too, and nothing of the
     * source may be taken down: its library may be half gone already. */
    void (*stop)(bool at_exit);
};
typedef const struct activity_source *(*activity_source_function)(void); /* "kfuse_activity_source" */

#endif
