/* SPDX-License-Identifier: Apache-2.0
 * The trace file (app.kftrace): what one run of a program did, append-only. Writer and reader share this header
 * and nothing else. Layout: a trace_file_header, then records. Every record is a trace_record header, a fixed
 * struct by kind, and a payload; the whole is padded with zeros to 8 bytes. A reader stops at the first record that
 * is short or whose check fails, so a trace is usable up to its last whole record after a crash. Little endian.
 * Addresses and sizes are bytes; times are nanoseconds of CLOCK_MONOTONIC; ids are small numbers given in order of
 * first appearance, 0 meaning none (stream 0: the null stream). See kfuse-trace(5). */
#ifndef KFUSE_COMMON_TRACE_H
#define KFUSE_COMMON_TRACE_H

#include "common/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "KFTRACE"
enum { TRACE_VERSION = 1 };

struct trace_file_header {
    char magic[8];
    uint32_t version, header_size;
};

/* X(NAME, struct, what the payload holds) */
/* clang-format off */
#define TRACE_RECORDS(X)                                                                                          \
    X(DEVICE, trace_device, "nothing")                                                                            \
    X(MODULE, trace_module, "options_size bytes of JIT options, then stored_size bytes of the image")             \
    X(KERNEL, trace_kernel, "parameter_count trace_parameters, then the name and a NUL")                          \
    X(VARIABLE, trace_variable, "the name and a NUL")                                                             \
    X(CONTENTS, trace_contents, "size bytes written to a module variable by the host")                            \
    X(LAUNCH, trace_launch, "arguments_size bytes: the parameter buffer, laid out by the kernel's parameters")    \
    X(ALLOCATE, trace_allocate, "nothing")                                                                        \
    X(FREE, trace_free, "nothing")                                                                                \
    X(COPY, trace_copy, "nothing")                                                                                \
    X(SET, trace_set, "nothing")                                                                                  \
    X(EVENT, trace_event, "nothing")                                                                              \
    X(WALL, trace_wall, "the entry point's name and a NUL")                                                       \
    X(ACTIVITY, trace_activity, "nothing")                                                                        \
    X(END, trace_end, "nothing")
/* clang-format on */

enum trace_kind {
    TRACE_NONE,
#define X(name, type, payload) TRACE_##name,
    TRACE_RECORDS(X)
#undef X
        TRACE_KINDS
};

struct trace_record {
    uint32_t kind, size; /* size: header, struct, payload and padding */
    uint64_t check;      /* hash_check of everything after this header */
};

struct trace_device {
    uint32_t ordinal, compute_major, compute_minor, multiprocessors;
    uint32_t warp_size, threads_per_multiprocessor, blocks_per_multiprocessor, registers_per_multiprocessor;
    uint32_t shared_per_multiprocessor, shared_per_block_optin, l2_bytes, driver_version;
    uint32_t clock_khz, memory_clock_khz, bus_width_bits, is_emulated;
    uint64_t memory_bytes;
    char name[64];
};

enum trace_module_flags {
    TRACE_MODULE_HAS_PTX = 1,
    TRACE_MODULE_RELOCATABLE = 2, /* a linked image: its PTX is not what runs */
    TRACE_MODULE_FROM_NVRTC = 4,  /* the image is PTX taken from NVRTC for the cubin with this hash */
    TRACE_MODULE_LINKED = 8,      /* cuLink output, or a file that could not be read */
};
struct trace_module {
    uint32_t module, image_kind /* enum image_kind */, flags, options_size;
    struct hash128 hash;              /* of the image's bytes followed by the JIT options */
    uint64_t image_size, stored_size; /* stored_size is image_size, or 0 where there is no PTX to use */
};

struct trace_parameter {
    uint32_t offset, size; /* in the parameter buffer, bytes */
};
struct trace_kernel {
    uint32_t kernel, module;
    uint32_t registers, static_shared, constant_bytes, local_bytes, max_threads;
    uint32_t ptx_version, binary_version, cache_mode_ca;
    uint32_t parameter_count, parameter_bytes;
    int32_t max_dynamic_shared, preferred_carveout;
};

struct trace_variable { /* a __device__, __constant__ or __managed__ variable that the program looked up */
    uint32_t module, is_managed;
    uint64_t address, size;
};
struct trace_contents {
    uint64_t sequence, address, size;
};

enum trace_launch_flags {
    TRACE_LAUNCH_ATTRIBUTES = 1, /* cuLaunchKernelEx with attributes */
    TRACE_LAUNCH_COOPERATIVE = 2,
    TRACE_LAUNCH_CAPTURED = 4,    /* during stream capture: never replaced */
    TRACE_LAUNCH_PER_THREAD = 8,  /* per-thread default stream */
    TRACE_LAUNCH_EXTRA = 16,      /* arguments came packed through CU_LAUNCH_PARAM_BUFFER_POINTER */
    TRACE_LAUNCH_UNREADABLE = 32, /* arguments could not be read: arguments_size is 0 */
    TRACE_LAUNCH_OWN_STREAM = 64, /* recorded with KFUSE_OWN_STREAM */
};
struct trace_launch {
    uint64_t sequence;   /* one count over everything that has a sequence */
    uint64_t arrival_ns; /* when the program called */
    uint64_t capture_id;
    uint32_t host_ns; /* time spent in the driver's call */
    uint32_t kernel, context, stream, thread, flags;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;
    int32_t result; /* CUresult */
    uint32_t arguments_size, reserved;
};

/* of an allocation, or of one end of a copy */
enum trace_memory_kind {
    TRACE_MEMORY_UNKNOWN,
    TRACE_MEMORY_DEVICE, /* cuMemAlloc, cuMemAllocPitch: the only kind that fusion may touch at first */
    TRACE_MEMORY_ASYNC,  /* cuMemAllocAsync, pools */
    TRACE_MEMORY_MANAGED,
    TRACE_MEMORY_HOST, /* pinned or registered */
    TRACE_MEMORY_PAGEABLE,
    TRACE_MEMORY_MAPPED,   /* VMM, IPC, external, registered: one alias class */
    TRACE_MEMORY_VARIABLE, /* a module variable */
};
struct trace_allocate {
    uint64_t sequence, address, size;
    uint32_t kind, stream;
};
struct trace_free {
    uint64_t sequence, address;
    uint32_t stream, reserved;
};
struct trace_copy {
    uint64_t sequence, destination, source, size; /* two-dimensional copies: the hull */
    uint64_t arrival_ns;
    uint32_t destination_kind, source_kind, stream, thread;
    uint32_t is_async, is_hull; /* is_hull: not every byte of the ranges is touched */
};
struct trace_set {
    uint64_t sequence, address, size, arrival_ns;
    uint32_t value, width, stream, is_hull;
};

enum trace_event_kind { TRACE_EVENT_RECORD, TRACE_EVENT_WAIT };
struct trace_event {
    uint64_t sequence, arrival_ns;
    uint32_t event, stream, kind, reserved;
};
struct trace_wall { /* any call after which the host may have seen results */
    uint64_t sequence, arrival_ns;
    uint32_t stream, thread, is_whole_context;
    uint32_t
        passable_ns; /* of a wait that runs may pass through (--through-sync): how long it took; else 0 */
};

struct trace_activity {                  /* CUPTI's record of one launch */
    uint64_t sequence, start_ns, end_ns; /* device clock */
    uint32_t registers, static_shared, dynamic_shared, local_per_thread;
    uint32_t local_total_kib, reserved;
};

enum trace_end_reason { TRACE_END_EXIT, TRACE_END_PERIODIC, TRACE_END_LIMIT, TRACE_END_ERROR };
struct trace_end {
    uint64_t sequence;
    uint64_t launches, activities; /* of the whole run, as far as the writer saw */
    uint32_t reason, reserved;
};

/* Bytes of the fixed struct of a kind (a multiple of 8). */
static inline size_t trace_fixed_size(enum trace_kind kind)
{
    static const uint32_t sizes[TRACE_KINDS] = {
#define X(name, type, payload) [TRACE_##name] = sizeof(struct type),
        TRACE_RECORDS(X)
#undef X
    };
    return sizes[kind];
}
#define X(name, type, payload)                                                                               \
    _Static_assert(sizeof(struct type) % 8 == 0, "payloads are aligned to 8 bytes");
TRACE_RECORDS(X)
#undef X

/* --- writer: trace_writer.c; used in the preloaded library, thread safe ----------------------------------- */
struct trace_writer;
/* Creates the file (mode 0600), or empties one that holds a trace. NULL with *error set (static text) when it
 * cannot be. */
struct trace_writer *trace_writer_open(const char *path, const char **error);
/* Whether trace_writer_open would; leaves an empty file where there was none. */
bool trace_may_write(const char *path, const char **error);
/* Appends one record; parts are concatenated. Buffered up to 64 KiB. Returns false, for good, after a write failed. */
bool trace_write(struct trace_writer *writer, enum trace_kind kind, const void *fixed, const void *payload,
                 size_t payload_size);
bool trace_writer_flush(struct trace_writer *writer);
void trace_writer_close(struct trace_writer *writer);
/* In the child of a fork: lets go of the parent's file. Takes no lock, writes and frees nothing. */
void trace_writer_abandon(struct trace_writer *writer);

/* --- reader: trace_reader.c ------------------------------------------------------------------------------- */
struct trace_view { /* one record inside the mapped file */
    enum trace_kind kind;
    const void *fixed; /* the struct of this kind */
    const void *payload;
    size_t payload_size; /* with padding */
};
struct trace_reader;
/* Maps the file. NULL with a message in error (path, what is wrong, what to do) when it is no trace. */
struct trace_reader *trace_reader_open(const char *path, char *error, size_t error_size);
/* The same for a trace from which code is made: only what nobody else can have written (trusted.h). */
struct trace_reader *trace_reader_open_trusted(const char *path, char *error, size_t error_size);
/* False at the end, or at the first damaged record; every size inside the record has been checked. */
bool trace_next(struct trace_reader *reader, struct trace_view *view);
/* After trace_next returned false: bytes that were not readable (0: the trace is whole). */
uint64_t trace_damaged_bytes(const struct trace_reader *reader);
void trace_reader_close(struct trace_reader *reader);

#endif
