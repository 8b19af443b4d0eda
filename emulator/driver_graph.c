/* SPDX-License-Identifier: Apache-2.0
 * Graphs: from a capture or node by node. An executable graph is a copy whose nodes are submitted to the
 * launching stream in an order that respects the edges (a random one with a seed). */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

struct driver_node *driver_graph_add(struct driver_graph *graph, struct driver_operation *operation,
                                     struct driver_node *const *dependencies, size_t count)
{
    struct driver_node *node = driver_object_create(DRIVER_NODE);
    struct driver_node **copy = malloc((count + 1) * sizeof *copy);
    if (graph->count == graph->capacity) {
        size_t capacity = graph->capacity ? graph->capacity * 2 : 16;
        struct driver_node **grown = realloc(graph->nodes, capacity * sizeof(struct driver_node *));
        if (grown) {
            graph->nodes = grown;
            graph->capacity = capacity;
        }
    }
    if (!node || !copy || graph->count == graph->capacity) {
        free(copy);
        driver_object_destroy(node);
        driver_operation_free(operation);
        return NULL;
    }
    if (count) memcpy(copy, dependencies, count * sizeof(struct driver_node *));
    node->graph = graph;
    node->operation = operation;
    node->dependencies = copy;
    node->dependency_count = count;
    graph->nodes[graph->count++] = node;
    return node;
}

void driver_graph_free(struct driver_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        driver_operation_free(graph->nodes[i]->operation);
        free(graph->nodes[i]->dependencies);
        driver_object_destroy(graph->nodes[i]);
    }
    free(graph->nodes);
    driver_object_destroy(graph);
}

/* A copy; nodes keep their places. */
static struct driver_graph *graph_copy(const struct driver_graph *graph, enum driver_kind kind)
{
    struct driver_graph *copy = driver_object_create(kind);
    for (size_t i = 0; i < graph->count; i++) graph->nodes[i]->mark = i;
    for (size_t i = 0; copy && i < graph->count; i++) {
        const struct driver_node *node = graph->nodes[i];
        struct driver_operation *operation = driver_operation_clone(node->operation);
        struct driver_node *twin =
            operation ? driver_graph_add(copy, operation, node->dependencies, node->dependency_count) : NULL;
        if (!twin) {
            driver_graph_free(copy);
            copy = NULL;
        }
    }
    for (size_t i = 0; copy && i < copy->count; i++)
        for (size_t j = 0; j < copy->nodes[i]->dependency_count; j++) {
            struct driver_node **edge = &copy->nodes[i]->dependencies[j];
            *edge = copy->nodes[(*edge)->mark];
        }
    return copy;
}

static bool node_is_free(const struct driver_node *node)
{
    if (node->mark) return false;
    for (size_t i = 0; i < node->dependency_count; i++)
        if (!node->dependencies[i]->mark) return false;
    return true;
}

/* The next node whose dependencies are marked, or NULL. */
static struct driver_node *graph_next(const struct driver_graph *graph)
{
    struct driver_node *chosen = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (!node_is_free(graph->nodes[i])) continue;
        if (!driver.options.seed) return graph->nodes[i];
        if (driver_random(++count) == 0) chosen = graph->nodes[i];
    }
    return chosen;
}

static CUresult graph_check(CUgraph handle)
{
    return driver_object_is(handle, DRIVER_GRAPH) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!phGraph || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *phGraph = driver_object_create(DRIVER_GRAPH);
    return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = graph_check(hGraph);
    if (result == CUDA_SUCCESS) driver_graph_free((struct driver_graph *)hGraph);
    return result;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!phGraphClone || graph_check(originalGraph) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    *phGraphClone = (CUgraph)graph_copy((struct driver_graph *)originalGraph, DRIVER_GRAPH);
    return *phGraphClone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult graph_instantiate(CUgraphExec *result, CUgraph handle)
{
    if (!result || graph_check(handle) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    *result = (CUgraphExec)graph_copy((struct driver_graph *)handle, DRIVER_EXEC);
    return *result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    return graph_instantiate(phGraphExec, hGraph);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                               char *logBuffer, size_t bufferSize)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (phErrorNode) *phErrorNode = NULL;
    if (logBuffer && bufferSize) *logBuffer = 0;
    return graph_instantiate(phGraphExec, hGraph);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    DRIVER_ENTER(DRIVER_USUAL);
    driver_is_per_thread = false;
    if (!instantiateParams) return CUDA_ERROR_INVALID_VALUE;
    if (instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = graph_instantiate(phGraphExec, hGraph);
    instantiateParams->hErrNode_out = NULL;
    instantiateParams->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!driver_object_is(hGraphExec, DRIVER_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    driver_graph_free((struct driver_graph *)hGraphExec); /* what was launched has its own copies */
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    return driver_object_is(hGraph, DRIVER_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Whether the modules of all its kernels are still loaded. */
static bool graph_has_code(const struct driver_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct driver_operation *operation = graph->nodes[i]->operation;
        if (operation->kind == OPERATION_KERNEL &&
            !driver_object_is(operation->launch.function, DRIVER_FUNCTION))
            return false;
    }
    return true;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    const struct driver_graph *graph = (struct driver_graph *)hGraph;
    if (!driver_object_is(graph, DRIVER_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) {
        driver_capture_spoil(stream->capture);
        return CUDA_ERROR_NOT_SUPPORTED; /* a graph inside a graph */
    }
    if (!graph_has_code(graph)) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t tag = driver_activity_tag();
    for (size_t i = 0; i < graph->count; i++) graph->nodes[i]->mark = 0;
    for (size_t i = 0; i < graph->count && result == CUDA_SUCCESS; i++) {
        struct driver_node *node = graph_next(graph);
        struct driver_operation *operation = driver_operation_clone(node->operation);
        if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
        node->mark = 1;
        operation->is_in_graph = true;
        if (operation->kind == OPERATION_KERNEL) operation->launch.tag = tag;
        result = driver_submit(stream, operation);
    }
    return result;
}

/* --- node by node --- */

static CUresult node_add(CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies, size_t count,
                         struct driver_operation *operation)
{
    struct driver_graph *graph = (struct driver_graph *)handle;
    bool is_right = result && graph_check(handle) == CUDA_SUCCESS && (dependencies || count == 0);
    for (size_t i = 0; is_right && i < count; i++)
        is_right = driver_object_is(dependencies[i], DRIVER_NODE) &&
                   ((struct driver_node *)dependencies[i])->graph == graph;
    if (!is_right) {
        driver_operation_free(operation);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    *result =
        (CUgraphNode)driver_graph_add(graph, operation, (struct driver_node *const *)dependencies, count);
    return *result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult node_launch(const CUDA_KERNEL_NODE_PARAMS *parameters, struct driver_operation **operation)
{
    if (!parameters) return CUDA_ERROR_INVALID_VALUE;
    struct driver_function *function =
        driver_function_of(parameters->func ? parameters->func : (CUfunction)parameters->kern);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const uint32_t grid[3] = {parameters->gridDimX, parameters->gridDimY, parameters->gridDimZ};
    const uint32_t block[3] = {parameters->blockDimX, parameters->blockDimY, parameters->blockDimZ};
    return driver_launch_create(operation, function, grid, block, parameters->sharedMemBytes,
                                parameters->kernelParams, parameters->extra);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_operation *operation;
    CUresult result = node_launch(nodeParams, &operation);
    return result == CUDA_SUCCESS ? node_add(phGraphNode, hGraph, dependencies, numDependencies, operation)
                                  : result;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_USUAL);
    (void)ctx;
    struct driver_copy copy;
    struct driver_operation *operation;
    CUresult result = driver_copy_from_3d(copyParams, &copy);
    if (result == CUDA_SUCCESS) result = driver_copy_create(&operation, copy);
    if (result != CUDA_SUCCESS) return result;
    if (!operation) operation = driver_operation_create(OPERATION_EMPTY);
    return node_add(phGraphNode, hGraph, dependencies, numDependencies, operation);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                              CUcontext ctx)
{
    DRIVER_ENTER(DRIVER_USUAL);
    (void)ctx;
    if (!memsetParams) return CUDA_ERROR_INVALID_VALUE;
    struct driver_operation *operation;
    struct driver_fill fill = {memsetParams->dst,   memsetParams->value,  memsetParams->elementSize,
                               memsetParams->width, memsetParams->height, memsetParams->pitch};
    CUresult result = driver_fill_create(&operation, fill);
    if (result != CUDA_SUCCESS) return result;
    if (!operation) operation = driver_operation_create(OPERATION_EMPTY);
    return node_add(phGraphNode, hGraph, dependencies, numDependencies, operation);
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!nodeParams || !nodeParams->fn) return CUDA_ERROR_INVALID_VALUE;
    struct driver_operation *operation = driver_operation_create(OPERATION_HOST);
    if (operation)
        operation->host = (struct driver_callback){.function = nodeParams->fn, .data = nodeParams->userData};
    return node_add(phGraphNode, hGraph, dependencies, numDependencies, operation);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                             size_t numDependencies)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return node_add(phGraphNode, hGraph, dependencies, numDependencies,
                    driver_operation_create(OPERATION_EMPTY));
}

/* The node of an executable graph that a graph's node became: the one in the same place. */
static struct driver_node *exec_node(CUgraphExec handle, CUgraphNode node_handle)
{
    const struct driver_graph *exec = (struct driver_graph *)handle;
    const struct driver_node *node = (struct driver_node *)node_handle;
    if (!driver_object_is(exec, DRIVER_EXEC) || !driver_object_is(node, DRIVER_NODE)) return NULL;
    for (size_t i = 0; i < node->graph->count && i < exec->count; i++)
        if (node->graph->nodes[i] == node) return exec->nodes[i];
    return NULL;
}

static CUresult node_set_launch(struct driver_node *node, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    struct driver_operation *operation;
    if (!node || node->operation->kind != OPERATION_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = node_launch(parameters, &operation);
    if (result != CUDA_SUCCESS) return result;
    driver_operation_free(node->operation);
    node->operation = operation;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_node *node = driver_object_is(hNode, DRIVER_NODE) ? (struct driver_node *)hNode : NULL;
    return node_set_launch(node, nodeParams);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return node_set_launch(exec_node(hGraphExec, hNode), nodeParams);
}

static CUresult graph_list(CUgraph handle, CUgraphNode *nodes, size_t *count, bool only_roots)
{
    if (!count || graph_check(handle) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    const struct driver_graph *graph = (struct driver_graph *)handle;
    size_t found = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (only_roots && graph->nodes[i]->dependency_count) continue;
        if (nodes && found < *count) nodes[found] = (CUgraphNode)graph->nodes[i];
        found++;
    }
    for (size_t i = found; nodes && i < *count; i++) nodes[i] = NULL;
    *count = nodes && *count < found ? *count : found;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return graph_list(hGraph, nodes, numNodes, false);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return graph_list(hGraph, rootNodes, numRootNodes, true);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!type || !driver_object_is(hNode, DRIVER_NODE)) return CUDA_ERROR_INVALID_VALUE;
    switch (((struct driver_node *)hNode)->operation->kind) {
    case OPERATION_KERNEL:
        *type = CU_GRAPH_NODE_TYPE_KERNEL;
        break;
    case OPERATION_COPY:
        *type = CU_GRAPH_NODE_TYPE_MEMCPY;
        break;
    case OPERATION_FILL:
        *type = CU_GRAPH_NODE_TYPE_MEMSET;
        break;
    case OPERATION_HOST:
        *type = CU_GRAPH_NODE_TYPE_HOST;
        break;
    case OPERATION_FREE:
        *type = CU_GRAPH_NODE_TYPE_MEM_FREE;
        break;
    case OPERATION_EVENT:
        *type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        break;
    case OPERATION_WRITE_VALUE:
    case OPERATION_WAIT_VALUE:
        *type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
        break;
    case OPERATION_EMPTY:
        *type = CU_GRAPH_NODE_TYPE_EMPTY;
        break;
    }
    return CUDA_SUCCESS;
}
