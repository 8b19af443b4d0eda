/* SPDX-License-Identifier: Apache-2.0
 * Copies and sets of linear memory, in one to three dimensions. All addresses are of one space, so every form
 * of copy comes down to one. A source in pageable host memory is read at the call; a destination there is
 * written before the call returns. Who waits for what: "API synchronization behavior" in the driver API's
 * manual. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

size_t driver_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    size_t rows, slices, extent;
    if (__builtin_mul_overflow(height - 1, pitch, &rows) ||
        __builtin_mul_overflow(depth - 1, slice, &slices) || __builtin_add_overflow(rows, slices, &extent) ||
        __builtin_add_overflow(extent, width, &extent))
        return SIZE_MAX;
    return extent;
}

static CUresult copy_check(struct driver_copy *copy)
{
    struct driver_place source, destination;
    if (copy->height > 1 && (copy->source_pitch < copy->width || copy->destination_pitch < copy->width))
        return CUDA_ERROR_INVALID_VALUE;
    size_t from =
        driver_extent(copy->width, copy->height, copy->depth, copy->source_pitch, copy->source_slice);
    size_t to = driver_extent(copy->width, copy->height, copy->depth, copy->destination_pitch,
                              copy->destination_slice);
    CUresult result = driver_memory_check(copy->source, from, &source);
    if (result == CUDA_SUCCESS) result = driver_memory_check(copy->destination, to, &destination);
    if (result != CUDA_SUCCESS) return result;
    if (destination.is_read_only) return CUDA_ERROR_INVALID_VALUE;
    copy->source_is_pageable = source.is_pageable;
    copy->destination_is_pageable = destination.is_pageable;
    copy->is_on_host = source.is_host && destination.is_host;
    copy->is_on_device =
        !source.is_host && !source.is_managed && !destination.is_host && !destination.is_managed;
    copy->kind = source.is_pageable || destination.is_pageable ? EMU_COPY_PAGEABLE
                 : source.is_host || destination.is_host       ? EMU_COPY_HOST
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

/* Whether the call returns when the bytes have arrived: where the host could see it, and between host memory.
 */
static bool copy_waits(const struct driver_copy *copy, bool is_async)
{
    return is_async ? copy->destination_is_pageable || copy->is_on_host : !copy->is_on_device;
}

static CUresult copy_submit(struct driver_copy copy, CUstream handle, bool is_async)
{
    struct driver_stream *stream;
    struct driver_operation *operation;
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS) result = driver_copy_create(&operation, copy);
    if (result != CUDA_SUCCESS || !operation) return result;
    if (stream->capture && is_async) return driver_submit(stream, operation);
    if (stream->capture || copy_waits(&operation->copy, is_async))
        return driver_submit_and_wait(stream, operation);
    if (operation->copy.source_is_pageable && !driver_runs_at_once() && !copy_stage(operation)) {
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

/* --- two and three dimensions --- */

/* One side of a copy: where it begins, and its steps from row to row and from slice to slice. */
struct copy_side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};

static CUresult copy_place(const CUDA_MEMCPY3D *d, struct copy_side side, uint64_t *start, size_t *pitch,
                           size_t *slice)
{
    bool has_rows = d->Height > 1 || d->Depth > 1;
    if (side.type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
    if (side.type != CU_MEMORYTYPE_HOST && side.type != CU_MEMORYTYPE_DEVICE &&
        side.type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    if (has_rows && side.pitch && side.pitch < d->WidthInBytes + side.x) return CUDA_ERROR_INVALID_VALUE;
    if (d->Depth > 1 && side.height && side.height < d->Height + side.y) return CUDA_ERROR_INVALID_VALUE;
    *pitch = side.pitch ? side.pitch : d->WidthInBytes;
    *slice = *pitch * (side.height ? side.height : d->Height);
    *start = (side.type == CU_MEMORYTYPE_HOST ? (uint64_t)side.host : side.device) + side.x +
             side.y * *pitch + side.z * *slice;
    return CUDA_SUCCESS;
}

CUresult driver_copy_from_3d(const CUDA_MEMCPY3D *description, struct driver_copy *copy)
{
    const CUDA_MEMCPY3D *d = description;
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    struct copy_side from = {d->srcMemoryType, d->srcHost, d->srcDevice, d->srcXInBytes,
                             d->srcY,          d->srcZ,    d->srcPitch,  d->srcHeight};
    struct copy_side to = {d->dstMemoryType, d->dstHost, d->dstDevice, d->dstXInBytes,
                           d->dstY,          d->dstZ,    d->dstPitch,  d->dstHeight};
    *copy = (struct driver_copy){.width = d->WidthInBytes, .height = d->Height, .depth = d->Depth};
    CUresult result = copy_place(d, from, &copy->source, &copy->source_pitch, &copy->source_slice);
    if (result != CUDA_SUCCESS) return result;
    return copy_place(d, to, &copy->destination, &copy->destination_pitch, &copy->destination_slice);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *description, CUstream stream, bool is_async)
{
    struct driver_copy copy;
    CUresult result = driver_copy_from_3d(description, &copy);
    return result == CUDA_SUCCESS ? copy_submit(copy, stream, is_async) : result;
}

/* The forms differ in which of these fields they have. */
#define COPY_SIDES(d)                                                                                        \
    .srcXInBytes = (d)->srcXInBytes, .srcY = (d)->srcY, .srcMemoryType = (d)->srcMemoryType,                 \
    .srcHost = (d)->srcHost, .srcDevice = (d)->srcDevice, .srcPitch = (d)->srcPitch,                         \
    .dstXInBytes = (d)->dstXInBytes, .dstY = (d)->dstY, .dstMemoryType = (d)->dstMemoryType,                 \
    .dstHost = (d)->dstHost, .dstDevice = (d)->dstDevice, .dstPitch = (d)->dstPitch,                         \
    .WidthInBytes = (d)->WidthInBytes, .Height = (d)->Height

static CUresult copy_2d(const CUDA_MEMCPY2D *description, CUstream stream, bool is_async)
{
    if (!description) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole = {COPY_SIDES(description), .Depth = 1};
    return copy_3d(&whole, stream, is_async);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *description, CUstream stream, bool is_async)
{
    const CUDA_MEMCPY3D_PEER *d = description;
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole = {COPY_SIDES(d),   .srcZ = d->srcZ,           .srcHeight = d->srcHeight,
                           .dstZ = d->dstZ, .dstHeight = d->dstHeight, .Depth = d->Depth};
    return copy_3d(&whole, stream, is_async);
}

/* Each form as a call that waits and as one that doesn't. */
#define COPY_FORMS(name, now, later, description)                                                            \
    CUresult now(const description *pCopy)                                                                   \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return name(pCopy, NULL, false);                                                                     \
    }                                                                                                        \
    CUresult later(const description *pCopy, CUstream hStream)                                               \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return name(pCopy, hStream, true);                                                                   \
    }
COPY_FORMS(copy_2d, cuMemcpy2D_v2, cuMemcpy2DAsync_v2, CUDA_MEMCPY2D)
COPY_FORMS(copy_3d, cuMemcpy3D_v2, cuMemcpy3DAsync_v2, CUDA_MEMCPY3D)
COPY_FORMS(copy_3d_peer, cuMemcpy3DPeer, cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER)
