/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of calls after which others than the default stream of this context may look at device memory, or
 * write it: other streams, processes, devices, network cards. Nothing may be left stale from then on. */
#include "interpose/hook.h"
#include "interpose/queue.h"
#include "interpose/verify.h"

/* Held launches may pass the call; what is pending is materialised. */
#define LEND(symbol, reason, arguments, ...)                                                                 \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter();                                                                                        \
        queue_defer_nothing(reason);                                                                         \
        return REAL(symbol) arguments;                                                                       \
    }
#define SHARE(symbol, arguments, ...)                                                                        \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter();                                                                                        \
        queue_defer_nothing("the program shares device memory with others");                                 \
        shim_enter_flush();                                                                                  \
        record_wall(#symbol, NULL, true);                                                                    \
        GATE;                                                                                                \
        if (shim_has_attention(ATTENTION_VERIFY)) verify_notice(ENTRY_##symbol);                             \
        return REAL(symbol) arguments;                                                                       \
    }

#define STREAM(symbol, arguments, ...)                                                                       \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        shim_enter();                                                                                        \
        queue_meet_streams();                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result == CUDA_SUCCESS) queue_new_stream(*stream);                                               \
        return result;                                                                                       \
    }
STREAM(cuStreamCreate, (stream, flags), CUstream *stream, unsigned flags)
STREAM(cuStreamCreateWithPriority, (stream, flags, priority), CUstream *stream, unsigned flags, int priority)
STREAM(cuGreenCtxStreamCreate, (stream, context, flags, priority), CUstream *stream, CUgreenCtx context,
       unsigned flags, int priority)

#define LOOKED_UP "the program looks up what a pointer points to, as libraries do that pass it on"
LEND(cuPointerGetAttribute, LOOKED_UP, (data, attribute, address), void *data, CUpointer_attribute attribute,
     CUdeviceptr address)
LEND(cuPointerGetAttributes, LOOKED_UP, (count, attributes, data, address), unsigned count,
     CUpointer_attribute *attributes, void **data, CUdeviceptr address)

SHARE(cuPointerSetAttribute, (value, attribute, address), const void *value, CUpointer_attribute attribute,
      CUdeviceptr address)
SHARE(cuIpcGetMemHandle, (handle, address), CUipcMemHandle *handle, CUdeviceptr address)
SHARE(cuIpcOpenEventHandle, (event, handle), CUevent *event, CUipcEventHandle handle)
SHARE(cuMemGetHandleForAddressRange, (handle, address, size, type, flags), void *handle, CUdeviceptr address,
      size_t size, CUmemRangeHandleType type, unsigned long long flags)
SHARE(cuCtxEnablePeerAccess, (context, flags), CUcontext context, unsigned flags)
