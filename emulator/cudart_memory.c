/* SPDX-License-Identifier: Apache-2.0
 * Allocating, freeing, and asking what a pointer is. */
#include "emulator/cudart.h"

#include <stdint.h>
#include <string.h>

CUDART_EXPORT cudaError_t cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t hStream);
CUDART_EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, cudaMemPool_t memPool,
                                                       cudaStream_t stream);

/* An allocation of no bytes is a NULL pointer, which the driver would refuse. */
#define ALLOCATE(pointer, size, call)                                                                        \
    do {                                                                                                     \
        if (!(pointer)) return cudart_return(cudaErrorInvalidValue);                                         \
        cudaError_t error = cudart_enter();                                                                  \
        if (error != cudaSuccess) return cudart_return(error);                                               \
        *(pointer) = NULL;                                                                                   \
        if ((size) == 0) return cudaSuccess;                                                                 \
        return cudart_return((cudaError_t)cudart_driver.call);                                               \
    } while (0)

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    ALLOCATE(devPtr, size, MemAlloc((CUdeviceptr *)devPtr, size));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    ALLOCATE(ptr, size, MemAllocHost(ptr, size));
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    ALLOCATE(pHost, size, MemHostAlloc(pHost, size, flags));
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    ALLOCATE(devPtr, size, MemAllocAsync((CUdeviceptr *)devPtr, size, hStream));
}

cudaError_t cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t hStream)
{
    ALLOCATE(devPtr, size, MemAllocAsync((CUdeviceptr *)devPtr, size, cudart_thread_stream(hStream)));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    ALLOCATE(ptr, size, MemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, stream));
}

cudaError_t cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    ALLOCATE(ptr, size,
             MemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, cudart_thread_stream(stream)));
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    if (size == 0) return cudart_return(cudaErrorInvalidValue);
    ALLOCATE(devPtr, size, MemAllocManaged((CUdeviceptr *)devPtr, size, flags));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    if (!pitch) return cudart_return(cudaErrorInvalidValue);
    *pitch = 0;
    ALLOCATE(devPtr, width * height, MemAllocPitch((CUdeviceptr *)devPtr, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    if (!pitchedDevPtr) return cudart_return(cudaErrorInvalidValue);
    *pitchedDevPtr = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    size_t rows = extent.height * extent.depth;
    ALLOCATE(&pitchedDevPtr->ptr, extent.width * rows,
             MemAllocPitch((CUdeviceptr *)&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, rows, 4));
}

cudaError_t cudaFree(void *devPtr)
{
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess || !devPtr) return cudart_return(error);
    return cudart_return((cudaError_t)cudart_driver.MemFree((CUdeviceptr)devPtr));
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess || !ptr) return cudart_return(error);
    return cudart_return((cudaError_t)cudart_driver.MemFreeHost(ptr));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    if (!attributes) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess) return cudart_return(error);
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    CUmemorytype type = 0;
    unsigned is_managed = 0;
    int device = cudaInvalidDeviceId;
    CUdeviceptr device_pointer = 0;
    void *host_pointer = NULL;
    void *answers[] = {&type, &is_managed, &device, &device_pointer, &host_pointer};
    error = (cudaError_t)cudart_driver.PointerGetAttributes(sizeof asked / sizeof *asked, asked, answers,
                                                            (CUdeviceptr)ptr);
    if (error != cudaSuccess) return cudart_return(error);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = is_managed                     ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                      : cudaMemoryTypeUnregistered;
    bool is_known = attributes->type != cudaMemoryTypeUnregistered;
    attributes->device = is_known ? device : cudaInvalidDeviceId;
    attributes->devicePointer = (void *)(uintptr_t)device_pointer;
    attributes->hostPointer = is_known ? host_pointer : (void *)ptr;
    return cudaSuccess;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}
