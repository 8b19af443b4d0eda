/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of allocations and mappings. A free forgets its range before the driver's call: afterwards another
 * thread may be given the same address. An allocation that fails for want of device memory is tried again
 * when this library has given back its own. */
#include "interpose/hook.h"
#include "interpose/queue.h"

static bool may_retry(CUresult result)
{
    return result == CUDA_ERROR_OUT_OF_MEMORY && queue_give_back();
}
#define TAKE(call) ((result = (call)), may_retry(result) ? (result = (call)) : result)

static CUresult allocated(CUresult result, const CUdeviceptr *address, size_t size,
                          enum trace_memory_kind kind, CUstream stream)
{
    if (result != CUDA_SUCCESS || !address) return result;
    track_memory_add(*address, size, kind);
    record_allocate(*address, size, kind, stream);
    replay_service();
    return result;
}

HOOK(cuMemAlloc_v2, CUdeviceptr *address, size_t size)
{
    CUresult result;
    shim_enter();
    TAKE(REAL(cuMemAlloc_v2)(address, size));
    return allocated(result, address, size, TRACE_MEMORY_DEVICE, NULL);
}

HOOK(cuMemAllocPitch_v2, CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    CUresult result;
    shim_enter();
    TAKE(REAL(cuMemAllocPitch_v2)(address, pitch, width, height, element));
    return allocated(result, address, result == CUDA_SUCCESS ? *pitch * height : 0, TRACE_MEMORY_DEVICE,
                     NULL);
}

HOOK(cuMemAllocManaged, CUdeviceptr *address, size_t size, unsigned flags)
{
    queue_end_through("the program allocates managed memory, which the host sees without a call");
    CUresult result;
    shim_enter();
    TAKE(REAL(cuMemAllocManaged)(address, size, flags));
    return allocated(result, address, size, TRACE_MEMORY_MANAGED, NULL);
}

HOOK(cuMemAllocHost_v2, void **address, size_t size)
{
    shim_enter();
    return allocated(REAL(cuMemAllocHost_v2)(address, size), (CUdeviceptr *)address, size, TRACE_MEMORY_HOST,
                     NULL);
}

HOOK(cuMemHostAlloc, void **address, size_t size, unsigned flags)
{
    shim_enter();
    return allocated(REAL(cuMemHostAlloc)(address, size, flags), (CUdeviceptr *)address, size,
                     TRACE_MEMORY_HOST, NULL);
}

HOOK(cuMemHostRegister_v2, void *address, size_t size, unsigned flags)
{
    CUdeviceptr start = (CUdeviceptr)address;
    shim_enter();
    return allocated(REAL(cuMemHostRegister_v2)(address, size, flags), &start, size, TRACE_MEMORY_HOST, NULL);
}

HOOK(cuMemMap, CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
     unsigned long long flags)
{
    shim_enter();
    return allocated(REAL(cuMemMap)(address, size, offset, handle, flags), &address, size,
                     TRACE_MEMORY_MAPPED, NULL);
}

/* Mappings whose size only the driver knows. */
static CUresult mapped(CUresult result, const CUdeviceptr *address)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    if (result == CUDA_SUCCESS && address &&
        REAL(cuMemGetAddressRange_v2)(&base, &size, *address) == CUDA_SUCCESS)
        allocated(result, &base, size, TRACE_MEMORY_MAPPED, NULL);
    return result;
}

HOOK(cuIpcOpenMemHandle, CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    shim_enter();
    return mapped(REAL(cuIpcOpenMemHandle)(address, handle, flags), address);
}

HOOK(cuIpcOpenMemHandle_v2, CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    shim_enter();
    return mapped(REAL(cuIpcOpenMemHandle_v2)(address, handle, flags), address);
}

HOOK(cuMemPoolImportPointer, CUdeviceptr *address, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
    shim_enter();
    return mapped(REAL(cuMemPoolImportPointer)(address, pool, data), address);
}

HOOK(cuExternalMemoryGetMappedBuffer, CUdeviceptr *address, CUexternalMemory memory,
     const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description)
{
    shim_enter();
    CUresult result = REAL(cuExternalMemoryGetMappedBuffer)(address, memory, description);
    return allocated(result, address, result == CUDA_SUCCESS ? description->size : 0, TRACE_MEMORY_MAPPED,
                     NULL);
}

#define ALLOCATE_ASYNC(symbol, arguments, ...)                                                               \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        queue_end_through("the program allocates memory of a pool, which may be one that the host sees");    \
        CUresult result;                                                                                     \
        shim_enter_flush();                                                                                  \
        GATE;                                                                                                \
        TAKE(REAL(symbol) arguments);                                                                        \
        return allocated(result, address, size, TRACE_MEMORY_ASYNC, hook_stream(#symbol, stream));           \
    }
ALLOCATE_ASYNC(cuMemAllocAsync, (address, size, stream), CUdeviceptr *address, size_t size, CUstream stream)
ALLOCATE_ASYNC(cuMemAllocAsync_ptsz, (address, size, stream), CUdeviceptr *address, size_t size,
               CUstream stream)
ALLOCATE_ASYNC(cuMemAllocFromPoolAsync, (address, size, pool, stream), CUdeviceptr *address, size_t size,
               CUmemoryPool pool, CUstream stream)
ALLOCATE_ASYNC(cuMemAllocFromPoolAsync_ptsz, (address, size, pool, stream), CUdeviceptr *address, size_t size,
               CUmemoryPool pool, CUstream stream)

#define FREE(symbol, from, stream, arguments, ...)                                                           \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        struct track_range range;                                                                            \
        shim_enter_free((uint64_t)(from), hook_stream(#symbol, stream));                                     \
        GATE;                                                                                                \
        bool is_known = track_memory_remove((uint64_t)(from), &range);                                       \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (is_known && result == CUDA_SUCCESS)                                                              \
            record_free((CUdeviceptr)(from), hook_stream(#symbol, stream));                                  \
        if (is_known && result != CUDA_SUCCESS) track_memory_add(range.start, range.size, range.kind);       \
        return shim_result(result);                                                                          \
    }
FREE(cuMemFree_v2, address, NULL, (address), CUdeviceptr address)
FREE(cuMemFreeHost, (uintptr_t)address, NULL, (address), void *address)
FREE(cuMemHostUnregister, (uintptr_t)address, NULL, (address), void *address)
FREE(cuMemUnmap, address, NULL, (address, size), CUdeviceptr address, size_t size)
FREE(cuIpcCloseMemHandle, address, NULL, (address), CUdeviceptr address)
FREE(cuMemFreeAsync, address, stream, (address, stream), CUdeviceptr address, CUstream stream)
FREE(cuMemFreeAsync_ptsz, address, stream, (address, stream), CUdeviceptr address, CUstream stream)

/* --- device memory that has no address of its own --- */

#define ALLOCATE(symbol, arguments, ...)                                                                     \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        CUresult result;                                                                                     \
        shim_enter();                                                                                        \
        return TAKE(REAL(symbol) arguments);                                                                 \
    }
ALLOCATE(cuMemCreate, (handle, size, properties, flags), CUmemGenericAllocationHandle *handle, size_t size,
         const CUmemAllocationProp *properties, unsigned long long flags)
ALLOCATE(cuArrayCreate_v2, (array, description), CUarray *array, const CUDA_ARRAY_DESCRIPTOR *description)
ALLOCATE(cuArray3DCreate_v2, (array, description), CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *description)
ALLOCATE(cuMipmappedArrayCreate, (array, description, levels), CUmipmappedArray *array,
         const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned levels)

/* What this library would give back is free. */
HOOK(cuMemGetInfo_v2, size_t *left, size_t *total)
{
    shim_enter();
    CUresult result = REAL(cuMemGetInfo_v2)(left, total);
    if (result == CUDA_SUCCESS && left) *left += queue_own_bytes();
    return result;
}
