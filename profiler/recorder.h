/* SPDX-License-Identifier: Apache-2.0
 * The recorder: writes what the hooks see into a trace, and joins it with activity records (CUPTI's, through the plugin
 * libkfuse-cupti.so, or the emulator's). In libkfuse.so; thread safe; any failure turns recording off for good and says
 * so in the log. Called by interpose/, which fills the fixed structs of common/trace.h; the recorder stamps sequence
 * numbers. */
#ifndef KFUSE_PROFILER_RECORDER_H
#define KFUSE_PROFILER_RECORDER_H

#include "common/trace.h"

#include <stdbool.h>

/* read without a lock: false means that no recorder function need be called */
extern bool recorder_is_active;

/* Opens the trace and finds a source of activity records. real: looks up a function of the real driver library by its
 * exported name, e.g. "cuLaunchKernel", or NULL. */
bool recorder_open(const char *path, void *(*real)(const char *name));
/* Flushes activity records and writes the end; also at exit. Safe to call twice. */
void recorder_close(enum trace_end_reason reason);

void recorder_device(const struct trace_device *device);
void recorder_module(const struct trace_module *module, const void *options, const void *image);
void recorder_kernel(const struct trace_kernel *kernel, const struct trace_parameter *parameters,
                     const char *name);
void recorder_variable(const struct trace_variable *variable, const char *name);
void recorder_contents(struct trace_contents *contents, const void *bytes);
/* Around every launch: begin takes the launch's sequence number and tags activity with it; end writes the record. */
void recorder_launch_begin(struct trace_launch *launch);
void recorder_launch_end(const struct trace_launch *launch, const void *arguments);
void recorder_allocate(struct trace_allocate *allocate);
void recorder_free(struct trace_free *release);
void recorder_copy(struct trace_copy *copy);
void recorder_set(struct trace_set *set);
void recorder_event(struct trace_event *event);
void recorder_wall(struct trace_wall *wall, const char *entry_point);

#endif
