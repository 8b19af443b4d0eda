/* SPDX-License-Identifier: Apache-2.0
 * The fake driver's graphs of kernels, its library kernels, and what it says of streams. A graph is launched as one line and then
 * its kernels' lines. */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/fake_driver.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define OWN(symbol) extern __typeof__(symbol) own_##symbol
OWN(cuCtxGetCurrent);
OWN(cuFuncGetAttribute);
OWN(cuFuncGetModule);
OWN(cuFuncGetName);
OWN(cuFuncGetParamInfo);
OWN(cuLaunchKernel);
OWN(cuModuleGetFunction);
OWN(cuModuleLoadData);

enum { NODES = 64, HANDLES = 256, ARGUMENTS = 4096 };
struct node {
    CUDA_KERNEL_NODE_PARAMS parameters;
    unsigned char arguments[ARGUMENTS];
    size_t size;
    struct graph *graph;
    unsigned index;
};
struct graph { /* or an executable one */
    unsigned count;
    struct node nodes[NODES];
};
static struct {
    int failures[FAKE_GRAPH_CALLS];
    unsigned alive;
    CUkernel kernels[HANDLES];
    unsigned kernel_count;
    struct {
        CUstream stream;
        int priority;
        CUcontext context;
    } streams[HANDLES];
    unsigned stream_count;
} fake;

EXPORT void fake_fail_graphs(enum fake_graph_call call, int result)
{
    fake.failures[call] = result;
}

EXPORT unsigned fake_graphs(void)
{
    return fake.alive;
}

/* --- graphs --- */

static __thread CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other)
{
    CUstreamCaptureMode before = mode;
    mode = *other;
    *other = before;
    return CUDA_SUCCESS;
}

/* In another mode a capture of any thread would be over. */
static void meet_capture(void)
{
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) fake_log("a capture is spoiled");
}

static bool is_library_kernel(const void *handle)
{
    for (unsigned i = 0; i < fake.kernel_count; i++)
        if (fake.kernels[i] == handle) return true;
    return false;
}

static CUresult set(struct node *node, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    if (parameters->func ? is_library_kernel(parameters->func) : !is_library_kernel(parameters->kern))
        return CUDA_ERROR_INVALID_HANDLE;
    if (parameters->kernelParams) return CUDA_ERROR_NOT_SUPPORTED;
    node->parameters = *parameters;
    node->parameters.extra = NULL;
    node->size = 0;
    for (void **extra = parameters->extra; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) node->size = *(size_t *)extra[1];
    if (node->size > ARGUMENTS) return CUDA_ERROR_INVALID_VALUE;
    for (void **extra = parameters->extra; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) memcpy(node->arguments, extra[1], node->size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
    (void)flags;
    if (fake.failures[FAKE_GRAPH_CREATE]) return (CUresult)fake.failures[FAKE_GRAPH_CREATE];
    *graph = calloc(1, sizeof(struct graph));
    fake.alive++;
    return CUDA_SUCCESS;
}

/* Each node stands behind the one before. */
EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies,
                                        size_t count, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    struct graph *graph = (struct graph *)handle;
    if (fake.failures[FAKE_GRAPH_ADD]) return (CUresult)fake.failures[FAKE_GRAPH_ADD];
    if (graph->count == NODES || count != (graph->count > 0)) return CUDA_ERROR_INVALID_VALUE;
    struct node *node = &graph->nodes[graph->count];
    if (count && dependencies[0] != (CUgraphNode)(node - 1)) return CUDA_ERROR_INVALID_VALUE;
    node->index = graph->count;
    CUresult is_set = set(node, parameters);
    if (is_set != CUDA_SUCCESS) return is_set;
    graph->count++;
    *result = (CUgraphNode)node;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    meet_capture();
    if (fake.failures[FAKE_GRAPH_INSTANTIATE]) return (CUresult)fake.failures[FAKE_GRAPH_INSTANTIATE];
    struct graph *copy = malloc(sizeof *copy);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *(struct graph *)graph;
    *result = (CUgraphExec)copy;
    fake.alive++;
    fake_log("cuGraphInstantiateWithFlags %u", copy->count);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    unsigned index = ((struct node *)node)->index;
    if (fake.failures[FAKE_GRAPH_UPDATE]) return (CUresult)fake.failures[FAKE_GRAPH_UPDATE];
    fake_log("cuGraphExecKernelNodeSetParams_v2 %u", index);
    return set(&((struct graph *)executable)->nodes[index], parameters);
}

static void launch(struct node *node, CUstream stream)
{
    const CUDA_KERNEL_NODE_PARAMS *is = &node->parameters;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, node->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &node->size, CU_LAUNCH_PARAM_END};
    own_cuLaunchKernel(is->func ? is->func : (CUfunction)is->kern, is->gridDimX, is->gridDimY, is->gridDimZ,
                       is->blockDimX, is->blockDimY, is->blockDimZ, is->sharedMemBytes, stream, NULL, extra);
}

EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    CUcontext current = NULL;
    struct graph *graph = (struct graph *)executable;
    if (own_cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return CUDA_ERROR_INVALID_CONTEXT;
    fake_log("%sgraph %u %lx", fake.failures[FAKE_GRAPH_LAUNCH] ? "failed " : "", graph->count,
             (unsigned long)stream);
    if (fake.failures[FAKE_GRAPH_LAUNCH]) return (CUresult)fake.failures[FAKE_GRAPH_LAUNCH];
    for (unsigned i = 0; i < graph->count; i++) launch(&graph->nodes[i], stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable)
{
    meet_capture();
    free(executable);
    fake.alive--;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    free(graph);
    fake.alive--;
    return CUDA_SUCCESS;
}

/* --- library kernels: functions of their own --- */

EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values,
                                  unsigned count, CUlibraryOption *library_options, void **library_values,
                                  unsigned library_count)
{
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values,
        (void)library_count;
    return own_cuModuleLoadData((CUmodule *)library, image);
}

EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    if (fake.kernel_count == HANDLES) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = own_cuModuleGetFunction((CUfunction *)kernel, (CUmodule)library, name);
    fake.kernels[fake.kernel_count++] = *kernel;
    return result;
}

EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    return is_library_kernel(kernel) ? own_cuFuncGetName(name, (CUfunction)kernel)
                                     : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    CUmodule module;
    const char *name;
    if (!is_library_kernel(kernel) || own_cuFuncGetName(&name, (CUfunction)kernel) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_HANDLE;
    own_cuFuncGetModule(&module, (CUfunction)kernel);
    return own_cuModuleGetFunction(function, module, name);
}

EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                     CUdevice device)
{
    (void)device;
    return own_cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return own_cuFuncGetParamInfo((CUfunction)kernel, index, offset, size);
}

/* --- streams --- */

EXPORT void fake_set_stream(void *stream, int priority, void *context)
{
    fake.streams[fake.stream_count].stream = stream;
    fake.streams[fake.stream_count].priority = priority;
    fake.streams[fake.stream_count++ % HANDLES].context = context;
}

EXPORT CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    *priority = 0;
    for (unsigned i = 0; i < fake.stream_count; i++)
        if (fake.streams[i].stream == stream) *priority = fake.streams[i].priority;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    own_cuCtxGetCurrent(context);
    for (unsigned i = 0; i < fake.stream_count; i++)
        if (fake.streams[i].stream == stream && fake.streams[i].context) *context = fake.streams[i].context;
    return CUDA_SUCCESS;
}
