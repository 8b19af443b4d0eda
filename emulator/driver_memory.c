/* SPDX-License-Identifier: Apache-2.0
 * Allocations of every kind, with what the driver remembers of each beside the engine's own list, and pointer
 * attributes. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct memory_record {
    uint64_t start, size, id;
    struct driver_context *context;
    enum emu_memory_kind kind;
    unsigned flags;
    bool is_registered, is_leaving; /* leaving: a stream will free it */
    void *pool;
    UT_hash_handle hh;
};
static struct memory_record *memory_records;
static struct driver_object *memory_pool; /* the default pool, the only one */

static struct memory_record *record_at(uint64_t start)
{
    struct memory_record *record;
    HASH_FIND(hh, memory_records, &start, sizeof start, record);
    return record;
}

static struct memory_record *record_add(struct driver_context *context, uint64_t start, uint64_t size,
                                        enum emu_memory_kind kind, unsigned flags)
{
    struct memory_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    record->start = start;
    record->size = size;
    record->id = ++driver.identity;
    record->context = context;
    record->kind = kind;
    record->flags = flags;
    HASH_ADD(hh, memory_records, start, sizeof record->start, record);
    return record;
}

static void record_remove(struct memory_record *record)
{
    HASH_DEL(memory_records, record);
    free(record);
}

uint64_t driver_memory_allocate(struct driver_context *context, size_t size, enum emu_memory_kind kind,
                                unsigned flags, void *pool)
{
    uint64_t start = emu_memory_allocate(size, kind);
    struct memory_record *record = start ? record_add(context, start, size, kind, flags) : NULL;
    if (record)
        record->pool = pool;
    else if (start)
        emu_memory_release(start);
    return record ? start : 0;
}

CUresult driver_memory_free(uint64_t address)
{
    struct memory_record *record = record_at(address);
    if (!record || record->kind == EMU_MEMORY_HOST) return CUDA_ERROR_INVALID_VALUE;
    emu_memory_release(address);
    record_remove(record);
    return CUDA_SUCCESS;
}

void driver_memory_close(const struct driver_context *context)
{
    struct memory_record *record, *next;
    HASH_ITER(hh, memory_records, record, next)
    {
        if (record->context != context) continue;
        emu_memory_release(record->start);
        record_remove(record);
    }
}

CUresult driver_memory_check(uint64_t address, size_t size, struct driver_place *place)
{
    struct emu_allocation allocation;
    uint64_t start, end;
    *place = (struct driver_place){0};
    if (emu_memory_find(address, &allocation)) {
        place->is_host = allocation.kind == EMU_MEMORY_HOST;
        place->is_managed = allocation.kind == EMU_MEMORY_MANAGED;
        place->is_read_only = allocation.is_read_only;
        while (size >
               allocation.size - (address - allocation.start)) { /* mapped memory may go on in the next */
            size -= allocation.size - (address - allocation.start);
            address = allocation.start + allocation.size;
            if (allocation.kind != EMU_MEMORY_MAPPED || !emu_memory_find(address, &allocation))
                return CUDA_ERROR_INVALID_VALUE;
            place->is_read_only |= allocation.is_read_only;
        }
        return CUDA_SUCCESS;
    }
    emu_memory_reserved(&start, &end);
    if (address == 0 || address + size < address || (address >= start && address < end))
        return CUDA_ERROR_INVALID_VALUE;
    place->is_pageable = place->is_host = true;
    return CUDA_SUCCESS;
}

/* --- device memory --- */

static CUresult memory_allocate(CUdeviceptr *result, size_t size, enum emu_memory_kind kind, unsigned flags)
{
    if (!result || size == 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = driver_memory_allocate(driver_current(), size, kind, flags, NULL);
    if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *result = address;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return memory_allocate(dptr, bytesize, EMU_MEMORY_DEVICE, 0);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (!pPitch || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
        return CUDA_ERROR_INVALID_VALUE;
    size_t pitch = (WidthInBytes + 511) / 512 * 512, size;
    if (pitch < WidthInBytes || __builtin_mul_overflow(pitch, Height, &size)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = memory_allocate(dptr, size, EMU_MEMORY_DEVICE, 0);
    if (result == CUDA_SUCCESS) *pPitch = pitch;
    return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return memory_allocate(dptr, bytesize, EMU_MEMORY_MANAGED, flags);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (dptr == 0) return CUDA_SUCCESS;
    driver_run_all();
    if (driver_current()->error) return driver_current()->error;
    return driver_memory_free(dptr);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    DRIVER_ENTER(DRIVER_USUAL);
    uint64_t unused, all;
    emu_memory_usage(&unused, &all);
    if (free) *free = unused;
    if (total) *total = all;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct emu_allocation allocation;
    if (!emu_memory_find(dptr, &allocation)) return CUDA_ERROR_NOT_FOUND;
    /* The driver has a module's variables in one allocation. */
    bool is_variable = !record_at(allocation.start);
    if (pbase) *pbase = allocation.start;
    if (psize) *psize = allocation.size + (is_variable ? 4096 : 0);
    return CUDA_SUCCESS;
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct emu_allocation allocation;
    (void)count, (void)advice, (void)location;
    return emu_memory_find(devPtr, &allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                               CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct emu_allocation allocation;
    struct driver_stream *stream;
    (void)count, (void)location, (void)flags;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    return emu_memory_find(devPtr, &allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- in stream order --- */

static CUmemoryPool pool_default(void)
{
    if (!memory_pool) memory_pool = driver_object_create(DRIVER_POOL);
    return (CUmemoryPool)memory_pool;
}

/* Memory is there at once; what was freed before it in the stream is not reused for it. */
static CUresult pool_allocate(CUdeviceptr *result, size_t size, CUmemoryPool pool, CUstream handle)
{
    struct driver_stream *stream;
    CUresult error = driver_stream_of(handle, &stream);
    if (error != CUDA_SUCCESS) return error;
    if (!driver_object_is(pool, DRIVER_POOL)) return CUDA_ERROR_INVALID_HANDLE;
    if (!result || size == 0) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) {
        driver_capture_spoil(stream->capture);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *result = driver_memory_allocate(stream->context, size, EMU_MEMORY_DEVICE, 0, pool);
    return *result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return pool_allocate(dptr, bytesize, pool_default(), hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return pool_allocate(dptr, bytesize, pool, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    struct memory_record *record = record_at(dptr);
    if (!record || record->kind == EMU_MEMORY_HOST || record->is_leaving) return CUDA_ERROR_INVALID_VALUE;
    struct driver_operation *operation = driver_operation_create(OPERATION_FREE);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->address = dptr;
    record->is_leaving = !stream->capture;
    return driver_submit(stream, operation);
}

static CUresult pool_get(CUmemoryPool *pool, CUdevice device)
{
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *pool = pool_default();
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return pool_get(pool_out, dev);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    return pool_get(pool, dev);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    return driver_object_is(pool, DRIVER_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Nothing is kept back for reuse, so attributes that steer reuse are accepted and sizes are what is in use.
 */
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!driver_object_is(pool, DRIVER_POOL)) return CUDA_ERROR_INVALID_HANDLE;
    return value && attr <= CU_MEMPOOL_ATTR_USED_MEM_HIGH ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!driver_object_is(pool, DRIVER_POOL)) return CUDA_ERROR_INVALID_HANDLE;
    if (!value || attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    uint64_t used = 0;
    for (const struct memory_record *record = memory_records; record; record = record->hh.next)
        if (record->pool == pool) used += record->size;
    if (attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
        *(int *)value = 1;
    else
        *(uint64_t *)value = attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? 0 : used;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    DRIVER_ENTER(DRIVER_OPEN);
    (void)minBytesToKeep;
    return driver_object_is(pool, DRIVER_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- host memory --- */

static CUresult host_allocate(void **result, size_t size, unsigned flags)
{
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    *result = NULL;
    if (size == 0) return CUDA_SUCCESS;
    uint64_t address = driver_memory_allocate(driver_current(), size, EMU_MEMORY_HOST,
                                              flags | CU_MEMHOSTALLOC_DEVICEMAP, NULL);
    *result = (void *)address;
    return address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    return host_allocate(pp, bytesize, 0);
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (Flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
        return CUDA_ERROR_INVALID_VALUE;
    return host_allocate(pp, bytesize, Flags);
}

CUresult cuMemFreeHost(void *p)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (!p) return CUDA_SUCCESS;
    driver_run_all(); /* first: other threads may run meanwhile */
    struct memory_record *record = record_at((uint64_t)p);
    if (!record || record->kind != EMU_MEMORY_HOST || record->is_registered) return CUDA_ERROR_INVALID_VALUE;
    emu_memory_release(record->start);
    record_remove(record);
    return driver_current()->error;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    if (!p || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!emu_memory_register((uint64_t)p, bytesize)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct memory_record *record = record_add(driver_current(), (uint64_t)p, bytesize, EMU_MEMORY_HOST,
                                              Flags | CU_MEMHOSTALLOC_DEVICEMAP);
    if (!record) {
        emu_memory_release((uint64_t)p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    record->is_registered = true;
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *p)
{
    DRIVER_ENTER(DRIVER_USUAL | DRIVER_UNCAPTURED);
    driver_run_all();
    struct memory_record *record = record_at((uint64_t)p);
    if (!record || !record->is_registered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    emu_memory_release(record->start);
    record_remove(record);
    return driver_current()->error;
}

/* The record of the allocation that an address lies in, or NULL (a module's variable has none). */
static const struct memory_record *record_around(uint64_t address, struct emu_allocation *allocation)
{
    return emu_memory_find(address, allocation) ? record_at(allocation->start) : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct emu_allocation allocation;
    const struct memory_record *record = record_around((uint64_t)p, &allocation);
    if (!pdptr || Flags != 0 || !record || record->kind != EMU_MEMORY_HOST) return CUDA_ERROR_INVALID_VALUE;
    *pdptr = (CUdeviceptr)p;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct emu_allocation allocation;
    const struct memory_record *record = record_around((uint64_t)p, &allocation);
    if (!pFlags || !record || record->kind != EMU_MEMORY_HOST) return CUDA_ERROR_INVALID_VALUE;
    *pFlags = record->flags;
    return CUDA_SUCCESS;
}

/* --- pointer attributes --- */

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, uint64_t address,
                                  const struct emu_allocation *allocation, const struct memory_record *record)
{
    bool is_host = allocation->kind == EMU_MEMORY_HOST, is_managed = allocation->kind == EMU_MEMORY_MANAGED;
    switch ((unsigned)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(void **)data = record ? record->context : driver.primary;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(uint64_t *)data = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(uint64_t *)data = is_host || is_managed ? address : 0;
        return is_host || is_managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(uint64_t *)data = record ? record->id : allocation->start;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(uint64_t *)data = record ? record->id : allocation->start;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = !is_host;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = is_managed;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(uint64_t *)data = allocation->start;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = allocation->size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = allocation->is_read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                                     : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(uint64_t *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(void **)data = record ? record->pool : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned *)data = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct emu_allocation allocation;
    if (!data || !emu_memory_find(ptr, &allocation)) return CUDA_ERROR_INVALID_VALUE;
    return pointer_attribute(data, attribute, ptr, &allocation, record_at(allocation.start));
}

/* For memory that the driver does not know, every attribute is 0 (and the device -2). */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr ptr)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct emu_allocation allocation;
    if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    bool is_known = emu_memory_find(ptr, &allocation);
    for (unsigned i = 0; i < numAttributes; i++) {
        CUpointer_attribute attribute = attributes[i];
        if (is_known)
            pointer_attribute(data[i], attribute, ptr, &allocation, record_at(allocation.start));
        else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2;
        else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                 attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
                 attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED || attribute == CU_POINTER_ATTRIBUTE_MAPPED ||
                 attribute == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS)
            *(unsigned *)data[i] = 0;
        else
            *(uint64_t *)data[i] = 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct emu_allocation allocation;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    return emu_memory_find(ptr, &allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
