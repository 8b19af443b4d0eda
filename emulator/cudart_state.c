/* SPDX-License-Identifier: Apache-2.0
 * The way to the driver, the primary contexts, and what each thread has of its own: a device, a context made
 * ready, the last error. A device reset begins a new generation, in which every thread gets its context
 * again. */
#include "emulator/cudart.h"

#include "common/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CUDART_DEVICES = 64 };

struct cudart_driver cudart_driver;

static pthread_once_t state_once = PTHREAD_ONCE_INIT;
static cudaError_t state_open_error;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext state_primary[CUDART_DEVICES]; /* retained in this generation */
static atomic_uint state_generation = 1;

static _Thread_local struct {
    int device;
    unsigned generation; /* in which this thread was given its context */
    CUcontext context;   /* the primary one that it was given */
    cudaError_t error;
} state_thread;

/* --- errors --- */

/* Errors after which a context is of no more use; asking for the last error does not clear them. */
static bool is_sticky(cudaError_t error)
{
    return error == cudaErrorECCUncorrectable || error == cudaErrorIllegalAddress ||
           error == cudaErrorLaunchTimeout || error == cudaErrorAssert ||
           (error >= cudaErrorHardwareStackError && error <= cudaErrorLaunchFailure);
}

cudaError_t cudart_return(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady) state_thread.error = error;
    return error;
}

/* A driver that cannot be used is an error of every call, of these two as well. */
cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudart_open();
    if (error != cudaSuccess) return error;
    error = state_thread.error;
    if (!is_sticky(error)) state_thread.error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t error = cudart_open();
    return error == cudaSuccess ? state_thread.error : error;
}

cudaError_t cudart_unsupported(const char *name, bool *is_said)
{
    if (!*is_said) log_write(LOG_WARNING, "cudart", "%s is not supported", name);
    *is_said = true;
    return cudaErrorNotSupported;
}

/* --- the driver --- */

#define DRIVER(name, version)                                                                                \
    static CUresult missing_##name(void)                                                                     \
    {                                                                                                        \
        static bool is_said;                                                                                 \
        return (CUresult)cudart_unsupported("cu" #name, &is_said);                                           \
    }
#include "emulator/cudart_driver.def"
#undef DRIVER

static void find_entry(PFN_cuGetProcAddress_v12000 find, const char *name, int version, void **entry,
                       void *missing)
{
    CUdriverProcAddressQueryResult status;
    if (find(name, entry, version, 0, &status) != CUDA_SUCCESS || !*entry) {
        log_write(LOG_DEBUG, "cudart", "the driver has no %s of version %d", name, version);
        *entry = missing;
    }
}

static cudaError_t open_driver(void)
{
    log_open();
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!symbol) {
        log_write(LOG_ERROR, "cudart", "no usable driver: %s", dlerror());
        return cudaErrorInsufficientDriver;
    }
    PFN_cuGetProcAddress_v12000 find = (PFN_cuGetProcAddress_v12000)symbol;
    void *base = NULL;
    CUdriverProcAddressQueryResult status;
    (void)find("", &base, 0, 0, &status);
#define DRIVER(name, version)                                                                                \
    find_entry(find, "cu" #name, version, (void **)&cudart_driver.name, (void *)missing_##name);
#include "emulator/cudart_driver.def"
#undef DRIVER
    int version = 0;
    if (cudart_driver.DriverGetVersion(&version) != CUDA_SUCCESS || version / 1000 < CUDART_VERSION / 1000)
        return cudaErrorInsufficientDriver;
    return (cudaError_t)cudart_driver.Init(0);
}

static void open_once(void)
{
    state_open_error = open_driver();
}

cudaError_t cudart_open(void)
{
    pthread_once(&state_once, open_once);
    return state_open_error;
}

/* --- contexts --- */

static cudaError_t primary_context(int device, CUcontext *context)
{
    cudaError_t error = cudaSuccess;
    if (device < 0 || device >= CUDART_DEVICES) return cudaErrorInvalidDevice;
    pthread_mutex_lock(&state_lock);
    if (!state_primary[device])
        error = (cudaError_t)cudart_driver.DevicePrimaryCtxRetain(&state_primary[device], device);
    *context = state_primary[device];
    pthread_mutex_unlock(&state_lock);
    return error;
}

static cudaError_t use_device(int device)
{
    CUcontext context;
    unsigned generation = atomic_load(&state_generation);
    cudaError_t error = primary_context(device, &context);
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.CtxSetCurrent(context);
    if (error != cudaSuccess) return error;
    state_thread.device = device;
    state_thread.context = context;
    state_thread.generation = generation;
    return cudaSuccess;
}

cudaError_t cudart_enter(void)
{
    if (state_thread.generation == atomic_load_explicit(&state_generation, memory_order_acquire))
        return cudaSuccess;
    cudaError_t error = cudart_open();
    if (error != cudaSuccess) return error;
    CUcontext context = NULL;
    CUdevice device;
    error = (cudaError_t)cudart_driver.CtxGetCurrent(&context);
    if (error != cudaSuccess) return error;
    bool is_programs = context && context != state_thread.context;
    if (!is_programs || cudart_driver.CtxGetDevice(&device) != CUDA_SUCCESS)
        return use_device(state_thread.device);
    state_thread.device = device;
    state_thread.generation = atomic_load(&state_generation);
    return cudaSuccess;
}

CUdevice cudart_device(void)
{
    return state_thread.device;
}

static cudaError_t check_device(int device)
{
    int count = 0;
    cudaError_t error = cudart_open();
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.DeviceGetCount(&count);
    if (error == cudaSuccess && count == 0) return cudaErrorNoDevice;
    return error == cudaSuccess && (device < 0 || device >= count) ? cudaErrorInvalidDevice : error;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = check_device(device);
    return cudart_return(error == cudaSuccess ? use_device(device) : error);
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext context;
    cudaError_t error = check_device(device);
    if (error == cudaSuccess && (flags & cudaInitDeviceFlagsAreValid))
        error = (cudaError_t)cudart_driver.DevicePrimaryCtxSetFlags(device, deviceFlags);
    return cudart_return(error == cudaSuccess ? primary_context(device, &context) : error);
}

cudaError_t cudaGetDevice(int *device)
{
    CUcontext context = NULL;
    CUdevice current;
    if (!device) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = check_device(state_thread.device);
    if (error != cudaSuccess) return cudart_return(error);
    if (cudart_driver.CtxGetCurrent(&context) == CUDA_SUCCESS && context && context != state_thread.context &&
        cudart_driver.CtxGetDevice(&current) == CUDA_SUCCESS)
        state_thread.device = current;
    *device = state_thread.device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count) return cudart_return(cudaErrorInvalidValue);
    *count = 0;
    cudaError_t error = cudart_open();
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.DeviceGetCount(count);
    return cudart_return(error == cudaSuccess && *count == 0 ? cudaErrorNoDevice : error);
}

cudaError_t cudaDeviceReset(void)
{
    int device = state_thread.device;
    cudaError_t error = check_device(device);
    if (error != cudaSuccess) return cudart_return(error);
    pthread_mutex_lock(&state_lock);
    error = (cudaError_t)cudart_driver.DevicePrimaryCtxReset(device);
    state_primary[device] = NULL;
    atomic_fetch_add(&state_generation, 1);
    pthread_mutex_unlock(&state_lock);
    if (error == cudaSuccess) state_thread.error = cudaSuccess;
    return cudart_return(error);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t error = check_device(state_thread.device);
    if (error == cudaSuccess)
        error = (cudaError_t)cudart_driver.DevicePrimaryCtxSetFlags(state_thread.device,
                                                                    flags & ~(unsigned)cudaDeviceMapHost);
    return cudart_return(error);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    int is_active;
    if (!flags) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = check_device(state_thread.device);
    if (error == cudaSuccess)
        error = (cudaError_t)cudart_driver.DevicePrimaryCtxGetState(state_thread.device, flags, &is_active);
    if (error == cudaSuccess) *flags |= cudaDeviceMapHost;
    return cudart_return(error);
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
    cudaError_t error = cudart_open();
    for (int i = 0; device_arr && i < len && error == cudaSuccess; i++) error = check_device(device_arr[i]);
    if (error == cudaSuccess && device_arr && len > 0) state_thread.device = device_arr[0];
    return cudart_return(error);
}
