/* SPDX-License-Identifier: Apache-2.0
 * What a whole trace says, counted: for `kfuse report`. */
#ifndef KFUSE_TOOLS_TRACE_SUMMARY_H
#define KFUSE_TOOLS_TRACE_SUMMARY_H

#include "common/arena.h"
#include "common/trace.h"

struct summary_kernel {
    struct trace_kernel record;
    const char *name; /* in the arena, as everything here */
    uint64_t launches, timed;
    uint64_t time_ns; /* of the timed ones */
    uint32_t max_dynamic_shared;
};

struct summary_count {
    const char *name;
    uint64_t count, bytes;
};

struct trace_summary {
    struct arena *arena;
    struct trace_device device;
    bool has_device, has_end;
    struct trace_end end;
    struct trace_module *modules;
    uint32_t module_count;
    struct summary_kernel *kernels; /* most device time first; then most launches */
    uint32_t kernel_count;
    uint64_t launches, failed, captured, timed, time_ns, host_ns;
    uint64_t span_ns; /* first to last arrival */
    uint64_t windows; /* with launches: up to a wall or a copy to the host */
    uint64_t window_median, window_max;
    struct summary_count *enders; /* what ended windows, most often first */
    uint32_t ender_count;
    struct summary_count *copies; /* by direction, most bytes first */
    uint32_t copy_count;
    uint64_t allocations, allocated_bytes, damaged_bytes;
};

/* Reads to the end. False when memory is out. */
bool trace_summarise(struct arena *arena, struct trace_reader *reader, struct trace_summary *summary);

#endif
