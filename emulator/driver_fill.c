/* SPDX-License-Identifier: Apache-2.0
 * Memory sets, of 1, 2 and 4 byte elements, in one and two dimensions. None makes the host wait. */
#include "emulator/driver.h"

CUresult driver_fill_create(struct driver_operation **result, struct driver_fill fill)
{
    bool is_pageable, is_host;
    *result = NULL;
    if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
    if (fill.element != 1 && fill.element != 2 && fill.element != 4) return CUDA_ERROR_INVALID_VALUE;
    if (fill.destination % fill.element != 0) return CUDA_ERROR_INVALID_VALUE;
    if (fill.height > 1 && fill.pitch < fill.width * fill.element) return CUDA_ERROR_INVALID_VALUE;
    size_t extent = (fill.height - 1) * fill.pitch + fill.width * fill.element;
    CUresult error = driver_memory_check(fill.destination, extent, &is_pageable, &is_host);
    if (error == CUDA_SUCCESS && is_pageable) error = CUDA_ERROR_INVALID_VALUE;
    if (error != CUDA_SUCCESS) return error;
    *result = driver_operation_create(OPERATION_FILL);
    if (!*result) return CUDA_ERROR_OUT_OF_MEMORY;
    (*result)->fill = fill;
    return CUDA_SUCCESS;
}

static CUresult fill_submit(uint64_t destination, size_t pitch, uint32_t value, uint32_t element,
                            size_t width, size_t height, CUstream handle)
{
    struct driver_stream *stream;
    struct driver_operation *operation;
    struct driver_fill fill = {destination, value, element, width, height, pitch};
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS) result = driver_fill_create(&operation, fill);
    if (result != CUDA_SUCCESS || !operation) return result;
    return driver_submit(stream, operation);
}

/* FILL(bits of an element, its C type) */
#define FILL(bits, type)                                                                                     \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr dstDevice, type value, size_t N)                               \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return fill_submit(dstDevice, 0, value, bits / 8, N, 1, NULL);                                       \
    }                                                                                                        \
    CUresult cuMemsetD##bits##Async(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)           \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return fill_submit(dstDevice, 0, value, bits / 8, N, 1, hStream);                                    \
    }                                                                                                        \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,        \
                                    size_t Height)                                                           \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);                                                      \
        return fill_submit(dstDevice, dstPitch, value, bits / 8, Width, Height, NULL);                       \
    }                                                                                                        \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,      \
                                      size_t Height, CUstream hStream)                                       \
    {                                                                                                        \
        DRIVER_ENTER(DRIVER_USUAL);                                                                          \
        return fill_submit(dstDevice, dstPitch, value, bits / 8, Width, Height, hStream);                    \
    }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
