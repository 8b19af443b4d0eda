/* SPDX-License-Identifier: Apache-2.0
 * Memory operations in streams: a stream writes a value, or waits for one that a kernel, a copy, another
 * stream or the host writes. A batch is its operations one by one. The first ABI of these calls needs a
 * setting of NVIDIA's kernel module and is not there, as on the GPU that is modelled. */
#include "emulator/driver.h"

#include <stdlib.h>

enum { VALUE_BATCH_MOST = 255 };

static uint64_t value_read(const struct driver_value *value)
{
    return value->bytes == 4 ? __atomic_load_n((const uint32_t *)value->address, __ATOMIC_ACQUIRE)
                             : __atomic_load_n((const uint64_t *)value->address, __ATOMIC_ACQUIRE);
}

bool driver_value_is_there(const struct driver_value *value)
{
    struct driver_place place;
    if (driver_memory_check(value->address, value->bytes, &place) != CUDA_SUCCESS) return true; /* an error */
    uint64_t bits = value->bytes == 4 ? UINT32_MAX : UINT64_MAX, sign = bits / 2 + 1;
    uint64_t is = value_read(value), wanted = value->value & bits;
    switch ((CUstreamWaitValue_flags)value->condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return ((is - wanted) & sign) == 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return is == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
        return (is & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return (~(is | wanted) & bits) != 0;
    case CU_STREAM_WAIT_VALUE_FLUSH:
        break;
    }
    return true;
}

CUresult driver_value_run(const struct driver_value *value, bool is_write)
{
    struct driver_place place;
    if (driver_memory_check(value->address, value->bytes, &place) != CUDA_SUCCESS) {
        driver_say("a stream's memory operation at 0x%llx, where there is no memory any more",
                   (unsigned long long)value->address);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (is_write && value->bytes == 4)
        __atomic_store_n((uint32_t *)value->address, (uint32_t)value->value, __ATOMIC_RELEASE);
    else if (is_write)
        __atomic_store_n((uint64_t *)value->address, value->value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static CUresult value_check(const struct driver_value *value, bool is_write)
{
    struct driver_place place;
    unsigned known = is_write ? CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER : CU_STREAM_WAIT_VALUE_NOR;
    if (!is_write && (value->condition & CU_STREAM_WAIT_VALUE_FLUSH)) return CUDA_ERROR_NOT_SUPPORTED;
    if (value->condition > known || value->address % value->bytes != 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = driver_memory_check(value->address, value->bytes, &place);
    if (result == CUDA_SUCCESS && (place.is_pageable || (is_write && place.is_read_only)))
        return CUDA_ERROR_INVALID_VALUE;
    return result;
}

static CUresult value_submit(struct driver_stream *stream, const struct driver_value *value, bool is_write)
{
    struct driver_operation *operation =
        driver_operation_create(is_write ? OPERATION_WRITE_VALUE : OPERATION_WAIT_VALUE);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->value = *value;
    return driver_submit(stream, operation);
}

static CUresult value_call(CUstream handle, struct driver_value value, bool is_write)
{
    struct driver_stream *stream;
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS) result = value_check(&value, is_write);
    return result == CUDA_SUCCESS ? value_submit(stream, &value, is_write) : result;
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return value_call(stream, (struct driver_value){addr, value, 4, flags, false}, false);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return value_call(stream, (struct driver_value){addr, value, 8, flags, false}, false);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return value_call(stream, (struct driver_value){addr, value, 4, flags, false}, true);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return value_call(stream, (struct driver_value){addr, value, 8, flags, false}, true);
}

/* One operation of a batch; *value->bytes 0: one that has nothing to do here. */
static CUresult batch_read(const CUstreamBatchMemOpParams *parameters, struct driver_value *value,
                           bool *is_write)
{
    const struct CUstreamMemOpWaitValueParams_st *given = &parameters->waitValue; /* laid out as writeValue */
    *is_write = false;
    *value = (struct driver_value){given->address, given->value64, 8, given->flags, false};
    switch (parameters->operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *is_write = true; /* fall through */
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        value->bytes = 4;
        value->value = given->value;
        return value_check(value, *is_write);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *is_write = true; /* fall through */
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return value_check(value, *is_write);
    case CU_STREAM_MEM_OP_BARRIER: /* between operations of one stream, which are in order */
        value->bytes = 0;
        return parameters->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBatchMemOp(CUstream handle, unsigned int count, CUstreamBatchMemOpParams *paramArray,
                            unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    struct driver_value values[VALUE_BATCH_MOST];
    bool is_write[VALUE_BATCH_MOST];
    CUresult result = driver_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS && (count > VALUE_BATCH_MOST || (count && !paramArray) || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = batch_read(&paramArray[i], &values[i], &is_write[i]);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (values[i].bytes) result = value_submit(stream, &values[i], is_write[i]);
    return result;
}
