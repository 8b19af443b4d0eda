/* SPDX-License-Identifier: Apache-2.0
 * Functions and kernels: attributes, parameters, occupancy. A CUkernel belongs to a library, a CUfunction to
 * a module; each call takes the one that its name says, as the real driver does. */
#include "emulator/driver.h"

static struct driver_function *kernel_function(CUkernel handle)
{
    return driver_object_is(handle, DRIVER_KERNEL) ? ((struct driver_kernel *)handle)->function : NULL;
}

static struct driver_function *function_itself(CUfunction handle)
{
    return driver_object_is(handle, DRIVER_FUNCTION) ? (struct driver_function *)handle : NULL;
}

struct driver_function *driver_function_of(CUfunction handle)
{
    struct driver_function *function = function_itself(handle);
    return function ? function : kernel_function((CUkernel)handle);
}

/* Threads of a block that the function's registers allow. */
static int function_threads(const struct driver_function *function)
{
    uint32_t most = function->info.max_threads ? function->info.max_threads : 1024;
    while (most > 32 && emu_clock_occupancy(&function->info, most, 0) == 0) most -= 32;
    return (int)most;
}

static CUresult function_attribute(const struct driver_function *function, CUfunction_attribute attribute,
                                   int *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch ((unsigned)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = function_threads(function);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)function->info.static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)function->info.constant_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)function->info.local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)function->info.registers;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = (int)function->module->sm;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = DRIVER_SM;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->dynamic_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = function->carveout;
        break;
    default:
        if ((unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
        *value = 0; /* clusters, caching of global loads */
    }
    return CUDA_SUCCESS;
}

static CUresult function_set_attribute(struct driver_function *function, CUfunction_attribute attribute,
                                       int value)
{
    int most = (int)emu_clock_device.shared_per_block_optin - (int)function->info.static_shared;
    switch ((unsigned)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult function_parameter(const struct driver_function *function, size_t index, size_t *offset,
                                   size_t *size)
{
    uint32_t start, bytes;
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    if (index >= function->info.parameter_count ||
        !emu_kernel_parameter(function->kernel, (uint32_t)index, &start, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *offset = start;
    if (size) *size = bytes;
    return CUDA_SUCCESS;
}

/* --- functions --- */

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    DRIVER_ENTER(DRIVER_USUAL);
    const struct driver_function *function = function_itself(hfunc);
    return function ? function_attribute(function, attrib, pi) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    DRIVER_ENTER(DRIVER_USUAL);
    struct driver_function *function = function_itself(hfunc);
    return function ? function_set_attribute(function, attrib, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const struct driver_function *function = function_itself(hfunc);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *name = function->info.name;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!hmod) return CUDA_ERROR_INVALID_VALUE;
    const struct driver_function *function = function_itself(hfunc);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *hmod = (CUmodule)function->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    DRIVER_ENTER(DRIVER_USUAL);
    const struct driver_function *function = function_itself(func);
    return function ? function_parameter(function, paramIndex, paramOffset, paramSize)
                    : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    return driver_function_of(hfunc) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    DRIVER_ENTER(DRIVER_USUAL);
    (void)config;
    return driver_function_of(hfunc) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    if (!function_itself(function)) return CUDA_ERROR_INVALID_HANDLE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return function_itself(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- kernels --- */

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    DRIVER_ENTER(DRIVER_USUAL);
    if (!pFunc) return CUDA_ERROR_INVALID_VALUE;
    struct driver_function *function = kernel_function(kernel);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *pFunc = (CUfunction)function;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!pLib) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_object_is(kernel, DRIVER_KERNEL)) return CUDA_ERROR_INVALID_HANDLE;
    *pLib = (CUlibrary)((struct driver_kernel *)kernel)->library;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const struct driver_function *function = kernel_function(hfunc);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *name = function->info.name;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    DRIVER_ENTER(DRIVER_OPEN);
    const struct driver_function *function = kernel_function(kernel);
    return function ? function_parameter(function, paramIndex, paramOffset, paramSize)
                    : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    const struct driver_function *function = kernel_function(kernel);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    return function ? function_attribute(function, attrib, pi) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    struct driver_function *function = kernel_function(kernel);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    return function ? function_set_attribute(function, attrib, val) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    (void)config;
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    return kernel_function(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- occupancy --- */

static CUresult occupancy_blocks(int *blocks, CUfunction handle, int threads, size_t dynamic_shared)
{
    const struct driver_function *function = driver_function_of(handle);
    if (!blocks || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *blocks = threads > 1024
                  ? 0
                  : (int)emu_clock_occupancy(&function->info, (uint32_t)threads, (uint32_t)dynamic_shared);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return occupancy_blocks(numBlocks, func, blockSize, dynamicSMemSize);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    (void)flags;
    return occupancy_blocks(numBlocks, func, blockSize, dynamicSMemSize);
}

/* The program's function may call the driver. */
static size_t occupancy_shared(CUoccupancyB2DSize shared_of, int threads)
{
    driver_unlock();
    size_t bytes = shared_of(threads);
    driver_lock();
    return bytes;
}

/* The block size with most resident threads; the largest of equals. */
static CUresult occupancy_best(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
                               size_t shared, int limit)
{
    const struct driver_function *function = driver_function_of(handle);
    if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    int most = function_threads(function), best = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int size = (most + 31) / 32 * 32; size > 0; size -= 32) {
        int threads = size < most ? size : most;
        size_t bytes = shared_of ? occupancy_shared(shared_of, threads) : shared;
        int blocks = (int)emu_clock_occupancy(&function->info, (uint32_t)threads, (uint32_t)bytes);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * (int)emu_clock_device.multiprocessors;
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit)
{
    DRIVER_ENTER(DRIVER_USUAL);
    return occupancy_best(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                          blockSizeLimit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    DRIVER_ENTER(DRIVER_USUAL);
    (void)flags;
    return occupancy_best(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                          blockSizeLimit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func, int numBlocks,
                                                 int blockSize)
{
    DRIVER_ENTER(DRIVER_USUAL);
    const struct driver_function *function = driver_function_of(func);
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    int64_t each = emu_clock_device.shared_per_multiprocessor / numBlocks - emu_clock_device.shared_reserved;
    int64_t bytes = each - function->info.static_shared;
    if (bytes > function->dynamic_shared) bytes = function->dynamic_shared;
    *dynamicSmemSize = bytes > 0 ? (size_t)bytes : 0;
    return CUDA_SUCCESS;
}
