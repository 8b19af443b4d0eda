/* SPDX-License-Identifier: Apache-2.0
 * Launches: what cuLaunchKernel and its relatives check, and how parameters are packed. */
#include "emulator/driver.h"

#include <stdlib.h>
#include <string.h>

static bool launch_fits(const uint32_t grid[3], const uint32_t block[3])
{
    static const uint32_t most_grid[3] = {2147483647, 65535, 65535}, most_block[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || grid[i] > most_grid[i] || block[i] == 0 || block[i] > most_block[i]) return false;
    return (uint64_t)block[0] * block[1] * block[2] <= 1024;
}

static CUresult launch_check(const struct driver_function *function, const uint32_t grid[3],
                             const uint32_t block[3], uint32_t dynamic_shared)
{
    uint32_t threads = block[0] * block[1] * block[2];
    if (!launch_fits(grid, block)) return CUDA_ERROR_INVALID_VALUE;
    if (function->info.max_threads && threads > function->info.max_threads) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++)
        if (function->info.required[i] && block[i] != function->info.required[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (dynamic_shared > (uint32_t)function->dynamic_shared) return CUDA_ERROR_INVALID_VALUE;
    if (function->info.static_shared + dynamic_shared > emu_clock_device.shared_per_block_optin)
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_clock_occupancy(&function->info, threads, dynamic_shared) == 0)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

static bool launch_pack(const struct driver_function *function, void **parameters, unsigned char *bytes)
{
    for (uint32_t i = 0; i < function->info.parameter_count; i++) {
        uint32_t offset, size;
        if (!parameters[i] || !emu_kernel_parameter(function->kernel, i, &offset, &size)) return false;
        memcpy(bytes + offset, parameters[i], size);
    }
    return true;
}

/* The packed form: pairs of key and value up to CU_LAUNCH_PARAM_END. Fewer bytes than the kernel takes are
 * allowed. */
static CUresult launch_unpack(const struct driver_function *function, void **extra, unsigned char *bytes)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (size > function->info.parameter_bytes) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (size && !buffer) return CUDA_ERROR_INVALID_VALUE;
    if (size) memcpy(bytes, buffer, size);
    return CUDA_SUCCESS;
}

CUresult driver_launch_create(struct driver_operation **result, struct driver_function *function,
                              const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_shared,
                              void **parameters, void **extra)
{
    CUresult error = launch_check(function, grid, block, dynamic_shared);
    if (error != CUDA_SUCCESS) return error;
    if (parameters && extra) return CUDA_ERROR_INVALID_VALUE;
    if (function->info.parameter_count && !parameters && !extra) return CUDA_ERROR_INVALID_VALUE;
    struct driver_operation *operation = driver_operation_create(OPERATION_KERNEL);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->byte_count = function->info.parameter_bytes;
    operation->bytes = calloc(1, operation->byte_count + 1);
    operation->launch.function = function;
    memcpy(operation->launch.grid, grid, sizeof operation->launch.grid);
    memcpy(operation->launch.block, block, sizeof operation->launch.block);
    operation->launch.dynamic_shared = dynamic_shared;
    operation->launch.tag = driver_activity_tag();
    if (!operation->bytes)
        error = CUDA_ERROR_OUT_OF_MEMORY;
    else if (extra)
        error = launch_unpack(function, extra, operation->bytes);
    else if (parameters && !launch_pack(function, parameters, operation->bytes))
        error = CUDA_ERROR_INVALID_VALUE;
    if (error == CUDA_SUCCESS)
        *result = operation;
    else
        driver_operation_free(operation);
    return error;
}

static CUresult launch(CUfunction handle, const uint32_t grid[3], const uint32_t block[3],
                       uint32_t dynamic_shared, CUstream stream_handle, void **parameters, void **extra)
{
    struct driver_stream *stream;
    struct driver_operation *operation;
    CUresult result = driver_stream_of(stream_handle, &stream);
    if (result != CUDA_SUCCESS) return result;
    struct driver_function *function = driver_function_of(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    result = driver_launch_create(&operation, function, grid, block, dynamic_shared, parameters, extra);
    return result == CUDA_SUCCESS ? driver_submit(stream, operation) : result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
    DRIVER_ENTER(DRIVER_USUAL);
    const uint32_t grid[3] = {gridDimX, gridDimY, gridDimZ}, block[3] = {blockDimX, blockDimY, blockDimZ};
    return launch(f, grid, block, sharedMemBytes, hStream, kernelParams, extra);
}

/* Attributes that change nothing here are ignored; those that a kernel would notice are refused. */
static CUresult launch_attribute(const CUlaunchAttribute *attribute)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return attribute->value.cooperative ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        return (uint64_t)attribute->value.clusterDim.x * attribute->value.clusterDim.y *
                           attribute->value.clusterDim.z >
                       1
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_SUCCESS;
    }
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        CUresult result = launch_attribute(&config->attrs[i]);
        if (result != CUDA_SUCCESS) return result;
    }
    const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const uint32_t block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    return launch(f, grid, block, config->sharedMemBytes, config->hStream, kernelParams, extra);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    struct driver_operation *operation = driver_operation_create(OPERATION_HOST);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->host = (struct driver_callback){.function = fn, .data = userData};
    return driver_submit(stream, operation);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_stream *stream;
    CUresult result = driver_stream_of(hStream, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (!callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) {
        driver_capture_spoil(stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    struct driver_operation *operation = driver_operation_create(OPERATION_HOST);
    if (!operation) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->host = (struct driver_callback){.callback = callback, .data = userData};
    return driver_submit(stream, operation);
}
