/* SPDX-License-Identifier: Apache-2.0
 * Stream capture: work in a capturing stream becomes nodes of a graph. A stream joins a capture by waiting
 * for an event that was recorded in it, and must be waited for by the first stream before the end. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

struct driver_member { /* a stream in a capture: what its next node depends on */
    struct driver_stream *stream;
    struct driver_node **nodes;
    size_t count;
};
struct driver_capture {
    struct driver_capture *next;
    struct driver_stream *origin;
    struct driver_graph *graph;
    struct driver_member *members;
    size_t member_count;
    CUstreamCaptureMode mode;
    const void *thread; /* the one that began it */
    uint64_t id;
    bool is_spoiled;
};
static struct driver_capture *captures;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static const void *this_thread(void)
{
    return &thread_mode;
}

static struct driver_member *member_of(const struct driver_stream *stream)
{
    struct driver_capture *capture = stream->capture;
    for (size_t i = 0; i < capture->member_count; i++)
        if (capture->members[i].stream == stream) return &capture->members[i];
    return NULL;
}

static bool member_set(struct driver_member *member, struct driver_node *const *nodes, size_t count)
{
    struct driver_node **copy = malloc((count + 1) * sizeof *copy);
    if (!copy) return false;
    if (count) memcpy(copy, nodes, count * sizeof *copy);
    free(member->nodes);
    member->nodes = copy;
    member->count = count;
    return true;
}

static bool capture_enlist(struct driver_capture *capture, struct driver_stream *stream)
{
    struct driver_member *grown = realloc(capture->members, (capture->member_count + 1) * sizeof *grown);
    if (!grown) return false;
    capture->members = grown;
    grown[capture->member_count++] = (struct driver_member){.stream = stream};
    stream->capture = capture;
    return true;
}

void driver_capture_spoil(struct driver_capture *capture)
{
    capture->is_spoiled = true;
}

/* A call that might wait for, or disturb, what is being captured. It spoils the captures that it is unsafe
 * for. */
bool driver_capture_forbids(void)
{
    bool is_forbidden = false;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    for (struct driver_capture *capture = captures; capture; capture = capture->next) {
        bool is_own = capture->thread == this_thread();
        if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        if (!is_own && (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                        thread_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
            continue;
        capture->is_spoiled = true;
        is_forbidden = true;
    }
    return is_forbidden;
}

CUresult driver_capture_legacy(const struct driver_stream *stream)
{
    CUresult result = CUDA_SUCCESS;
    if (!stream->is_legacy) return CUDA_SUCCESS;
    for (struct driver_capture *capture = captures; capture; capture = capture->next) {
        if (capture->origin->context != stream->context || (capture->origin->flags & CU_STREAM_NON_BLOCKING))
            continue;
        capture->is_spoiled = true;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

CUresult driver_capture_sync(struct driver_stream *stream)
{
    driver_capture_spoil(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult driver_capture_add(struct driver_stream *stream, struct driver_operation *operation)
{
    struct driver_member *member = member_of(stream);
    if (stream->capture->is_spoiled) {
        driver_operation_free(operation);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    struct driver_node *node =
        driver_graph_add(stream->capture->graph, operation, member->nodes, member->count);
    return node && member_set(member, &node, 1) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult driver_capture_record(struct driver_stream *stream, struct driver_event *event)
{
    const struct driver_member *member = member_of(stream);
    if (stream->capture->is_spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->nodes = malloc((member->count + 1) * sizeof *event->nodes);
    if (!event->nodes) return CUDA_ERROR_OUT_OF_MEMORY;
    if (member->count) memcpy(event->nodes, member->nodes, member->count * sizeof *event->nodes);
    event->node_count = member->count;
    event->capture_id = stream->capture->id;
    return CUDA_SUCCESS;
}

/* The capture that an event was recorded in; NULL when it has ended. */
static struct driver_capture *capture_of(const struct driver_event *event)
{
    struct driver_capture *capture = captures;
    while (capture && capture->id != event->capture_id) capture = capture->next;
    return capture;
}

void driver_capture_spoil_event(const struct driver_event *event)
{
    struct driver_capture *capture = capture_of(event);
    if (capture) driver_capture_spoil(capture);
}

CUresult driver_capture_join(struct driver_stream *stream, struct driver_event *event)
{
    struct driver_capture *capture = capture_of(event);
    if (!capture) {
        driver_event_forget(event);
        if (!stream->capture || event->sequence == 0) return CUDA_SUCCESS;
        driver_capture_spoil(stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (stream->is_legacy || (stream->capture && stream->capture != capture)) {
        driver_capture_spoil(capture);
        return stream->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (capture->is_spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!stream->capture && !capture_enlist(capture, stream)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct driver_member *member = member_of(stream);
    struct driver_node **nodes = malloc((member->count + event->node_count + 1) * sizeof *nodes);
    if (!nodes) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < member->count; i++) nodes[count++] = member->nodes[i];
    for (size_t i = 0; i < event->node_count; i++) nodes[count++] = event->nodes[i];
    bool is_set = member_set(member, nodes, count);
    free(nodes);
    return is_set ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- entry points --- */

static CUresult capture_begin(CUstream handle, CUstreamCaptureMode mode)
{
    struct driver_stream *stream;
    CUresult result = driver_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS) return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    struct driver_capture *capture = calloc(1, sizeof *capture);
    struct driver_graph *graph = driver_object_create(DRIVER_GRAPH);
    if (!capture || !graph || !capture_enlist(capture, stream)) {
        free(capture);
        driver_object_destroy(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->origin = stream;
    capture->graph = graph;
    capture->mode = mode;
    capture->thread = this_thread();
    capture->id = ++driver.identity;
    capture->next = captures;
    captures = capture;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return capture_begin(hStream, mode);
}

/* Every node must be before what the first stream stands at. */
static bool capture_is_joined(const struct driver_capture *capture, const struct driver_member *member)
{
    const struct driver_graph *graph = capture->graph;
    for (size_t i = 0; i < graph->count; i++) graph->nodes[i]->mark = 0;
    for (size_t i = 0; i < member->count; i++) member->nodes[i]->mark = 1;
    for (size_t i = graph->count; i-- > 0;) { /* a node stands behind what it depends on */
        const struct driver_node *node = graph->nodes[i];
        if (!node->mark) return false;
        for (size_t j = 0; j < node->dependency_count; j++) node->dependencies[j]->mark = 1;
    }
    return true;
}

static void capture_end(struct driver_capture *capture)
{
    for (struct driver_capture **link = &captures; *link; link = &(*link)->next)
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    for (size_t i = 0; i < capture->member_count; i++) {
        capture->members[i].stream->capture = NULL;
        free(capture->members[i].nodes);
    }
    free(capture->members);
    free(capture);
}

static void member_remove(struct driver_capture *capture, struct driver_member *member)
{
    member->stream->capture = NULL;
    free(member->nodes);
    *member = capture->members[--capture->member_count];
}

void driver_capture_leave(struct driver_stream *stream)
{
    struct driver_capture *capture = stream->capture;
    if (!capture) return;
    if (capture->origin == stream) {
        driver_graph_free(capture->graph);
        capture_end(capture);
        return;
    }
    driver_capture_spoil(capture);
    member_remove(capture, member_of(stream));
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    struct driver_capture *capture = stream->capture;
    if (!phGraph) return CUDA_ERROR_INVALID_VALUE;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    struct driver_graph *graph = capture->graph;
    if (capture->is_spoiled)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!capture_is_joined(capture, member_of(stream)))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    capture_end(capture);
    *phGraph = result == CUDA_SUCCESS ? (CUgraph)graph : NULL;
    if (result != CUDA_SUCCESS) driver_graph_free(graph);
    return result;
}

static CUstreamCaptureStatus capture_status(const struct driver_stream *stream)
{
    if (!stream->capture) return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->is_spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (!captureStatus) return CUDA_ERROR_INVALID_VALUE;
    *captureStatus = capture_status(stream);
    return driver_capture_legacy(stream);
}

static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *count)
{
    struct driver_stream *stream;
    CUresult result = driver_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    *status = capture_status(stream);
    if (!stream->capture) return CUDA_SUCCESS;
    const struct driver_member *member = member_of(stream);
    if (id) *id = stream->capture->id;
    if (graph) *graph = (CUgraph)stream->capture->graph;
    if (dependencies) *dependencies = (const CUgraphNode *)member->nodes;
    if (count) *count = member->count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,
                                   size_t *numDependencies_out)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (edgeData_out) *edgeData_out = NULL;
    return capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out, size_t *numDependencies_out)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
