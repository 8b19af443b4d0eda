/* SPDX-License-Identifier: Apache-2.0
 * Memory sets, of 1, 2 and 4 byte elements, in one and two dimensions. The host waits for none of device
 * memory; those of memory that it can read are done when a call that is not asynchronous returns. */
#include "emulator/driver.h"

static CUresult fill_check(const struct driver_fill *fill, struct driver_place *place)
{
    size_t width;
    if (fill->element != 1 && fill->element != 2 && fill->element != 4) return CUDA_ERROR_INVALID_VALUE;
    if (fill->destination % fill->element != 0) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(fill->width, fill->element, &width)) return CUDA_ERROR_INVALID_VALUE;
    if (fill->height > 1 && (fill->pitch < width || fill->pitch % fill->element != 0))
        return CUDA_ERROR_INVALID_VALUE;
    size_t extent = driver_extent(width, fill->height, 1, fill->pitch, 0);
    CUresult error = driver_memory_check(fill->destination, extent, place);
    return error == CUDA_SUCCESS && (place->is_pageable || place->is_read_only) ? CUDA_ERROR_INVALID_VALUE
                                                                                : error;
}

static CUresult fill_create(struct driver_operation **result, struct driver_fill fill,
                            struct driver_place *place)
{
    *result = NULL;
    if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
    CUresult error = fill_check(&fill, place);
    if (error != CUDA_SUCCESS) return error;
    *result = driver_operation_create(OPERATION_FILL);
    if (!*result) return CUDA_ERROR_OUT_OF_MEMORY;
    (*result)->fill = fill;
    return CUDA_SUCCESS;
}

CUresult driver_fill_create(struct driver_operation **result, struct driver_fill fill)
{
    struct driver_place place;
    return fill_create(result, fill, &place);
}

static CUresult fill_submit(struct driver_fill fill, CUstream handle, bool is_async)
{
    struct driver_stream *stream;
    struct driver_operation *operation;
    struct driver_place place;
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS) result = fill_create(&operation, fill, &place);
    if (result != CUDA_SUCCESS || !operation) return result;
    bool waits = !is_async && (place.is_host || place.is_managed);
    return waits ? driver_submit_and_wait(stream, operation) : driver_submit(stream, operation);
}

/* FILL(bits of an element, its C type) */
#define FILL(bits, type)                                                                                     \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr dstDevice, type value, size_t N)                               \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return fill_submit((struct driver_fill){dstDevice, value, bits / 8, N, 1, 0}, NULL, false);          \
    }                                                                                                        \
    CUresult cuMemsetD##bits##Async(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)           \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return fill_submit((struct driver_fill){dstDevice, value, bits / 8, N, 1, 0}, hStream, true);        \
    }                                                                                                        \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,        \
                                    size_t Height)                                                           \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return fill_submit((struct driver_fill){dstDevice, value, bits / 8, Width, Height, dstPitch}, NULL,  \
                           false);                                                                           \
    }                                                                                                        \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,      \
                                      size_t Height, CUstream hStream)                                       \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return fill_submit((struct driver_fill){dstDevice, value, bits / 8, Width, Height, dstPitch},        \
                           hStream, true);                                                                   \
    }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
