/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of start, streams, events, captures and contexts. */
#include "interpose/hook.h"

#include "common/log.h"

#include <stdio.h>
#include <string.h>

HOOK(cuInit, unsigned flags)
{
    shim_enter();
    CUresult result = REAL(cuInit)(flags);
    if (result == CUDA_SUCCESS) shim_begin();
    return result;
}

/* --- the ways in --- */

HOOK(cuGetProcAddress, const char *symbol, void **function, int version, cuuint64_t flags)
{
    shim_enter();
    CUresult result = REAL(cuGetProcAddress)(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && function) *function = entry_route(*function, symbol);
    return result;
}

HOOK(cuGetProcAddress_v2, const char *symbol, void **function, int version, cuuint64_t flags,
     CUdriverProcAddressQueryResult *status)
{
    shim_enter();
    CUresult result = REAL(cuGetProcAddress_v2)(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS && function) *function = entry_route(*function, symbol);
    return result;
}

/* The tables that the CUDA runtime asks for (13.0: all but the last three). */
static const unsigned char runtime_tables[][16] = {
    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
    {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66},
    {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc},
    {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93},
    {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2},
    {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e},
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9},
    {0x0c, 0xa5, 0x0b, 0x8c, 0x10, 0x04, 0x92, 0x9a, 0x89, 0xa7, 0xd0, 0xdf, 0x10, 0xe7, 0x72, 0x86},
    {0x19, 0x5b, 0xcb, 0xf4, 0xd6, 0x7d, 0x02, 0x4a, 0xac, 0xc5, 0x1d, 0x29, 0xce, 0xa6, 0x31, 0xae},
    {0xb1, 0x05, 0x41, 0xe1, 0xf7, 0xc7, 0xc7, 0x4a, 0x9f, 0x64, 0xf2, 0x23, 0xbe, 0x99, 0xf1, 0xe2},
};

/* The functions behind any other table could launch or observe without our knowing. */
static void check_table(const CUuuid *id)
{
    char text[33];
    for (size_t i = 0; i < sizeof runtime_tables / sizeof runtime_tables[0]; i++)
        if (!memcmp(id, runtime_tables[i], sizeof runtime_tables[i])) return;
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
    log_write(LOG_INFO, "entry", "export table %s is not one of the CUDA runtime's", text);
    if (!record_is_on())
        shim_latch("a library uses an export table of the driver that is not the CUDA runtime's");
}

HOOK(cuGetExportTable, const void **table, const CUuuid *id)
{
    shim_enter();
    CUresult result = REAL(cuGetExportTable)(table, id);
    if (result == CUDA_SUCCESS && id) check_table(id);
    return result;
}

/* --- walls --- */

HOOK(cuCtxSynchronize, void)
{
    shim_enter_flush();
    CUresult result = REAL(cuCtxSynchronize)();
    record_wall("cuCtxSynchronize", NULL, true);
    replay_service();
    return shim_result(result);
}

HOOK(cuCtxSynchronize_v2, CUcontext context)
{
    shim_enter_flush();
    CUresult result = REAL(cuCtxSynchronize_v2)(context);
    record_wall("cuCtxSynchronize_v2", NULL, true);
    return shim_result(result);
}

#define STREAM_WALL(symbol)                                                                                  \
    HOOK(symbol, CUstream stream)                                                                            \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        CUresult result = REAL(symbol)(stream);                                                              \
        record_wall(#symbol, hook_stream(#symbol, stream), false);                                           \
        replay_service();                                                                                    \
        return shim_result(result);                                                                          \
    }
STREAM_WALL(cuStreamSynchronize)
STREAM_WALL(cuStreamSynchronize_ptsz)
STREAM_WALL(cuStreamQuery)
STREAM_WALL(cuStreamQuery_ptsz)

#define EVENT_WALL(symbol)                                                                                   \
    HOOK(symbol, CUevent event)                                                                              \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        CUresult result = REAL(symbol)(event);                                                               \
        record_wall(#symbol, NULL, true);                                                                    \
        replay_service();                                                                                    \
        return shim_result(result);                                                                          \
    }
EVENT_WALL(cuEventSynchronize)
EVENT_WALL(cuEventQuery)

/* --- events --- */

#define EVENT_RECORD(symbol, arguments, ...)                                                                 \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
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
        shim_enter_flush();                                                                                  \
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
        shim_enter_flush();                                                                                  \
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
        record_wall(#symbol, NULL, true);                                                                    \
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
    replay_context_gone(NULL);
}

#define PRIMARY_RELEASE(symbol)                                                                              \
    HOOK(symbol, CUdevice device)                                                                            \
    {                                                                                                        \
        shim_enter_flush();                                                                                  \
        record_wall(#symbol, NULL, true);                                                                    \
        CUresult result = REAL(symbol)(device);                                                              \
        primary_released(device);                                                                            \
        return result;                                                                                       \
    }
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease)
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease_v2)
PRIMARY_RELEASE(cuDevicePrimaryCtxReset)
PRIMARY_RELEASE(cuDevicePrimaryCtxReset_v2)
