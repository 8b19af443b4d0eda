/* SPDX-License-Identifier: Apache-2.0
 * From calls to trace records: fills the structs of common/trace.h and hands them to the recorder. Every
 * function is a no-op unless recording. Called after the driver has accepted a call, by the thread that made
 * it. */
#ifndef KFUSE_INTERPOSE_RECORD_H
#define KFUSE_INTERPOSE_RECORD_H

#include "common/trace.h"
#include "interpose/entry.h"
#include "interpose/track.h"

/* Starts a trace with what the program already has. False with a log line when it cannot be written. */
bool record_open(const char *path);

void record_module(struct track_module *module, const struct track_image *image);
void record_variable(void *module, const char *name, CUdeviceptr address, size_t size, bool is_managed);

/* One launch: begin before the driver's call, end after it. */
struct record_launch {
    struct trace_launch launch;
    unsigned char *arguments; /* of the calling thread; valid until its next launch */
    bool is_on;
};
struct record_shape {
    CUfunction function;
    unsigned grid[3], block[3], dynamic_shared;
    CUstream stream;
    void **parameters, **extra;
    uint32_t flags; /* enum trace_launch_flags */
};
void record_launch_begin(struct record_launch *record, const struct record_shape *shape);
void record_launch_end(struct record_launch *record, CUresult result);

void record_allocate(CUdeviceptr address, size_t size, enum trace_memory_kind kind, CUstream stream);
void record_free(CUdeviceptr address, CUstream stream);

struct record_copy {
    uint64_t destination, source, size;
    enum trace_memory_kind destination_kind, source_kind; /* UNKNOWN: found out here */
    CUstream stream;
    bool is_async, is_hull;
};
/* Of any address: of memory that is not tracked, what the driver says; it refuses to name what is pageable. */
enum trace_memory_kind record_memory_kind(uint64_t address);
void record_copy(const struct record_copy *copy);
void record_set(CUdeviceptr address, size_t size, uint32_t value, uint32_t width, CUstream stream,
                bool is_hull);
void record_event(CUevent event, CUstream stream, enum trace_event_kind kind);
/* stream is meaningless when the wall is for the whole context. */
/* A wait that may be passed through (through.h) where the user asks for it: begun_ns is what record_wait_begins said before
 * the call. */
int64_t record_wait_begins(void);
void record_wait(const char *name, CUstream stream, bool is_whole_context, int64_t begun_ns);
void record_wall(const char *name, CUstream stream, bool is_whole_context);

/* What a program gets for nvrtcGetCUBIN: our function, or NULL when there is nothing to hook. */
void *record_nvrtc_hook(void *handle, const void *caller);

extern bool recorder_is_active;
static inline bool record_is_on(void)
{
    return __builtin_expect(recorder_is_active, 0);
}

#endif
