/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of streams, events, captures and contexts. */
#include "interpose/hook.h"
#include "interpose/contents.h"
#include "interpose/home_stream.h"
#include "interpose/queue.h"

/* --- walls --- */

/* Of the current context, where is_own. */
#define CONTEXT_WAIT(symbol, is_own, arguments, ...)                                                         \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        bool is_ours = is_own;                                                                               \
        if (!is_ours) shim_enter_wait();                                                                     \
        if (is_ours && shim_enter_sync(NULL)) return shim_waited(CUDA_SUCCESS);                              \
        int64_t begun_ns = is_ours ? record_wait_begins() : 0;                                               \
        uint64_t gates = is_ours ? contents_wait_begins() : 0;                                               \
        CUresult result = REAL(symbol) arguments;                                                            \
        contents_waited(gates, result);                                                                      \
        if (is_ours) queue_waited(NULL, true, result);                                                       \
        record_wait(#symbol, NULL, true, begun_ns);                                                          \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
CONTEXT_WAIT(cuCtxSynchronize, true, (), void)
CONTEXT_WAIT(cuCtxSynchronize_v2, !context || context == track_current_context(), (context),
             CUcontext context)

#define STREAM_WALL(symbol)                                                                                  \
    HOOK(symbol, CUstream stream)                                                                            \
    {                                                                                                        \
        shim_enter_wait();                                                                                   \
        CUresult result = REAL(symbol)(stream);                                                              \
        record_wall(#symbol, hook_stream(#symbol, stream), false);                                           \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
#define STREAM_WAIT_FOR(symbol)                                                                              \
    HOOK(symbol, CUstream stream)                                                                            \
    {                                                                                                        \
        CUstream meant = hook_stream(#symbol, stream);                                                       \
        if (shim_enter_sync(meant)) return shim_waited(CUDA_SUCCESS);                                        \
        int64_t begun_ns = record_wait_begins();                                                             \
        CUresult result = REAL(symbol)(stream);                                                              \
        queue_waited(meant, false, result);                                                                  \
        record_wait(#symbol, meant, false, begun_ns);                                                        \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
STREAM_WAIT_FOR(cuStreamSynchronize)
STREAM_WAIT_FOR(cuStreamSynchronize_ptsz)
STREAM_WALL(cuStreamQuery)
STREAM_WALL(cuStreamQuery_ptsz)

#define EVENT_WALL(symbol)                                                                                   \
    HOOK(symbol, CUevent event)                                                                              \
    {                                                                                                        \
        shim_enter_wait();                                                                                   \
        CUresult result = REAL(symbol)(event);                                                               \
        record_wall(#symbol, NULL, true);                                                                    \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
EVENT_WALL(cuEventSynchronize)
EVENT_WALL(cuEventQuery)

/* --- events --- */

#define EVENT_RECORD(symbol, arguments, ...)                                                                 \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter_mark();                                                                                   \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result == CUDA_SUCCESS) record_event(event, hook_stream(#symbol, stream), TRACE_EVENT_RECORD);   \
        return result;                                                                                       \
    }
EVENT_RECORD(cuEventRecord, (event, stream), CUevent event, CUstream stream)
EVENT_RECORD(cuEventRecord_ptsz, (event, stream), CUevent event, CUstream stream)
EVENT_RECORD(cuEventRecordWithFlags, (event, stream, flags), CUevent event, CUstream stream, unsigned flags)
EVENT_RECORD(cuEventRecordWithFlags_ptsz, (event, stream, flags), CUevent event, CUstream stream,
             unsigned flags)

#define STREAM_WAIT(symbol)                                                                                  \
    HOOK(symbol, CUstream stream, CUevent event, unsigned flags)                                             \
    {                                                                                                        \
        shim_enter_wait(); /* the event may be another process's, which waits for this one */                \
        shim_enter_mark();                                                                                   \
        GATE;                                                                                                \
        CUresult result = REAL(symbol)(stream, event, flags);                                                \
        if (result == CUDA_SUCCESS) record_event(event, hook_stream(#symbol, stream), TRACE_EVENT_WAIT);     \
        return result;                                                                                       \
    }
STREAM_WAIT(cuStreamWaitEvent)
STREAM_WAIT(cuStreamWaitEvent_ptsz)

/* The handle may be given again as soon as the driver has it back, so its number goes first. */
#define DESTROY(symbol, type, kind)                                                                          \
    HOOK(symbol, type handle)                                                                                \
    {                                                                                                        \
        kind == TRACK_STREAM && !home_on() ? shim_enter_flush() : shim_enter_mark();                         \
        if (kind == TRACK_STREAM) queue_stream_gone((CUstream)handle);                                       \
        track_id_forget(kind, handle);                                                                       \
        return REAL(symbol)(handle);                                                                         \
    }
DESTROY(cuEventDestroy, CUevent, TRACK_EVENT)
DESTROY(cuEventDestroy_v2, CUevent, TRACK_EVENT)
DESTROY(cuStreamDestroy, CUstream, TRACK_STREAM)
DESTROY(cuStreamDestroy_v2, CUstream, TRACK_STREAM)

/* --- captures --- */

#define CAPTURE_BEGIN(symbol, arguments, ...)                                                                \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        record_wall(#symbol, hook_stream(#symbol, stream), false);                                           \
        track_capture_began(); /* before the driver's, so that no other thread loads a module in between */  \
        replay_await_service();                                                                              \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result != CUDA_SUCCESS) track_capture_ended();                                                   \
        return result;                                                                                       \
    }
CAPTURE_BEGIN(cuStreamBeginCapture, (stream), CUstream stream)
CAPTURE_BEGIN(cuStreamBeginCapture_ptsz, (stream), CUstream stream)
CAPTURE_BEGIN(cuStreamBeginCapture_v2, (stream, mode), CUstream stream, CUstreamCaptureMode mode)
CAPTURE_BEGIN(cuStreamBeginCapture_v2_ptsz, (stream, mode), CUstream stream, CUstreamCaptureMode mode)
CAPTURE_BEGIN(cuStreamBeginCaptureToGraph, (stream, graph, nodes, edges, count, mode), CUstream stream,
              CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t count,
              CUstreamCaptureMode mode)
CAPTURE_BEGIN(cuStreamBeginCaptureToGraph_ptsz, (stream, graph, nodes, edges, count, mode), CUstream stream,
              CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t count,
              CUstreamCaptureMode mode)

/* A capture that was invalidated is over too once this has been called on the stream that began it. */
#define CAPTURE_END(symbol)                                                                                  \
    HOOK(symbol, CUstream stream, CUgraph *graph)                                                            \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        CUresult result = REAL(symbol)(stream, graph);                                                       \
        bool is_over = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||          \
                       result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;                                         \
        if (is_over) track_capture_ended();                                                                  \
        record_wall(#symbol, hook_stream(#symbol, stream), false);                                           \
        return result;                                                                                       \
    }
CAPTURE_END(cuStreamEndCapture)
CAPTURE_END(cuStreamEndCapture_ptsz)

/* --- contexts --- */

#define CONTEXT_DESTROY(symbol)                                                                              \
    HOOK(symbol, CUcontext context)                                                                          \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        GATE;                                                                                                \
        record_wall(#symbol, NULL, true);                                                                    \
        queue_chains_end(context, 0);                                                                        \
        replay_context_gone(context);                                                                        \
        track_id_forget(TRACK_CONTEXT, context);                                                             \
        return REAL(symbol)(context);                                                                        \
    }
CONTEXT_DESTROY(cuCtxDestroy)
CONTEXT_DESTROY(cuCtxDestroy_v2)

/* Others may still hold the primary context after a release. */
static void primary_released(CUdevice device)
{
    unsigned flags;
    int is_active = 0;
    if (REAL(cuDevicePrimaryCtxGetState)(device, &flags, &is_active) == CUDA_SUCCESS && is_active) return;
    queue_chains_end(NULL, device);
    replay_device_gone(device);
}

#define PRIMARY_RELEASE(symbol)                                                                              \
    HOOK(symbol, CUdevice device)                                                                            \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        GATE;                                                                                                \
        record_wall(#symbol, NULL, true);                                                                    \
        CUresult result = REAL(symbol)(device);                                                              \
        primary_released(device);                                                                            \
        return result;                                                                                       \
    }
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease)
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease_v2)
PRIMARY_RELEASE(cuDevicePrimaryCtxReset)
PRIMARY_RELEASE(cuDevicePrimaryCtxReset_v2)
