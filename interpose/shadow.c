/* SPDX-License-Identifier: Apache-2.0
 * Second buffers; see shadow.h. A fixed table: a plan renames few arrays. */
#include "interpose/shadow.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/own_stream.h"
#include "interpose/track.h"

#include <limits.h>
#include <string.h>

enum { BUFFERS = 64, ALIGNMENT = 512, DEFAULT_PART = 8, UNSET = -1 };

struct buffer {
    CUdeviceptr start; /* 0: none */
    uint64_t size;
    CUstream stream; /* that uses or used it last */
    CUevent gone;    /* that stream is gone: after its work; or NULL */
    bool is_taken;
};

static struct {
    struct buffer buffers[BUFFERS];
    _Atomic uint64_t bytes;
    uint64_t budget;
    bool has_budget;
} shadow;

uint64_t shadow_bytes(void)
{
    return atomic_load_explicit(&shadow.bytes, memory_order_relaxed);
}

/* Its last user's work is done, or comes first. */
static bool is_free_for(const struct buffer *buffer, CUstream stream)
{
    if (!buffer->gone && buffer->stream == stream) return true;
    if (track_is_capturing()) return false; /* asking might end the capture */
    if (buffer->gone) return REAL(cuEventQuery)(buffer->gone) == CUDA_SUCCESS;
    if (buffer->stream == CU_STREAM_PER_THREAD && (own_stream_has_lent() || !own_stream_is_here))
        return false;
    return REAL(cuStreamQuery)(buffer->stream) == CUDA_SUCCESS;
}

static struct buffer *find_kept(uint64_t size, CUstream stream)
{
    struct buffer *best = NULL;
    for (int i = 0; i < BUFFERS; i++) {
        struct buffer *buffer = &shadow.buffers[i];
        bool fits = buffer->start && !buffer->is_taken && buffer->size >= size;
        if (fits && (!best || buffer->size < best->size) && is_free_for(buffer, stream)) best = buffer;
    }
    return best;
}

static void read_budget(uint64_t total)
{
    long megabytes = setting_number("KFUSE_SHADOW_MB", 0, INT_MAX, UNSET);
    shadow.budget = megabytes == UNSET ? total / DEFAULT_PART : (uint64_t)megabytes << 20;
    shadow.has_budget = true;
}

/* Allocating while a stream is being captured would end the capture. */
static bool may_allocate(uint64_t size)
{
    size_t left = 0, total = 0;
    if (track_is_capturing() || REAL(cuMemGetInfo_v2)(&left, &total) != CUDA_SUCCESS) return false;
    if (!shadow.has_budget) read_budget(total);
    return size <= left / 2 && shadow_bytes() + size <= shadow.budget;
}

static struct buffer *allocate(uint64_t size)
{
    struct buffer *buffer = shadow.buffers;
    while (buffer < shadow.buffers + BUFFERS && buffer->start) buffer++;
    if (buffer == shadow.buffers + BUFFERS || !may_allocate(size)) return NULL;
    if (REAL(cuMemAlloc_v2)(&buffer->start, size) != CUDA_SUCCESS) {
        buffer->start = 0;
        return NULL;
    }
    buffer->size = size;
    atomic_fetch_add_explicit(&shadow.bytes, size, memory_order_relaxed);
    log_write(LOG_INFO, "shadow", "%llu bytes of device memory for renamed arrays",
              (unsigned long long)shadow_bytes());
    return buffer;
}

static void forget_event(struct buffer *buffer)
{
    if (buffer->gone) REAL(cuEventDestroy_v2)(buffer->gone);
    buffer->gone = NULL;
}

CUdeviceptr shadow_take(CUdeviceptr address, uint64_t bytes, CUstream stream)
{
    uint64_t lead = address % ALIGNMENT, size = (lead + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size < bytes) return 0;
    struct buffer *buffer = find_kept(size, stream);
    if (!buffer) buffer = allocate(size);
    if (!buffer) return 0;
    forget_event(buffer);
    buffer->stream = stream;
    buffer->is_taken = true;
    return buffer->start + lead;
}

void shadow_put(CUdeviceptr place)
{
    for (int i = 0; i < BUFFERS; i++)
        if (place - shadow.buffers[i].start < shadow.buffers[i].size) shadow.buffers[i].is_taken = false;
}

void shadow_stream_gone(CUstream stream)
{
    for (int i = 0; i < BUFFERS; i++) {
        struct buffer *buffer = &shadow.buffers[i];
        if (!buffer->start || buffer->gone || buffer->stream != stream) continue;
        bool is_marked = REAL(cuEventCreate)(&buffer->gone, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
                         REAL(cuEventRecord)(buffer->gone, stream) == CUDA_SUCCESS;
        if (!is_marked) buffer->is_taken = true; /* for good */
    }
}

void shadow_free(void)
{
    for (int i = 0; i < BUFFERS; i++) {
        forget_event(&shadow.buffers[i]);
        if (shadow.buffers[i].start) REAL(cuMemFree_v2)(shadow.buffers[i].start);
    }
    shadow_forget();
}

void shadow_forget(void)
{
    memset(shadow.buffers, 0, sizeof shadow.buffers);
    atomic_store(&shadow.bytes, 0);
}
