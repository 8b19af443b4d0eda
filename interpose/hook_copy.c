/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of copies and sets. One that the plan knows is a launch (memop.h); others issue what is held. */
#include "interpose/hook.h"
#include "interpose/contents.h"
#include "interpose/memop.h"
#include "interpose/queue.h"
#include "interpose/through.h"

static bool is_plain(uint64_t address)
{
    uint64_t start, size;
    return track_memory_plain(NULL, address, &start, &size);
}

/* By its symbol: the call waits for the copy. */
#define IS_TO_HOST(symbol, is_async)   (!(is_async) && !__builtin_strncmp(#symbol, "cuMemcpyDtoH", 12))
#define IS_FROM_HOST(symbol, is_async) (!(is_async) && !__builtin_strncmp(#symbol, "cuMemcpyHtoD", 12))

static bool is_host(uint64_t address)
{
    struct track_range range;
    return !track_memory_find(address, &range) || range.kind == TRACE_MEMORY_HOST;
}

/* The copy may go on behind the call, where the host sees it: within the device no call waits for it. */
static inline void note_begin(uint64_t to, uint64_t from, bool to_host, bool from_host)
{
    if (!through_on()) return;
    if (to_host ? !is_host(to) : !is_plain(to) || (!from_host && !is_plain(from))) through_meet_unknown();
}

/* The host has what stood in the stream behind all else. */
static inline void note_end(uint64_t to, uint64_t from, uint64_t bytes, CUstream stream, CUresult result)
{
    if (through_on() && bytes && is_plain(from) && is_host(to)) queue_waited(stream, false, result);
}

static inline void note_set(uint64_t address)
{
    if (through_on() && !is_plain(address)) through_meet_unknown();
}

/* True: it is held, or has been issued. */
static inline bool enter_copy(const struct shim_copy *copy)
{
    const struct memop_call call = {MEMOP_COPY, copy->to, copy->from, copy->bytes, copy->stream};
    enum memop_outcome outcome = memop_is_on ? memop_take(&call) : MEMOP_OTHER;
    if (outcome == MEMOP_OTHER) shim_enter_copy(copy);
    return outcome == MEMOP_TAKEN;
}

/* The driver refuses elements that are not aligned, and more of them than there is memory. */
static inline bool enter_set(uint64_t to, uint32_t value, uint32_t width, size_t count, CUstream stream)
{
    const struct memop_call call = {MEMOP_SET, to, memop_pattern(value, width), count * width, stream};
    bool may_be_known = memop_is_on && to % width == 0 && count <= SIZE_MAX / width;
    enum memop_outcome outcome = may_be_known ? memop_take(&call) : MEMOP_OTHER;
    if (outcome == MEMOP_OTHER)
        shim_enter_copy(&(struct shim_copy){.to = to, .bytes = call.bytes, .stream = stream});
    return outcome == MEMOP_TAKEN;
}

#define COPY(symbol, to, from, bytes, on, async, arguments, ...)                                             \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        const struct shim_copy copy = {(uint64_t)(to), (uint64_t)(from), bytes, hook_stream(#symbol, on)};   \
        if (enter_copy(&copy)) return shim_result(CUDA_SUCCESS);                                             \
        note_begin((uint64_t)(to), (uint64_t)(from), IS_TO_HOST(symbol, async),                              \
                   IS_FROM_HOST(symbol, async));                                                             \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        contents_written((uint64_t)(to), result == CUDA_SUCCESS && !(async) ? (uint64_t)(from) : 0, bytes);  \
        if (IS_TO_HOST(symbol, async))                                                                       \
            note_end((uint64_t)(to), (uint64_t)(from), bytes, hook_stream(#symbol, on), result);             \
        if (record_is_on() && result == CUDA_SUCCESS)                                                        \
            record_copy(&(struct record_copy){.destination = (uint64_t)(to),                                 \
                                              .source = (uint64_t)(from),                                    \
                                              .size = (bytes),                                               \
                                              .stream = hook_stream(#symbol, on),                            \
                                              .is_async = (async)});                                         \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
#define COPY_BOTH(symbol, suffix, ...) COPY(symbol, __VA_ARGS__) COPY(symbol##suffix, __VA_ARGS__)

COPY_BOTH(cuMemcpy, _ptds, to, from, size, NULL, false, (to, from, size), CUdeviceptr to, CUdeviceptr from,
          size_t size)
COPY_BOTH(cuMemcpyAsync, _ptsz, to, from, size, stream, true, (to, from, size, stream), CUdeviceptr to,
          CUdeviceptr from, size_t size, CUstream stream)
COPY_BOTH(cuMemcpyHtoD_v2, _ptds, to, (uintptr_t)from, size, NULL, false, (to, from, size), CUdeviceptr to,
          const void *from, size_t size)
COPY_BOTH(cuMemcpyDtoH_v2, _ptds, (uintptr_t)to, from, size, NULL, false, (to, from, size), void *to,
          CUdeviceptr from, size_t size)
COPY_BOTH(cuMemcpyDtoD_v2, _ptds, to, from, size, NULL, false, (to, from, size), CUdeviceptr to,
          CUdeviceptr from, size_t size)
COPY_BOTH(cuMemcpyHtoDAsync_v2, _ptsz, to, (uintptr_t)from, size, stream, true, (to, from, size, stream),
          CUdeviceptr to, const void *from, size_t size, CUstream stream)
COPY_BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (uintptr_t)to, from, size, stream, true, (to, from, size, stream),
          void *to, CUdeviceptr from, size_t size, CUstream stream)
COPY_BOTH(cuMemcpyDtoDAsync_v2, _ptsz, to, from, size, stream, true, (to, from, size, stream), CUdeviceptr to,
          CUdeviceptr from, size_t size, CUstream stream)

/* --- copies of boxes: the hull of what they touch --- */

struct box_end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};
struct box {
    struct box_end to, from;
    size_t width, rows, layers;
};

static uint64_t box_start(const struct box_end *end)
{
    uint64_t base = end->type == CU_MEMORYTYPE_HOST ? (uintptr_t)end->host : end->device;
    if (end->type == CU_MEMORYTYPE_ARRAY) return 0;
    return base + (end->z * end->height + end->y) * end->pitch + end->x;
}

static uint64_t box_hull(const struct box_end *end, const struct box *box)
{
    if (!box->rows || !box->layers || !box->width) return 0;
    return ((box->layers - 1) * end->height + box->rows - 1) * end->pitch + box->width;
}

static enum trace_memory_kind box_kind(const struct box_end *end)
{
    return end->type == CU_MEMORYTYPE_ARRAY ? TRACE_MEMORY_MAPPED : TRACE_MEMORY_UNKNOWN;
}

static inline void enter_box_copy(struct box box, CUstream stream)
{
    uint64_t to = box_hull(&box.to, &box), from = box_hull(&box.from, &box);
    shim_enter_copy(&(struct shim_copy){.to = box_start(&box.to),
                                        .from = box_start(&box.from),
                                        .bytes = to > from ? to : from,
                                        .stream = stream});
}

static void box_written(struct box box)
{
    contents_written(box_start(&box.to), 0, box_hull(&box.to, &box));
}

static void record_box(const struct box *box, CUstream stream, bool is_async)
{
    uint64_t to = box_hull(&box->to, box), from = box_hull(&box->from, box);
    record_copy(&(struct record_copy){.destination = box_start(&box->to),
                                      .source = box_start(&box->from),
                                      .size = to > from ? to : from,
                                      .destination_kind = box_kind(&box->to),
                                      .source_kind = box_kind(&box->from),
                                      .stream = stream,
                                      .is_async = is_async,
                                      .is_hull = true});
}

/* A pitch of 0 means rows that follow each other. */
static struct box box_of_2d(const CUDA_MEMCPY2D *copy)
{
    size_t to_pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes + copy->dstXInBytes;
    size_t from_pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes + copy->srcXInBytes;
    return (struct box){.to = {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                               copy->dstY, 0, to_pitch, 0},
                        .from = {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                                 copy->srcY, 0, from_pitch, 0},
                        .width = copy->WidthInBytes,
                        .rows = copy->Height,
                        .layers = 1};
}

static struct box box_of_3d(const CUDA_MEMCPY3D *copy)
{
    size_t to_pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes + copy->dstXInBytes;
    size_t from_pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes + copy->srcXInBytes;
    size_t to_height = copy->dstHeight ? copy->dstHeight : copy->Height + copy->dstY;
    size_t from_height = copy->srcHeight ? copy->srcHeight : copy->Height + copy->srcY;
    return (struct box){.to = {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                               copy->dstY, copy->dstZ, to_pitch, to_height},
                        .from = {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                                 copy->srcY, copy->srcZ, from_pitch, from_height},
                        .width = copy->WidthInBytes,
                        .rows = copy->Height,
                        .layers = copy->Depth};
}

#define BOX_COPY(symbol, type, box_of, on, async, arguments, ...)                                            \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        copy ? enter_box_copy(box_of(copy), hook_stream(#symbol, on)) : shim_enter_flush();                  \
        through_meet_unknown();                                                                              \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (copy && contents_are_followed) box_written(box_of(copy));                                        \
        if (record_is_on() && result == CUDA_SUCCESS) {                                                      \
            struct box box = box_of(copy);                                                                   \
            record_box(&box, hook_stream(#symbol, on), async);                                               \
        }                                                                                                    \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
BOX_COPY(cuMemcpy2D_v2, CUDA_MEMCPY2D, box_of_2d, NULL, false, (copy), const CUDA_MEMCPY2D *copy)
BOX_COPY(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, box_of_2d, NULL, false, (copy), const CUDA_MEMCPY2D *copy)
BOX_COPY(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, box_of_2d, NULL, false, (copy), const CUDA_MEMCPY2D *copy)
BOX_COPY(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, box_of_2d, NULL, false, (copy),
         const CUDA_MEMCPY2D *copy)
BOX_COPY(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, box_of_2d, stream, true, (copy, stream),
         const CUDA_MEMCPY2D *copy, CUstream stream)
BOX_COPY(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, box_of_2d, stream, true, (copy, stream),
         const CUDA_MEMCPY2D *copy, CUstream stream)
BOX_COPY(cuMemcpy3D_v2, CUDA_MEMCPY3D, box_of_3d, NULL, false, (copy), const CUDA_MEMCPY3D *copy)
BOX_COPY(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, box_of_3d, NULL, false, (copy), const CUDA_MEMCPY3D *copy)
BOX_COPY(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, box_of_3d, stream, true, (copy, stream),
         const CUDA_MEMCPY3D *copy, CUstream stream)
BOX_COPY(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, box_of_3d, stream, true, (copy, stream),
         const CUDA_MEMCPY3D *copy, CUstream stream)

/* --- sets --- */

#define SET(symbol, bits, on, arguments, ...)                                                                \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        if (enter_set(address, value, bits / 8, count, hook_stream(#symbol, on)))                            \
            return shim_result(CUDA_SUCCESS);                                                                \
        note_set(address);                                                                                   \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        contents_written(address, 0, count *(bits / 8));                                                     \
        if (result == CUDA_SUCCESS)                                                                          \
            record_set(address, count *(bits / 8), value, bits / 8, hook_stream(#symbol, on), false);        \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
#define SET_ALL(bits, type)                                                                                  \
    SET(cuMemsetD##bits##_v2, bits, NULL, (address, value, count), CUdeviceptr address, type value,          \
        size_t count)                                                                                        \
    SET(cuMemsetD##bits##_v2_ptds, bits, NULL, (address, value, count), CUdeviceptr address, type value,     \
        size_t count)                                                                                        \
    SET(cuMemsetD##bits##Async, bits, stream, (address, value, count, stream), CUdeviceptr address,          \
        type value, size_t count, CUstream stream)                                                           \
    SET(cuMemsetD##bits##Async_ptsz, bits, stream, (address, value, count, stream), CUdeviceptr address,     \
        type value, size_t count, CUstream stream)
SET_ALL(8, unsigned char)
SET_ALL(16, unsigned short)
SET_ALL(32, unsigned)

#define SET_2D(symbol, bits, on, arguments, ...)                                                             \
    HOOK(symbol, __VA_ARGS__)                                                                                \
    {                                                                                                        \
        size_t hull = width && height ? (height - 1) * pitch + width * (bits / 8) : 0;                       \
        shim_enter_copy(                                                                                     \
            &(struct shim_copy){.to = address, .bytes = hull, .stream = hook_stream(#symbol, on)});          \
        note_set(address);                                                                                   \
        GATE;                                                                                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        contents_written(address, 0, hull);                                                                  \
        if (result == CUDA_SUCCESS)                                                                          \
            record_set(address, hull, value, bits / 8, hook_stream(#symbol, on), true);                      \
        replay_service();                                                                                    \
        return shim_waited(result);                                                                          \
    }
#define SET_2D_ALL(bits, type)                                                                               \
    SET_2D(cuMemsetD2D##bits##_v2, bits, NULL, (address, pitch, value, width, height), CUdeviceptr address,  \
           size_t pitch, type value, size_t width, size_t height)                                            \
    SET_2D(cuMemsetD2D##bits##_v2_ptds, bits, NULL, (address, pitch, value, width, height),                  \
           CUdeviceptr address, size_t pitch, type value, size_t width, size_t height)                       \
    SET_2D(cuMemsetD2D##bits##Async, bits, stream, (address, pitch, value, width, height, stream),           \
           CUdeviceptr address, size_t pitch, type value, size_t width, size_t height, CUstream stream)      \
    SET_2D(cuMemsetD2D##bits##Async_ptsz, bits, stream, (address, pitch, value, width, height, stream),      \
           CUdeviceptr address, size_t pitch, type value, size_t width, size_t height, CUstream stream)
SET_2D_ALL(8, unsigned char)
SET_2D_ALL(16, unsigned short)
SET_2D_ALL(32, unsigned)
