/* SPDX-License-Identifier: Apache-2.0
 * Copies and sets of linear memory, in one to three dimensions. All addresses are of one space, so every form
 * of copy comes down to one. A source in pageable host memory is read at the call; a destination there is
 * written before the call returns. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from the first to the last one that rows, slices and pitches touch. */
static size_t copy_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

static CUresult copy_check(struct driver_copy *copy)
{
    bool source_is_host, destination_is_host;
    if (copy->height > 1 && (copy->source_pitch < copy->width || copy->destination_pitch < copy->width))
        return CUDA_ERROR_INVALID_VALUE;
    size_t from = copy_extent(copy->width, copy->height, copy->depth, copy->source_pitch, copy->source_slice);
    size_t to =
        copy_extent(copy->width, copy->height, copy->depth, copy->destination_pitch, copy->destination_slice);
    CUresult result = driver_memory_check(copy->source, from, &copy->source_is_pageable, &source_is_host);
    if (result == CUDA_SUCCESS)
        result =
            driver_memory_check(copy->destination, to, &copy->destination_is_pageable, &destination_is_host);
    if (result != CUDA_SUCCESS) return result;
    copy->kind = copy->source_is_pageable || copy->destination_is_pageable ? EMU_COPY_PAGEABLE
                 : source_is_host || destination_is_host                   ? EMU_COPY_HOST
                                                                           : EMU_COPY_DEVICE;
    return CUDA_SUCCESS;
}

CUresult driver_copy_create(struct driver_operation **result, struct driver_copy copy)
{
    *result = NULL;
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return CUDA_SUCCESS;
    CUresult error = copy_check(&copy);
    if (error != CUDA_SUCCESS) return error;
    *result = driver_operation_create(OPERATION_COPY);
    if (!*result) return CUDA_ERROR_OUT_OF_MEMORY;
    (*result)->copy = copy;
    return CUDA_SUCCESS;
}

/* Takes the bytes of a pageable source. */
static bool copy_stage(struct driver_operation *operation)
{
    const struct driver_copy *copy = &operation->copy;
    operation->byte_count = copy->width * copy->height * copy->depth;
    unsigned char *bytes = operation->bytes = malloc(operation->byte_count);
    for (size_t z = 0; bytes && z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++, bytes += copy->width)
            memcpy(bytes, (unsigned char *)copy->source + z * copy->source_slice + y * copy->source_pitch,
                   copy->width);
    return operation->bytes != NULL;
}

static CUresult copy_submit(struct driver_copy copy, CUstream handle, bool is_async)
{
    struct driver_stream *stream;
    struct driver_operation *operation;
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS) result = driver_copy_create(&operation, copy);
    if (result != CUDA_SUCCESS || !operation) return result;
    if (stream->capture && is_async) return driver_submit(stream, operation);
    if (!is_async || operation->copy.destination_is_pageable)
        return driver_submit_and_wait(stream, operation);
    if (operation->copy.source_is_pageable && driver.options.seed && !copy_stage(operation)) {
        driver_operation_free(operation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return driver_submit(stream, operation);
}

static CUresult copy_linear(uint64_t destination, uint64_t source, size_t size, CUstream stream,
                            bool is_async)
{
    return copy_submit(
        (struct driver_copy){
            .destination = destination, .source = source, .width = size, .height = 1, .depth = 1},
        stream, is_async);
}

/* A call that waits, or one that doesn't. */
#define COPY_NOW(destination, source, size)                                                                  \
    do {                                                                                                     \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return copy_linear((uint64_t)(destination), (uint64_t)(source), size, NULL, false);                  \
    } while (0)
#define COPY_LATER(destination, source, size, stream)                                                        \
    do {                                                                                                     \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return copy_linear((uint64_t)(destination), (uint64_t)(source), size, stream, true);                 \
    } while (0)

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    COPY_NOW(dst, src, ByteCount);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    COPY_NOW(dstDevice, srcHost, ByteCount);
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    COPY_NOW(dstHost, srcDevice, ByteCount);
}

/* Between device memory the host does not wait. */
CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    COPY_LATER(dstDevice, srcDevice, ByteCount, NULL);
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount)
{
    (void)dstContext, (void)srcContext;
    COPY_LATER(dstDevice, srcDevice, ByteCount, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    COPY_LATER(dst, src, ByteCount, hStream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    COPY_LATER(dstDevice, srcHost, ByteCount, hStream);
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    COPY_LATER(dstHost, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream)
{
    COPY_LATER(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    (void)dstContext, (void)srcContext;
    COPY_LATER(dstDevice, srcDevice, ByteCount, hStream);
}

/* --- two and three dimensions
 * ---------------------------------------------------------------------------------------- */

static uint64_t copy_side(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_HOST ? (uint64_t)host : device;
}

CUresult driver_copy_from_3d(const CUDA_MEMCPY3D *description, struct driver_copy *copy)
{
    const CUDA_MEMCPY3D *d = description;
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    if (d->srcMemoryType == CU_MEMORYTYPE_ARRAY || d->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    *copy = (struct driver_copy){.width = d->WidthInBytes, .height = d->Height, .depth = d->Depth};
    copy->source_pitch = d->srcPitch ? d->srcPitch : d->WidthInBytes;
    copy->destination_pitch = d->dstPitch ? d->dstPitch : d->WidthInBytes;
    copy->source_slice = copy->source_pitch * (d->srcHeight ? d->srcHeight : d->Height);
    copy->destination_slice = copy->destination_pitch * (d->dstHeight ? d->dstHeight : d->Height);
    copy->source = copy_side(d->srcMemoryType, d->srcHost, d->srcDevice) + d->srcXInBytes +
                   d->srcY * copy->source_pitch + d->srcZ * copy->source_slice;
    copy->destination = copy_side(d->dstMemoryType, d->dstHost, d->dstDevice) + d->dstXInBytes +
                        d->dstY * copy->destination_pitch + d->dstZ * copy->destination_slice;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *description, CUstream stream, bool is_async)
{
    struct driver_copy copy;
    CUresult result = driver_copy_from_3d(description, &copy);
    if (result != CUDA_SUCCESS) driver_is_per_thread = false;
    return result == CUDA_SUCCESS ? copy_submit(copy, stream, is_async) : result;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *description, CUstream stream, bool is_async)
{
    const CUDA_MEMCPY2D *d = description;
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole = {.srcXInBytes = d->srcXInBytes,
                           .srcY = d->srcY,
                           .srcMemoryType = d->srcMemoryType,
                           .srcHost = d->srcHost,
                           .srcDevice = d->srcDevice,
                           .srcPitch = d->srcPitch,
                           .dstXInBytes = d->dstXInBytes,
                           .dstY = d->dstY,
                           .dstMemoryType = d->dstMemoryType,
                           .dstHost = d->dstHost,
                           .dstDevice = d->dstDevice,
                           .dstPitch = d->dstPitch,
                           .WidthInBytes = d->WidthInBytes,
                           .Height = d->Height,
                           .Depth = 1};
    return copy_3d(&whole, stream, is_async);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *description, CUstream stream, bool is_async)
{
    const CUDA_MEMCPY3D_PEER *d = description;
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole = {.srcXInBytes = d->srcXInBytes,
                           .srcY = d->srcY,
                           .srcZ = d->srcZ,
                           .srcMemoryType = d->srcMemoryType,
                           .srcHost = d->srcHost,
                           .srcDevice = d->srcDevice,
                           .srcPitch = d->srcPitch,
                           .srcHeight = d->srcHeight,
                           .dstXInBytes = d->dstXInBytes,
                           .dstY = d->dstY,
                           .dstZ = d->dstZ,
                           .dstMemoryType = d->dstMemoryType,
                           .dstHost = d->dstHost,
                           .dstDevice = d->dstDevice,
                           .dstPitch = d->dstPitch,
                           .dstHeight = d->dstHeight,
                           .WidthInBytes = d->WidthInBytes,
                           .Height = d->Height,
                           .Depth = d->Depth};
    return copy_3d(&whole, stream, is_async);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return copy_2d(pCopy, NULL, false);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return copy_2d(pCopy, hStream, true);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return copy_3d(pCopy, NULL, false);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return copy_3d(pCopy, hStream, true);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return copy_3d_peer(pCopy, NULL, false);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return copy_3d_peer(pCopy, hStream, true);
}
