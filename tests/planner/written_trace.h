/* SPDX-License-Identifier: Apache-2.0
 * Traces for the planner's tests, written record by record: one module of small kernels, arrays, launches. */
#ifndef TESTS_PLANNER_WRITTEN_TRACE_H
#define TESTS_PLANNER_WRITTEN_TRACE_H

#include "common/image.h"
#include "common/trace.h"

enum { WRITTEN_N = 1000, WRITTEN_THREADS = 128 };
enum written_kernel {                    /* f32 arrays; see the PTX */
                      WRITTEN_SCALE = 1, /* a[i] *= factor; arguments: a, factor, n */
                      WRITTEN_FROM_ONE,  /* a[i + 1] *= factor; the same */
                      WRITTEN_BARRIER,   /* SCALE with a barrier of a number: no member */
                      WRITTEN_SCATTER,   /* a[i + (int)factor] *= factor: nobody sees where */
                      WRITTEN_PADDED,    /* a[i + n - 1000] *= 0.5; a struct: a, n, and padding */
                      WRITTEN_KERNELS
};
struct written_trace {
    struct trace_writer *writer;
    uint64_t sequence, now_ns;          /* of the next launch's arrival */
    uint32_t stream, thread, kernel_ns; /* of the next launches */
    enum trace_end_reason end;          /* written_start: PERIODIC, the run went on */
};

/* Of another kind than PTX the module is one that nothing can be fused from. */
void written_start(struct written_trace *trace, const char *path, enum image_kind kind);
void written_start_emulated(struct written_trace *trace, const char *path);
void written_array(struct written_trace *trace, uint64_t address, uint64_t size);
void written_free(struct written_trace *trace, uint64_t address);
void written_launch(struct written_trace *trace, enum written_kernel kernel, uint64_t pointer, float factor,
                    uint32_t n);
void written_padded(struct written_trace *trace, uint64_t pointer, uint32_t n, uint32_t padding);
void written_wall(struct written_trace *trace);
void written_end(struct written_trace *trace);

#endif
