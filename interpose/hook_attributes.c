/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of calls that set what kernels and streams are like: kernels in a graph stay as they were when it was made. */
#include "interpose/hook.h"
#include "interpose/queue.h"

static void enter(const char *symbol)
{
    shim_enter_flush();
    record_wall(symbol, NULL, true);
}

/* Libraries set the same again before each launch. */
HOOK(cuFuncSetAttribute, CUfunction function, CUfunction_attribute attribute, int value)
{
    int before;
    enter("cuFuncSetAttribute");
    GATE;
    bool is_known = REAL(cuFuncGetAttribute)(&before, attribute, function) == CUDA_SUCCESS;
    if (!is_known || before != value) queue_forget_chains();
    return REAL(cuFuncSetAttribute)(function, attribute, value);
}

HOOK(cuKernelSetAttribute, CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    int before;
    enter("cuKernelSetAttribute");
    GATE;
    bool is_known = REAL(cuKernelGetAttribute)(&before, attribute, kernel, device) == CUDA_SUCCESS;
    if (!is_known || before != value) queue_forget_chains();
    return REAL(cuKernelSetAttribute)(attribute, value, kernel, device);
}

/* Such as the stack's size. */
HOOK(cuCtxSetLimit, CUlimit limit, size_t value)
{
    enter("cuCtxSetLimit");
    GATE;
    queue_forget_chains();
    return REAL(cuCtxSetLimit)(limit, value);
}

#define STREAM_SET(symbol)                                                                                   \
    HOOK(symbol, CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value)                  \
    {                                                                                                        \
        enter(#symbol);                                                                                      \
        GATE;                                                                                                \
        if (attribute != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)                                         \
            queue_end_chains("a stream has attributes that kernels in a graph would not have");              \
        return REAL(symbol)(stream, attribute, value);                                                       \
    }
STREAM_SET(cuStreamSetAttribute)
STREAM_SET(cuStreamSetAttribute_ptsz)

#define STREAM_COPY(symbol)                                                                                  \
    HOOK(symbol, CUstream to, CUstream from)                                                                 \
    {                                                                                                        \
        enter(#symbol);                                                                                      \
        GATE;                                                                                                \
        queue_forget_chains();                                                                               \
        return REAL(symbol)(to, from);                                                                       \
    }
STREAM_COPY(cuStreamCopyAttributes)
STREAM_COPY(cuStreamCopyAttributes_ptsz)
