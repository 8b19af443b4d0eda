/* SPDX-License-Identifier: Apache-2.0
 * What the program has: allocations, modules and their kernels, streams, captures. Thread safe; each file has
 * a lock of its own, held for no driver call and while no other lock of this library is taken. */
#ifndef KFUSE_INTERPOSE_TRACK_H
#define KFUSE_INTERPOSE_TRACK_H

#include "common/trace.h"
#include "interpose/entry.h"

#include <stdatomic.h>

/* --- allocations and other known ranges: track_memory.c --- */
struct track_range {
    uint64_t start, size;
    enum trace_memory_kind kind;
};
/* A range that lies over older ones replaces them. Zero sizes are ignored. */
void track_memory_add(uint64_t start, uint64_t size, enum trace_memory_kind kind);
/* Forgets the range that starts there; false when there is none. */
bool track_memory_remove(uint64_t start, struct track_range *removed);
/* The range that holds the byte. */
bool track_memory_find(uint64_t address, struct track_range *range);
/* For guards: plain device allocations only. The context is not used. */
bool track_memory_plain(const void *context, uint64_t address, uint64_t *start, uint64_t *size);
/* The same, or managed memory, or what a stream frees. */
bool track_memory_open(const void *context, uint64_t address, uint64_t *start, uint64_t *size);
/* Another number after each change of the ranges. */
uint64_t track_memory_generation(const void *context);
/* A plain device allocation, or a variable of a module: what the host does not write meanwhile. */
bool track_memory_written(uint64_t address, uint64_t *start, uint64_t *size);
/* Every range, in order of address, from a copy. */
void track_memory_each(void (*visit)(const struct track_range *range));

/* --- modules and kernels: track_module.c --- */
struct track_module { /* one a hash; never freed, so ids are stable when a program loads an image again */
    struct trace_module record;
    bool is_recorded;
    uint32_t loads; /* handles to it now */
    char *ptx;      /* taken from NVRTC, where the image itself has none; or NULL */
    void *options;  /* record.options_size bytes that shape code */
    struct track_module *next;
};
enum { TRACK_PLAN_NONE = -1, TRACK_PLAN_UNBOUND = -2 };
struct track_kernel {            /* one a module and name; never freed */
    struct track_module *module; /* NULL: a handle of unknown origin */
    char *name;
    void *handle;           /* the latest */
    bool is_library_kernel; /* a CUkernel, not a CUfunction */
    void *function;         /* the latest CUfunction that the driver has made of a CUkernel */
    bool is_described, is_recorded;
    struct trace_kernel record;
    struct trace_parameter *parameters;
    bool has_padding;     /* bytes of the parameter buffer that no parameter fills */
    _Atomic int32_t plan; /* index of a plan kernel, or TRACK_PLAN_* */
    struct track_kernel *next;
};
struct track_image {
    const void *bytes; /* as the program passed it */
    size_t limit;      /* readable bytes, or SIZE_MAX */
    const CUjit_option *options;
    void *const *values;
    unsigned option_count;
    uint32_t flags; /* enum trace_module_flags that the caller knows */
};
/* A module or library that the driver has just loaded. NULL when memory is out. */
struct track_module *track_module_add(void *handle, const struct track_image *image);
/* handle names the same module as known (cuLibraryGetModule). */
void track_module_alias(void *handle, void *known);
void track_module_remove(void *handle);
struct track_module *track_module_find(void *handle);
bool track_module_is_loaded(struct hash128 hash);
extern _Atomic uint64_t track_unloads; /* times that the program has unloaded a module */
/* The PTX and cubin that a run-time compilation made, or the output of the linker (ptx NULL). */
void track_module_made(const void *cubin, size_t size, const char *ptx);

/* A handle that the driver has just returned for a kernel of that module. */
struct track_kernel *track_kernel_add(void *handle, bool is_library_kernel, void *module, const char *name);
/* Asks the driver for a handle's name and module. */
struct track_kernel *track_kernel_discover(void *handle, bool is_library_kernel, void *module);
/* Another handle of the same kernel. */
void track_kernel_alias(void *handle, struct track_kernel *kernel);
/* The table of kernel handles. Readers take no lock; old tables stay, since readers may be in them. */
struct track_handle_table {
    size_t capacity, used; /* capacity: a power of two */
    struct {
        _Atomic(const void *) handle;
        _Atomic(struct track_kernel *) kernel;
    } slots[];
};
extern _Atomic(struct track_handle_table *) track_handles;
static inline size_t track_handle_slot(const struct track_handle_table *table, const void *handle)
{
    return ((uintptr_t)handle * 0x9e3779b97f4a7c15u >> 20) & (table->capacity - 1);
}
static inline struct track_kernel *track_kernel_find(const void *handle)
{
    struct track_handle_table *table = atomic_load_explicit(&track_handles, memory_order_acquire);
    if (!table) return NULL;
    for (size_t i = track_handle_slot(table, handle);; i = (i + 1) & (table->capacity - 1)) {
        const void *key = atomic_load_explicit(&table->slots[i].handle, memory_order_acquire);
        if (!key) return NULL;
        if (key == handle) return atomic_load_explicit(&table->slots[i].kernel, memory_order_acquire);
    }
}
/* Attributes and parameters, from the driver; false when it will not say. */
bool track_kernel_describe(struct track_kernel *kernel);
/* Nearly all are pointers and numbers. */
static inline void track_copy_argument(void *to, const void *from, uint32_t size)
{
    if (size == 8)
        __builtin_memcpy(to, from, 8);
    else if (size == 4)
        __builtin_memcpy(to, from, 4);
    else
        __builtin_memcpy(to, from, size);
}
/* All that kernelParams point to, each where it belongs; the bytes of the buffer. */
static inline long track_copy_arguments(const struct track_kernel *kernel, void **parameters, void *buffer)
{
    const struct trace_parameter *at = kernel->parameters, *end = at + kernel->record.parameter_count;
    for (; at < end; at++) track_copy_argument((char *)buffer + at->offset, *parameters++, at->size);
    return kernel->record.parameter_bytes;
}
/* The parameter buffer of a launch: from kernelParams, or from the packed form. The bytes written, or -1. */
long track_kernel_pack(const struct track_kernel *kernel, void **parameters, void **extra, void *buffer,
                       size_t capacity);
static inline long track_kernel_arguments(const struct track_kernel *kernel, void **parameters, void **extra,
                                          void *buffer, size_t capacity)
{
    bool is_usual = parameters && __atomic_load_n(&kernel->is_described, __ATOMIC_ACQUIRE) &&
                    !kernel->has_padding && kernel->record.parameter_bytes <= capacity;
    if (!is_usual) return track_kernel_pack(kernel, parameters, extra, buffer, capacity);
    return track_copy_arguments(kernel, parameters, buffer);
}

/* --- streams, events, contexts, threads, captures: track_stream.c --- */
enum track_handle_kind { TRACK_CONTEXT, TRACK_STREAM, TRACK_EVENT, TRACK_HANDLE_KINDS };
/* A small number for a handle, the next free one at first sight; 0 for NULL and the legacy default stream. */
uint32_t track_id(enum track_handle_kind kind, const void *handle);
void track_id_forget(enum track_handle_kind kind, const void *handle);
uint32_t track_thread_id(void);
void track_capture_began(void);
void track_capture_ended(void);
extern _Atomic int track_captures; /* under way */
static inline bool track_is_capturing(void)
{
    return atomic_load_explicit(&track_captures, memory_order_acquire) > 0;
}
CUcontext track_current_context(void);

void track_fork_child(void);

#endif
