/* SPDX-License-Identifier: Apache-2.0
 * The stand-in runtime (libcudart.so.13), inside view. It keeps what the runtime API adds to the driver API
 * (registered kernels and variables, a device and a last error in each thread) and forwards all else to
 * libcuda.so.1, which it reaches as NVIDIA's does: dlopen, one dlsym of cuGetProcAddress_v2, then one batch
 * of queries. */
#ifndef KFUSE_EMULATOR_CUDART_H
#define KFUSE_EMULATOR_CUDART_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <cudaTypedefs.h>

/* What NVIDIA's header declares is exported; all else is hidden. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
#define CUDART_EXPORT __attribute__((visibility("default")))

/* --- the driver and the calling thread: cudart_state.c --- */
/* Every entry point that the runtime uses. One that the driver lacks names itself in the log and returns
 * CUDA_ERROR_NOT_SUPPORTED. Valid after cudart_open. */
struct cudart_driver {
#define DRIVER(name, version) PFN_cu##name##_v##version name;
#include "emulator/cudart_driver.def"
#undef DRIVER
};
extern struct cudart_driver cudart_driver;

/* Loads and initialises the driver, once. */
cudaError_t cudart_open(void);
/* The same, and gives the calling thread a context: the one it has, or its device's primary one. */
cudaError_t cudart_enter(void);
/* Keeps error as the thread's last one, and returns it. */
cudaError_t cudart_return(cudaError_t error);
/* What functions without an implementation return: names itself in the log, once. */
cudaError_t cudart_unsupported(const char *name, bool *is_said);
CUdevice cudart_device(void);

/* --- registered kernels and variables: cudart_module.c --- */
/* The kernel behind a host function, or behind a handle given as one; its module is loaded at first use. */
cudaError_t cudart_kernel(const void *function, CUkernel *kernel);
/* Why a host stub has no handle for its kernel: it asks once, and launches with what it got. */
cudaError_t cudart_kernel_error(void);
/* The device address and the size of the variable behind a host symbol. */
cudaError_t cudart_variable(const void *symbol, CUdeviceptr *address, size_t *size);

/* Streams of the per-thread variants (_ptsz, _ptds) of entry points: NULL means the thread's own. */
static inline cudaStream_t cudart_thread_stream(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

#endif
