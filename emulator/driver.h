/* SPDX-License-Identifier: Apache-2.0
 * The emulated driver (libcuda.so.1), inside view: the objects behind its handles and what its files share.
 * One lock guards everything; an entry point takes it with DRIVER_ENTER and gives it back when it returns. No
 * entry point calls another. */
#ifndef KFUSE_EMULATOR_DRIVER_H
#define KFUSE_EMULATOR_DRIVER_H

#include "emulator/activity.h"
#include "emulator/clock.h"
#include "emulator/exec.h"
#include "emulator/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What cuda.h declares is exported; all else is hidden. */
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
                        CUdevice dev);
CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                               char *logBuffer, size_t bufferSize);
CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out, size_t *numDependencies_out);
#pragma GCC visibility pop

enum { DRIVER_VERSION = 13000, DRIVER_SM = 90, DRIVER_LIMITS = 9, DRIVER_STACK = 32 };

/* --- objects: driver_object.c --- */
/* Handles are pointers to objects. A destroyed object's memory stays an object (of kind FREE, or reused), so
 * that a stale handle is recognised instead of read as something else. */
enum driver_kind {
    DRIVER_FREE,
    DRIVER_CONTEXT,
    DRIVER_MODULE,
    DRIVER_LIBRARY,
    DRIVER_FUNCTION,
    DRIVER_KERNEL,
    DRIVER_STREAM,
    DRIVER_LEAVING, /* a stream that was destroyed while it had work */
    DRIVER_EVENT,
    DRIVER_GRAPH,
    DRIVER_NODE,
    DRIVER_EXEC,
    DRIVER_POOL,
    DRIVER_PHYSICAL,
    DRIVER_KINDS
};
struct driver_object {
    uint64_t magic; /* tells an object from other memory */
    enum driver_kind kind;
    struct driver_object *next; /* while FREE */
};
/* Zeroed but for its header; NULL when memory is out. */
void *driver_object_create(enum driver_kind kind);
void driver_object_destroy(void *object);
bool driver_object_is(const void *handle, enum driver_kind kind);

struct driver_context {
    struct driver_object object;
    bool is_alive, is_primary;
    unsigned flags;
    uint64_t id;
    CUresult error; /* of a faulting launch; every later call returns it */
    size_t limits[DRIVER_LIMITS];
    struct driver_stream *legacy; /* the default stream */
    struct driver_context *next;
};

struct driver_module {
    struct driver_object object;
    struct driver_context *context; /* NULL: of a library */
    struct driver_library *library;
    struct driver_module *next;
    struct emu_program *program;
    struct driver_function **functions;
    uint32_t function_count, sm;
};
struct driver_library {
    struct driver_object object;
    struct driver_module *module;
    struct driver_kernel **kernels; /* as the module's functions */
};
struct driver_function {
    struct driver_object object;
    struct driver_module *module;
    const struct emu_kernel *kernel;
    struct emu_kernel_info info;
    int dynamic_shared, carveout; /* attributes that a program may set */
};
struct driver_kernel {
    struct driver_object object;
    struct driver_library *library;
    struct driver_function *function;
};

struct driver_capture; /* driver_capture.c */
struct driver_stream {
    struct driver_object object;
    struct driver_context *context;
    struct driver_stream *next, *previous; /* all streams, in order of creation */
    unsigned flags;
    int priority;
    bool is_legacy, is_running;
    uint64_t id, thread; /* thread: of a per-thread default stream */
    struct driver_operation *first, *last;
    uint64_t submitted, completed; /* sequence numbers: everything up to completed is done */
    uint64_t clock_ns;             /* virtual time when what has run ended */
    uint64_t rested;               /* number of its last pause; 0: its first operation has not paused */
    struct driver_capture *capture;
    struct driver_stream *next_host; /* while its host function waits to be run */
};
struct driver_event {
    struct driver_object object;
    struct driver_context *context;
    struct driver_event *previous, *next; /* of all */
    unsigned flags;
    uint64_t id;
    struct driver_stream *stream; /* of the last record; read only where sequence > done */
    uint64_t sequence, done;      /* of the last record, of the last one that has run; 0: none */
    uint64_t time_ns;
    uint64_t capture_id;        /* of the capture that it was recorded in, also after its end; 0: none */
    struct driver_node **nodes; /* what it stands for there */
    size_t node_count;
};

/* --- operations: driver_operation.c --- */
struct driver_copy { /* rows of width bytes, height rows a slice, depth slices */
    uint64_t destination, source;
    size_t width, height, depth;
    size_t destination_pitch, source_pitch, destination_slice, source_slice;
    enum emu_copy_kind kind;
    bool source_is_pageable, destination_is_pageable;
    bool is_on_device, is_on_host; /* both sides are; managed memory is neither */
};
struct driver_fill {
    uint64_t destination;
    uint32_t value, element; /* bytes of an element: 1, 2 or 4 */
    size_t width, height, pitch;
};
struct driver_launch {
    struct driver_function *function;
    uint32_t grid[3], block[3], dynamic_shared;
    uint64_t tag;
    struct emu_run *run; /* while it is under way */
    bool is_watched, has_paused;
    uint64_t patience; /* turns of its next slice */
};
struct driver_callback {
    CUhostFn function;         /* of cuLaunchHostFunc, or */
    CUstreamCallback callback; /* of cuStreamAddCallback */
    void *data;
};
struct driver_value { /* written, or waited for */
    uint64_t address, value;
    uint32_t bytes, condition; /* condition: CUstreamWaitValue_flags */
    bool has_waited;
};
enum driver_operation_kind {
    OPERATION_KERNEL,
    OPERATION_COPY,
    OPERATION_FILL,
    OPERATION_HOST,
    OPERATION_EVENT,
    OPERATION_FREE,
    OPERATION_WRITE_VALUE,
    OPERATION_WAIT_VALUE,
    OPERATION_EMPTY
};
struct driver_wait { /* until a stream has completed a sequence number */
    const struct driver_stream *stream;
    uint64_t sequence;
};
struct driver_operation {
    enum driver_operation_kind kind;
    struct driver_operation *next;
    uint64_t sequence, not_before_ns;
    uint64_t start_ns; /* once it has begun */
    bool has_begun;
    struct driver_wait *waits;
    size_t wait_count;
    bool is_in_graph;
    void *bytes; /* owned: a kernel's parameters; a copy's staged source */
    size_t byte_count;
    union {
        struct driver_launch launch;
        struct driver_copy copy;
        struct driver_fill fill;
        struct driver_callback host;
        struct driver_value value;
        struct {
            struct driver_event *event;
            uint64_t id;
        } record;
        uint64_t address; /* FREE */
    };
};
/* NULL when memory is out. */
struct driver_operation *driver_operation_create(enum driver_operation_kind kind);
struct driver_operation *driver_operation_clone(const struct driver_operation *operation);
void driver_operation_free(struct driver_operation *operation);
bool driver_operation_wait_for(struct driver_operation *operation, const struct driver_stream *stream,
                               uint64_t sequence);
struct driver_slice { /* of a kernel */
    uint64_t turns;   /* as of emu_run_go; 0: as many as its patience allows, and it may have waited */
    bool is_alone;    /* nothing else can run */
};
/* Runs the operation from start_ns on, a kernel for a slice. False: it has not ended. */
bool driver_operation_run(struct driver_stream *stream, struct driver_operation *operation,
                          struct driver_slice slice, uint64_t *end_ns);

/* --- the queue: driver_queue.c --- */
/* Takes the operation over: adds it to the stream's capture, or queues it (and, unless a seed is set, runs
 * it). */
CUresult driver_submit(struct driver_stream *stream, struct driver_operation *operation);
/* The same, then waits for it. */
CUresult driver_submit_and_wait(struct driver_stream *stream, struct driver_operation *operation);
/* Runs operations until the stream has completed sequence, all of the stream, the context's, or everyone's.
 */
void driver_run_until(const struct driver_stream *stream, uint64_t sequence);
void driver_run_stream(const struct driver_stream *stream);
void driver_run_context(const struct driver_context *context);
void driver_run_all(void);
/* Runs one operation that is ready, or a slice of one, if there is one; else false. For calls that poll. */
bool driver_run_some(void);
/* Whether nothing can run before another call, or the end of a host function. */
bool driver_is_idle(void);
/* Runs all that are ready, up to the first pause of a kernel. */
void driver_run_ready(void);
/* The first operation of the stream has been run. */
void driver_finish(struct driver_stream *stream);
/* Whether what is submitted now runs before the call returns. */
bool driver_runs_at_once(void);
/* A number that the seed fixes, below limit. */
uint64_t driver_random(uint64_t limit);

/* --- state and contexts: driver_state.c, driver_context.c --- */
struct driver_options { /* KFUSE_EMULATOR; see driver_state.c */
    uint64_t seed, step_limit;
    uint32_t workers;
    bool report_races, races_are_errors, is_quiet, traps_on_fault;
};
struct driver {
    bool is_initialised;
    struct driver_options options;
    uint64_t random, sequence, identity; /* identity: the last id given */
    uint64_t host_ns, device_ns, launches;
    uint64_t pauses, latest_ns;                /* latest: when the last operation ended */
    uint64_t calls;                            /* of entry points */
    unsigned naps;                             /* since an operation ended in a call that waits */
    struct driver_context *primary, *contexts; /* all that there were: a thread may still hold a closed one */
    unsigned primary_uses, primary_flags;
    struct driver_stream *streams; /* of utlist, as the events */
    struct driver_event *events;
    struct driver_module *modules;
};
extern struct driver driver;

enum driver_needs {
    DRIVER_OPEN = 1,       /* cuInit has been called */
    DRIVER_CURRENT = 2,    /* a context is current */
    DRIVER_SOUND = 4,      /* and no launch has faulted in it */
    DRIVER_UNCAPTURED = 8, /* and no capture forbids it in this thread */
    DRIVER_USUAL = DRIVER_OPEN | DRIVER_CURRENT | DRIVER_SOUND,
};
/* Takes the lock, also when it refuses for lack of a need, and tells so in *entered; driver_leave gives it
 * back. Refuses without the lock at the end of the process (whoever called exit may have it) and in host
 * functions. */
CUresult driver_enter(unsigned needs, bool *entered);
void driver_leave(const bool *entered);
#define DRIVER_ENTER(needs)                                                                                  \
    __attribute__((cleanup(driver_leave), unused)) bool driver_entered = false;                              \
    do {                                                                                                     \
        CUresult driver_result = driver_enter(needs, &driver_entered);                                       \
        if (driver_result != CUDA_SUCCESS) return driver_result;                                             \
    } while (0)
/* Around a call into the program, which may call the driver. */
void driver_unlock(void);
void driver_lock(void);
/* Gives threads that wait for the lock their turn. */
void driver_let_others(void);
enum driver_news {
    NEWS_DONE,
    NEWS_HOST,
    NEWS_WORK,
    NEWS_KINDS
}; /* an operation is complete; a host function is to be run; the server has something to do */
/* Waits for news from another thread. */
void driver_pause(enum driver_news news);
/* The same; false when milliseconds since the first call with this deadline (zeroed before) have passed. */
bool driver_pause_for(enum driver_news news, struct timespec *deadline, unsigned milliseconds);
void driver_wake(enum driver_news news);
/* At the end of the process: from now on every entry point says CUDA_ERROR_DEINITIALIZED. */
void driver_close(void);
bool driver_is_closed(void);

/* --- while the program is elsewhere: driver_serve.c --- */
/* Work is left that no thread is about to run. */
void driver_serve(void);
/* Waits until the server does nothing. */
void driver_serve_end(void);

/* --- host functions: driver_host.c --- */
/* Set while the calling thread runs a host function of the program. */
extern _Thread_local bool driver_is_in_host_function;
/* Gives the stream's first operation to the thread that runs host functions. Waits a moment for it, so that
 * short ones are done in the same order on every run; one that waits for the program does not hold it up. */
void driver_host_start(struct driver_stream *stream);

/* Says something to whoever runs the emulator: in the log, and on standard error unless that was turned off.
 */
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What an entry point without an implementation returns; it names itself once. */
struct driver_unsupported {
    const char *name;
    bool is_said;
};
CUresult driver_unsupported(struct driver_unsupported *entry);

struct driver_context *driver_current(void);
/* The primary context, made alive. */
CUresult driver_context_open(struct driver_context **context, bool is_primary, unsigned flags);
void driver_context_close(struct driver_context *context);

/* --- streams: driver_stream.c; captures: driver_capture.c --- */
/* Set by the per-thread variants of entry points (driver_stubs.S), taken back by driver_stream_of. */
extern _Thread_local bool driver_is_per_thread;
CUresult driver_stream_of(CUstream handle, struct driver_stream **stream);
struct driver_stream *driver_stream_open(struct driver_context *context, unsigned flags, int priority);
void driver_stream_close(struct driver_stream *stream); /* waits for it */
void driver_stream_done(struct driver_stream *stream);  /* its last operation has ended */
void driver_event_forget(struct driver_event *event);   /* what it stands for in a capture */
void driver_event_close(struct driver_event *event);

bool driver_capture_forbids(void);                                  /* calls that are unsafe in a capture */
CUresult driver_capture_legacy(const struct driver_stream *stream); /* work in the legacy stream */
CUresult driver_capture_sync(struct driver_stream *stream);         /* waiting for the stream */
CUresult driver_capture_add(struct driver_stream *stream, struct driver_operation *operation);
CUresult driver_capture_record(struct driver_stream *stream, struct driver_event *event);
CUresult driver_capture_join(struct driver_stream *stream, struct driver_event *event);
void driver_capture_spoil(struct driver_capture *capture);
void driver_capture_spoil_event(const struct driver_event *event); /* the capture that it was recorded in */
void driver_capture_leave(struct driver_stream *stream);           /* the stream is going */

/* --- graphs: driver_graph.c --- */
struct driver_graph {
    struct driver_object object;
    struct driver_node **nodes;
    size_t count, capacity;
};
struct driver_node {
    struct driver_object object;
    struct driver_graph *graph;
    struct driver_operation *operation;
    struct driver_node **dependencies;
    size_t dependency_count;
    size_t mark; /* scratch */
};
/* Takes the operation over. NULL when memory is out. */
struct driver_node *driver_graph_add(struct driver_graph *graph, struct driver_operation *operation,
                                     struct driver_node *const *dependencies, size_t count);
void driver_graph_free(struct driver_graph *graph);

/* --- modules: driver_module.c, kernels: driver_kernel.c --- */
/* From a CUfunction or a CUkernel, or NULL. */
struct driver_function *driver_function_of(CUfunction handle);
void driver_module_close(struct driver_module *module);
/* Makes the operation of a launch; the parameters come from kernelParams or extra. */
CUresult driver_launch_create(struct driver_operation **operation, struct driver_function *function,
                              const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_shared,
                              void **parameters, void **extra);

/* Memory that has no address of its own, of cuMemCreate: driver_virtual.c. */
struct driver_physical {
    struct driver_object object;
    int file;
    uint64_t size;
    unsigned handles, mappings; /* that keep it */
    CUmemAllocationProp properties;
};

/* --- memory: driver_memory.c, copies: driver_copy.c --- */
/* Records in context, for attributes and for freeing when the context goes. 0 when out of memory. */
uint64_t driver_memory_allocate(struct driver_context *context, size_t size, enum emu_memory_kind kind,
                                unsigned flags, void *pool);
CUresult driver_memory_free(uint64_t address);
void driver_memory_close(const struct driver_context *context);
struct driver_place {
    bool is_pageable, is_host, is_managed; /* pageable memory is the host's */
    bool is_read_only;
};
/* Whether size bytes at address may be copied: inside one allocation, or plain host memory. */
CUresult driver_memory_check(uint64_t address, size_t size, struct driver_place *place);
/* The bytes from the first to the last one of height rows and depth slices, or SIZE_MAX. */
size_t driver_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice);
CUresult driver_copy_create(struct driver_operation **operation, struct driver_copy copy);
CUresult driver_copy_from_3d(const CUDA_MEMCPY3D *description, struct driver_copy *copy);
CUresult driver_fill_create(struct driver_operation **operation, struct driver_fill fill);

/* --- memory operations in streams: driver_value.c --- */
/* Whether a stream need not wait any longer. */
bool driver_value_is_there(const struct driver_value *value);
/* At its turn: writes it. */
CUresult driver_value_run(const struct driver_value *value, bool is_write);

/* --- what kernels print: driver_output.c --- */
void driver_output_print(void *context, bool is_error, const char *bytes, size_t length);
void driver_output_flush(void);

/* --- watching: driver_watch.c --- */
/* emu_run_open and emu_run_close, between which watch.h's subscriber may see the accesses of a launch (of one
 * at a time: is_watched tells). */
struct emu_run *driver_watch_open(const struct emu_settings *settings, const struct emu_launch *launch,
                                  struct emu_fault *fault, bool *is_watched);
bool driver_watch_close(struct emu_run *run, struct emu_counts *counts, struct emu_fault *fault,
                        bool is_watched);

/* --- activity: driver_activity.c --- */
uint64_t driver_activity_tag(void);
void driver_activity_add(const struct emu_activity *activity);
/* Delivers what was added; without the lock. */
void driver_activity_deliver(void);

#endif
