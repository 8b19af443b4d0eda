/* SPDX-License-Identifier: Apache-2.0
 * Streams: made, asked and waited for. */
#include "emulator/driver.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

struct driver_stream *driver_stream_open(struct driver_context *context, unsigned flags, int priority)
{
    struct driver_stream *stream = driver_object_create(DRIVER_STREAM);
    if (!stream) return NULL;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++driver.identity;
    stream->submitted = stream->completed = driver.sequence;
    stream->clock_ns = driver.host_ns;
    DL_APPEND2(driver.streams, stream, previous, next);
    return stream;
}

static void stream_remove(struct driver_stream *stream)
{
    DL_DELETE2(driver.streams, stream, previous, next);
    driver_object_destroy(stream);
}

void driver_stream_close(struct driver_stream *stream)
{
    driver_capture_leave(stream);
    driver_run_stream(stream);
    stream_remove(stream);
}

void driver_stream_done(struct driver_stream *stream)
{
    if (stream->object.kind != DRIVER_LEAVING) return;
    stream->object.kind = DRIVER_STREAM;
    stream_remove(stream);
}

/* The per-thread default stream of the calling thread, made at its first use. */
static struct driver_stream *thread_stream(struct driver_context *context)
{
    uint64_t thread = (uint64_t)syscall(SYS_gettid);
    for (struct driver_stream *stream = driver.streams; stream; stream = stream->next)
        if (stream->context == context && stream->thread == thread) return stream;
    struct driver_stream *stream = driver_stream_open(context, 0, 0);
    if (stream) stream->thread = thread;
    return stream;
}

CUresult driver_stream_of(CUstream handle, struct driver_stream **result)
{
    bool is_per_thread = driver_is_per_thread;
    struct driver_context *context = driver_current();
    driver_is_per_thread = false;
    if (handle == CU_STREAM_PER_THREAD || (!handle && is_per_thread))
        *result = thread_stream(context);
    else if (!handle || handle == CU_STREAM_LEGACY)
        *result = context->legacy;
    else if (driver_object_is(handle, DRIVER_STREAM))
        *result = (struct driver_stream *)handle;
    else
        return CUDA_ERROR_INVALID_HANDLE;
    return *result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult stream_create(CUstream *result, unsigned flags, int priority)
{
    if (!result || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    if (priority > 0) priority = 0;
    if (priority < -5) priority = -5;
    *result = (CUstream)driver_stream_open(driver_current(), flags, priority);
    return *result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return stream_create(phStream, Flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return stream_create(phStream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
    DRIVER_ENTER(DRIVER_OPEN | DRIVER_CURRENT);
    struct driver_stream *stream = (struct driver_stream *)hStream;
    if (hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD ||
        !driver_object_is(stream, DRIVER_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    driver_capture_leave(stream);
    if (stream->first)
        stream->object.kind = DRIVER_LEAVING;
    else
        stream_remove(stream);
    return CUDA_SUCCESS;
}

/* Looks a stream up inside an entry point that has entered. */
#define STREAM_OF(handle)                                                                                    \
    struct driver_stream *stream;                                                                            \
    do {                                                                                                     \
        CUresult found = driver_stream_of(handle, &stream);                                                  \
        if (found != CUDA_SUCCESS) return found;                                                             \
    } while (0)

CUresult cuStreamQuery(CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (stream->capture) return driver_capture_sync(stream);
    driver_run_some();
    if (stream->context->error) return stream->context->error;
    return stream->completed >= stream->submitted ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (stream->capture) return driver_capture_sync(stream);
    driver_run_stream(stream);
    return stream->context->error;
}

CUresult cuStreamGetPriority(CUstream hStream, int *priority)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!streamId) return CUDA_ERROR_INVALID_VALUE;
    *streamId = stream->id;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    (void)stream;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)stream->context;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!pCtx) return CUDA_ERROR_INVALID_VALUE;
    *pCtx = (CUcontext)stream->context;
    if (pGreenCtx) *pGreenCtx = NULL;
    return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(dst);
    struct driver_stream *source;
    CUresult result = driver_stream_of(src, &source);
    if (result == CUDA_SUCCESS) stream->priority = source->priority;
    return result;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!value_out) return CUDA_ERROR_INVALID_VALUE;
    memset(value_out, 0, sizeof *value_out);
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) stream->priority = value->priority;
    return CUDA_SUCCESS;
}

/* Managed memory is plain memory here. */
CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    STREAM_OF(hStream);
    struct emu_allocation allocation;
    (void)stream, (void)length, (void)flags;
    return emu_memory_find(dptr, &allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
