/* SPDX-License-Identifier: Apache-2.0
 * Launches, by <<<>>> and by call, and what a program may ask of a kernel or set on it. */
#include "emulator/cudart.h"

#include <stdint.h>
#include <string.h>

enum { LAUNCH_DEPTH = 16 };

CUDART_EXPORT unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                   void *stream);
CUDART_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                                     void *stream);
CUDART_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                             size_t sharedMem, cudaStream_t stream);
CUDART_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                                  void **args, size_t sharedMem, cudaStream_t stream);
CUDART_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                                size_t sharedMem, cudaStream_t stream);
CUDART_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim,
                                                           void **args, size_t sharedMem,
                                                           cudaStream_t stream);
CUDART_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
                                                   void **args);

/* --- the configuration between <<< and >>> --- */

struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
static _Thread_local struct {
    struct configuration stack[LAUNCH_DEPTH];
    unsigned depth;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream)
{
    if (pushed.depth == LAUNCH_DEPTH) return 1;
    pushed.stack[pushed.depth++] =
        (struct configuration){.grid = gridDim, .block = blockDim, .shared = sharedMem, .stream = stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
    if (pushed.depth == 0) return cudart_return(cudaErrorMissingConfiguration);
    const struct configuration *top = &pushed.stack[--pushed.depth];
    *gridDim = top->grid;
    *blockDim = top->block;
    *sharedMem = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

/* --- launches --- */

static bool exceeds(unsigned value, CUdevice_attribute limit)
{
    int most = 0;
    return value == 0 || (cudart_driver.DeviceGetAttribute(&most, limit, cudart_device()) == CUDA_SUCCESS &&
                          value > (unsigned)most);
}

/* The driver calls a bad grid or block an invalid value; the runtime has an error of its own for them. */
static cudaError_t explain(cudaError_t error, dim3 grid, dim3 block)
{
    if (error != cudaErrorInvalidValue) return error;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool is_bad = threads > UINT32_MAX ||
                  exceeds((unsigned)threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
                  exceeds(grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
                  exceeds(grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) ||
                  exceeds(grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) ||
                  exceeds(block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
                  exceeds(block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) ||
                  exceeds(block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    return is_bad ? cudaErrorInvalidConfiguration : error;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t stream, bool is_cooperative)
{
    if (shared > UINT32_MAX) return cudart_return(cudaErrorInvalidValue);
    PFN_cuLaunchKernel_v4000 plain = cudart_driver.LaunchKernel;
    CUfunction function = (CUfunction)kernel;
    CUresult result = is_cooperative ? cudart_driver.LaunchCooperativeKernel(function, grid.x, grid.y, grid.z,
                                                                             block.x, block.y, block.z,
                                                                             (unsigned)shared, stream, args)
                                     : plain(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             (unsigned)shared, stream, args, NULL);
    return cudart_return(explain((cudaError_t)result, grid, block));
}

static cudaError_t launch_handle(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                 cudaStream_t stream)
{
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && !kernel) error = cudart_kernel_error();
    return error == cudaSuccess ? launch(kernel, grid, block, args, shared, stream, false)
                                : cudart_return(error);
}

static cudaError_t launch_function(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                   cudaStream_t stream, bool is_cooperative)
{
    CUkernel kernel;
    cudaError_t error = cudart_kernel(function, &kernel);
    return error == cudaSuccess ? launch(kernel, grid, block, args, shared, stream, is_cooperative)
                                : cudart_return(error);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                               size_t sharedMem, cudaStream_t stream)
{
    return launch_handle(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream)
{
    return launch_handle(kernel, gridDim, blockDim, args, sharedMem, cudart_thread_stream(stream));
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                             cudaStream_t stream)
{
    return launch_function(func, gridDim, blockDim, args, sharedMem, stream, false);
}

cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                  size_t sharedMem, cudaStream_t stream)
{
    return launch_function(func, gridDim, blockDim, args, sharedMem, cudart_thread_stream(stream), false);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                        size_t sharedMem, cudaStream_t stream)
{
    return launch_function(func, gridDim, blockDim, args, sharedMem, stream, true);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                             size_t sharedMem, cudaStream_t stream)
{
    return launch_function(func, gridDim, blockDim, args, sharedMem, cudart_thread_stream(stream), true);
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute),
               "launch attributes are handed on as they are");

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config, cudaStream_t stream)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
}

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *function, void **args,
                                 cudaStream_t stream)
{
    CUkernel kernel;
    if (!config || config->dynamicSmemBytes > UINT32_MAX) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_kernel(function, &kernel);
    if (error != cudaSuccess) return cudart_return(error);
    CUlaunchConfig given = driver_config(config, stream);
    error = (cudaError_t)cudart_driver.LaunchKernelEx(&given, (CUfunction)kernel, args, NULL);
    return cudart_return(explain(error, config->gridDim, config->blockDim));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    return launch_config(config, func, args, config ? config->stream : NULL);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    return launch_config(config, func, args, config ? cudart_thread_stream(config->stream) : NULL);
}

/* --- kernels --- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    CUkernel kernel;
    if (!attr) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_kernel(func, &kernel);
    if (error != cudaSuccess) return cudart_return(error);
    memset(attr, 0, sizeof *attr);
    int value;
#define ATTRIBUTE(field, attribute)                                                                          \
    value = 0;                                                                                               \
    if (error == cudaSuccess)                                                                                \
        error = (cudaError_t)cudart_driver.KernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_##attribute, kernel, \
                                                              cudart_device());                              \
    attr->field = value;
    ATTRIBUTE(sharedSizeBytes, SHARED_SIZE_BYTES)
    ATTRIBUTE(constSizeBytes, CONST_SIZE_BYTES)
    ATTRIBUTE(localSizeBytes, LOCAL_SIZE_BYTES)
    ATTRIBUTE(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)
    ATTRIBUTE(numRegs, NUM_REGS)
    ATTRIBUTE(ptxVersion, PTX_VERSION)
    ATTRIBUTE(binaryVersion, BINARY_VERSION)
    ATTRIBUTE(cacheModeCA, CACHE_MODE_CA)
    ATTRIBUTE(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES)
    ATTRIBUTE(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT)
    ATTRIBUTE(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET)
    ATTRIBUTE(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH)
    ATTRIBUTE(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT)
    ATTRIBUTE(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH)
    ATTRIBUTE(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE)
    ATTRIBUTE(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
#undef ATTRIBUTE
    return cudart_return(error);
}

#define KERNEL_CALL(name, parameters, call)                                                                  \
    cudaError_t name parameters                                                                              \
    {                                                                                                        \
        CUkernel kernel;                                                                                     \
        cudaError_t error = cudart_kernel(func, &kernel);                                                    \
        if (error == cudaSuccess) error = (cudaError_t)cudart_driver.call;                                   \
        return cudart_return(error);                                                                         \
    }
#include "emulator/cudart_kernel.def"
#undef KERNEL_CALL

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    CUkernel kernel; /* since Maxwell there is one width of banks */
    if ((unsigned)config > cudaSharedMemBankSizeEightByte) return cudart_return(cudaErrorInvalidValue);
    return cudart_return(cudart_kernel(func, &kernel));
}
