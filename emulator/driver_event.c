/* SPDX-License-Identifier: Apache-2.0
 * Events. One that was never recorded counts as complete. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <utlist.h>

static CUresult event_of(CUevent handle, struct driver_event **event)
{
    *event = (struct driver_event *)handle;
    return driver_object_is(handle, DRIVER_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

#define EVENT_OF(handle)                                                                                     \
    struct driver_event *event;                                                                              \
    do {                                                                                                     \
        CUresult known = event_of(handle, &event);                                                           \
        if (known != CUDA_SUCCESS) return known;                                                             \
    } while (0)

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!phEvent || Flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS) return CUDA_ERROR_NOT_SUPPORTED;
    struct driver_event *event = driver_object_create(DRIVER_EVENT);
    if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = driver_current();
    event->flags = Flags;
    event->id = ++driver.identity;
    DL_APPEND2(driver.events, event, previous, next);
    *phEvent = (CUevent)event;
    return CUDA_SUCCESS;
}

void driver_event_forget(struct driver_event *event)
{
    free(event->nodes);
    event->nodes = NULL;
    event->node_count = 0;
    event->capture_id = 0;
}

void driver_event_close(struct driver_event *event)
{
    driver_event_forget(event);
    DL_DELETE2(driver.events, event, previous, next);
    driver_object_destroy(event);
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
    DRIVER_ENTER(DRIVER_USUAL);
    EVENT_OF(hEvent);
    driver_event_close(event);
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent handle, CUstream stream_handle)
{
    struct driver_stream *stream;
    CUresult result = driver_stream_of(stream_handle, &stream);
    if (result != CUDA_SUCCESS) return result;
    EVENT_OF(handle);
    if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    driver_event_forget(event);
    if (stream->capture) return driver_capture_record(stream, event);
    struct driver_operation *operation = driver_operation_create(OPERATION_EVENT);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->record.event = event;
    operation->record.id = event->id;
    return driver_submit(stream, operation);
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return event_record(hEvent, hStream);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    return flags ? CUDA_ERROR_NOT_SUPPORTED : event_record(hEvent, hStream);
}

static bool event_is_done(const struct driver_event *event)
{
    return event->done >= event->sequence;
}

CUresult cuEventQuery(CUevent hEvent)
{
    DRIVER_ENTER(DRIVER_USUAL);
    EVENT_OF(hEvent);
    if (event->capture_id) {
        driver_capture_spoil_event(event);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    driver_run_some();
    if (event->context->error) return event->context->error;
    return event_is_done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
    DRIVER_ENTER(DRIVER_USUAL);
    EVENT_OF(hEvent);
    if (event->capture_id) {
        driver_capture_spoil_event(event);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (!event_is_done(event)) driver_run_until(event->stream, event->sequence);
    driver_output_flush();
    if (driver.host_ns < event->time_ns) driver.host_ns = event->time_ns;
    return event->context->error;
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_event *start, *end;
    if (!pMilliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (event_of(hStart, &start) != CUDA_SUCCESS || event_of(hEnd, &end) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->sequence == 0 || end->sequence == 0) return CUDA_ERROR_INVALID_HANDLE;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
    if (!event_is_done(start) || !event_is_done(end)) return CUDA_ERROR_NOT_READY;
    *pMilliseconds = (float)(((double)end->time_ns - (double)start->time_ns) / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    EVENT_OF(hEvent);
    if (Flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (Flags) return CUDA_ERROR_NOT_SUPPORTED;
    if (event->capture_id || stream->capture) return driver_capture_join(stream, event);
    if (event->sequence == 0) return CUDA_SUCCESS;
    struct driver_operation *operation = driver_operation_create(OPERATION_EMPTY);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    if (event_is_done(event))
        operation->not_before_ns = event->time_ns;
    else if (!driver_operation_wait_for(operation, event->stream, event->sequence)) {
        driver_operation_free(operation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return driver_submit(stream, operation);
}
