/* SPDX-License-Identifier: Apache-2.0
 * Copies and sets, of bytes, rows, slices and symbols. Every function of the runtime here has up to four
 * forms: synchronous or not, in the default stream or (_ptds, _ptsz) in the thread's own (cudart_copy.def).
 */
#include "emulator/cudart.h"

#include <stdint.h>

struct way { /* how a copy is ordered */
    bool is_async;
    cudaStream_t stream;
};

static bool is_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind <= cudaMemcpyDefault;
}

/* What follows a synchronous call that had to go into a stream. */
static CUresult finish(CUresult result, struct way way)
{
    if (result != CUDA_SUCCESS || way.is_async) return result;
    return cudart_driver.StreamSynchronize(way.stream);
}

/* --- bytes --- */

static CUresult copy_now(void *to, const void *from, size_t count, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cudart_driver.MemcpyHtoD((CUdeviceptr)to, from, count);
    case cudaMemcpyDeviceToHost:
        return cudart_driver.MemcpyDtoH(to, (CUdeviceptr)from, count);
    case cudaMemcpyDeviceToDevice:
        return cudart_driver.MemcpyDtoD((CUdeviceptr)to, (CUdeviceptr)from, count);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return cudart_driver.Memcpy((CUdeviceptr)to, (CUdeviceptr)from, count);
}

static CUresult copy_in_stream(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                               cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cudart_driver.MemcpyHtoDAsync((CUdeviceptr)to, from, count, stream);
    case cudaMemcpyDeviceToHost:
        return cudart_driver.MemcpyDtoHAsync(to, (CUdeviceptr)from, count, stream);
    case cudaMemcpyDeviceToDevice:
        return cudart_driver.MemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, count, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return cudart_driver.MemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, count, stream);
}

static cudaError_t copy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, struct way way)
{
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && !is_kind(kind)) error = cudaErrorInvalidMemcpyDirection;
    if (error != cudaSuccess || count == 0) return cudart_return(error);
    bool is_plain = !way.is_async && !way.stream;
    CUresult result = is_plain ? copy_now(to, from, count, kind)
                               : finish(copy_in_stream(to, from, count, kind, way.stream), way);
    return cudart_return((cudaError_t)result);
}

static cudaError_t set(void *to, int value, size_t count, struct way way)
{
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess || count == 0) return cudart_return(error);
    bool is_plain = !way.is_async && !way.stream;
    CUresult result =
        is_plain
            ? cudart_driver.MemsetD8((CUdeviceptr)to, (unsigned char)value, count)
            : finish(cudart_driver.MemsetD8Async((CUdeviceptr)to, (unsigned char)value, count, way.stream),
                     way);
    return cudart_return((cudaError_t)result);
}

/* --- symbols --- */

static cudaError_t place_in_symbol(const void *symbol, size_t count, size_t offset, void **place)
{
    CUdeviceptr address;
    size_t size;
    cudaError_t error = cudart_variable(symbol, &address, &size);
    if (error == cudaSuccess && (offset > size || count > size - offset)) error = cudaErrorInvalidValue;
    if (error == cudaSuccess) *place = (void *)(uintptr_t)(address + offset);
    return error;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t count, size_t offset,
                                  enum cudaMemcpyKind kind, struct way way)
{
    void *to;
    if (is_kind(kind) && (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost))
        return cudart_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t error = place_in_symbol(symbol, count, offset, &to);
    return error == cudaSuccess ? copy(to, from, count, kind, way) : cudart_return(error);
}

static cudaError_t copy_from_symbol(void *to, const void *symbol, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, struct way way)
{
    void *from;
    if (is_kind(kind) && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost))
        return cudart_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t error = place_in_symbol(symbol, count, offset, &from);
    return error == cudaSuccess ? copy(to, from, count, kind, way) : cudart_return(error);
}

/* --- rows and slices --- */

static CUmemorytype memory_type(enum cudaMemcpyKind kind, bool is_source)
{
    bool is_host = is_source ? kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost
                             : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind, struct way way)
{
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && !is_kind(kind)) error = cudaErrorInvalidMemcpyDirection;
    if (error == cudaSuccess && (width > to_pitch || width > from_pitch)) error = cudaErrorInvalidPitchValue;
    if (error != cudaSuccess || width == 0 || height == 0) return cudart_return(error);
    CUDA_MEMCPY2D rows = {
        .srcMemoryType = memory_type(kind, true),
        .srcHost = from,
        .srcDevice = (CUdeviceptr)from,
        .srcPitch = from_pitch,
        .dstMemoryType = memory_type(kind, false),
        .dstHost = to,
        .dstDevice = (CUdeviceptr)to,
        .dstPitch = to_pitch,
        .WidthInBytes = width,
        .Height = height,
    };
    bool is_plain = !way.is_async && !way.stream;
    CUresult result = is_plain ? cudart_driver.Memcpy2DUnaligned(&rows)
                               : finish(cudart_driver.Memcpy2DAsync(&rows, way.stream), way);
    return cudart_return((cudaError_t)result);
}

static cudaError_t copy_slices(const struct cudaMemcpy3DParms *given, struct way way)
{
    static bool is_said;
    if (!given) return cudart_return(cudaErrorInvalidValue);
    if (given->srcArray || given->dstArray)
        return cudart_return(cudart_unsupported("a copy of a CUDA array", &is_said));
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && !is_kind(given->kind)) error = cudaErrorInvalidMemcpyDirection;
    if (error != cudaSuccess || !given->extent.width || !given->extent.height || !given->extent.depth)
        return cudart_return(error);
    CUDA_MEMCPY3D slices = {
        .srcXInBytes = given->srcPos.x,
        .srcY = given->srcPos.y,
        .srcZ = given->srcPos.z,
        .srcMemoryType = memory_type(given->kind, true),
        .srcHost = given->srcPtr.ptr,
        .srcDevice = (CUdeviceptr)given->srcPtr.ptr,
        .srcPitch = given->srcPtr.pitch,
        .srcHeight = given->srcPtr.ysize,
        .dstXInBytes = given->dstPos.x,
        .dstY = given->dstPos.y,
        .dstZ = given->dstPos.z,
        .dstMemoryType = memory_type(given->kind, false),
        .dstHost = given->dstPtr.ptr,
        .dstDevice = (CUdeviceptr)given->dstPtr.ptr,
        .dstPitch = given->dstPtr.pitch,
        .dstHeight = given->dstPtr.ysize,
        .WidthInBytes = given->extent.width,
        .Height = given->extent.height,
        .Depth = given->extent.depth,
    };
    bool is_plain = !way.is_async && !way.stream;
    CUresult result = is_plain ? cudart_driver.Memcpy3D(&slices)
                               : finish(cudart_driver.Memcpy3DAsync(&slices, way.stream), way);
    return cudart_return((cudaError_t)result);
}

static cudaError_t set_rows(void *to, size_t pitch, int value, size_t width, size_t height, struct way way)
{
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && width > pitch && height > 1) error = cudaErrorInvalidPitchValue;
    if (error != cudaSuccess || width == 0 || height == 0) return cudart_return(error);
    bool is_plain = !way.is_async && !way.stream;
    CUdeviceptr place = (CUdeviceptr)to;
    unsigned char byte = (unsigned char)value;
    CUresult result =
        is_plain ? cudart_driver.MemsetD2D8(place, pitch, byte, width, height)
                 : finish(cudart_driver.MemsetD2D8Async(place, pitch, byte, width, height, way.stream), way);
    return cudart_return((cudaError_t)result);
}

static cudaError_t set_slices(struct cudaPitchedPtr to, int value, struct cudaExtent extent, struct way way)
{
    cudaError_t error = cudaSuccess;
    if (extent.height == to.ysize)
        return set_rows(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth, way);
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = set_rows((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width,
                         extent.height, way);
    return error;
}

/* --- peers --- */

/* Addresses tell the device that they are on. */
static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t count,
                             struct way way)
{
    int devices;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) return error;
    if (to_device < 0 || from_device < 0 || to_device >= devices || from_device >= devices)
        return cudart_return(cudaErrorInvalidDevice);
    return copy(to, from, count, cudaMemcpyDeviceToDevice, way);
}

/* --- the exported forms --- */

#define ORDERED(name, parameters, call, asynchronous, in_stream)                                             \
    CUDART_EXPORT cudaError_t name parameters;                                                               \
    cudaError_t name parameters                                                                              \
    {                                                                                                        \
        struct way way = {.is_async = asynchronous, .stream = in_stream};                                    \
        return call;                                                                                         \
    }
#define PLAIN(name, parameters, call) ORDERED(name, parameters, call, false, NULL)
#define BLOCKING(name, parameters, call)                                                                     \
    ORDERED(name, parameters, call, false, NULL)                                                             \
    ORDERED(name##_ptds, parameters, call, false, cudaStreamPerThread)
#define STREAM(name, parameters, call)                                                                       \
    ORDERED(name, parameters, call, true, stream)                                                            \
    ORDERED(name##_ptsz, parameters, call, true, cudart_thread_stream(stream))
#define STREAM_ONLY(name, parameters, call) ORDERED(name, parameters, call, true, stream)
#include "emulator/cudart_copy.def"
