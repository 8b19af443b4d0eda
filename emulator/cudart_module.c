/* SPDX-License-Identifier: Apache-2.0
 * Registered modules: what the host stubs of nvcc say at start (__cudaRegister...), and the kernels and
 * variables found in them later. A module is loaded at the first use of anything in it. */
#include "emulator/cudart.h"

#include "common/log.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* else uthash exits */
#include <uthash.h>

struct module {
    const void *wrapper;
    CUlibrary library; /* NULL until first use */
    struct module *next;
};
struct symbol { /* a kernel or a variable */
    const void *host;
    const char *name;
    struct module *module;
    CUkernel kernel;
    void **managed;      /* where the host keeps a managed variable's address */
    CUdeviceptr address; /* of a managed variable, once known */
    size_t size;
    UT_hash_handle hh;
};

static struct {
    pthread_mutex_t lock;
    struct module *modules;
    struct symbol *kernels, *variables; /* uthash by host address */
    _Atomic cudaError_t kernel_error;   /* why the last kernel that a host stub asked for was not found */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- registering --- */

CUDART_EXPORT void **__cudaRegisterFatBinary(void *fatCubin);
CUDART_EXPORT void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
CUDART_EXPORT void __cudaUnregisterFatBinary(void **fatCubinHandle);
CUDART_EXPORT void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                          const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
                                          dim3 *bDim, dim3 *gDim, int *wSize);
CUDART_EXPORT void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                                     const char *deviceName, int ext, size_t size, int constant, int global);
CUDART_EXPORT void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                            char *deviceAddress, const char *deviceName, int ext, size_t size,
                                            int constant, int global);
CUDART_EXPORT char __cudaInitModule(void **fatCubinHandle);
CUDART_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr);

void **__cudaRegisterFatBinary(void *fatCubin)
{
    struct module *module = calloc(1, sizeof *module);
    if (!module) return NULL;
    module->wrapper = fatCubin;
    pthread_mutex_lock(&registry.lock);
    module->next = registry.modules;
    registry.modules = module;
    pthread_mutex_unlock(&registry.lock);
    return (void **)module;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

static void forget(struct symbol **table, const struct module *module)
{
    struct symbol *symbol, *next;
    HASH_ITER(hh, *table, symbol, next)
    {
        if (symbol->module != module) continue;
        HASH_DEL(*table, symbol);
        free(symbol);
    }
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    struct module *module = (struct module *)fatCubinHandle, **link = &registry.modules;
    if (!module) return;
    pthread_mutex_lock(&registry.lock);
    while (*link && *link != module) link = &(*link)->next;
    bool is_known = *link;
    CUlibrary library = NULL;
    if (is_known) {
        *link = module->next;
        library = module->library;
        forget(&registry.kernels, module);
        forget(&registry.variables, module);
        free(module);
    }
    pthread_mutex_unlock(&registry.lock);
    if (library) (void)cudart_driver.LibraryUnload(library);
}

/* With the lock. */
static void put_symbol(struct symbol **table, struct symbol entry)
{
    struct symbol *symbol = malloc(sizeof *symbol), *old;
    if (!symbol) return;
    *symbol = entry;
    HASH_REPLACE_PTR(*table, host, symbol, old);
    free(old);
}

static void enter_symbol(struct symbol **table, struct symbol entry)
{
    if (!entry.module) return;
    pthread_mutex_lock(&registry.lock);
    put_symbol(table, entry);
    pthread_mutex_unlock(&registry.lock);
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                            const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim,
                            dim3 *gDim, int *wSize)
{
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    enter_symbol(
        &registry.kernels,
        (struct symbol){.host = hostFun, .name = deviceName, .module = (struct module *)fatCubinHandle});
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
                       int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    enter_symbol(&registry.variables, (struct symbol){.host = hostVar,
                                                      .name = deviceName,
                                                      .module = (struct module *)fatCubinHandle,
                                                      .size = size});
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    enter_symbol(&registry.variables, (struct symbol){.host = hostVarPtrAddress,
                                                      .name = deviceName,
                                                      .size = size,
                                                      .module = (struct module *)fatCubinHandle,
                                                      .managed = hostVarPtrAddress});
}

/* --- finding; with the lock --- */

static cudaError_t load(struct module *module)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (module->library) return cudaSuccess;
    cudart_driver.ThreadExchangeStreamCaptureMode(&mode); /* the first launch may be in a capture */
    cudaError_t error = (cudaError_t)cudart_driver.LibraryLoadData(&module->library, module->wrapper, NULL,
                                                                   NULL, 0, NULL, NULL, 0);
    cudart_driver.ThreadExchangeStreamCaptureMode(&mode);
    if (error != cudaSuccess) {
        module->library = NULL;
        log_write(LOG_ERROR, "cudart", "a module does not load: error %d", error);
    }
    return error;
}

static cudaError_t find_kernel(struct symbol *symbol, CUkernel *kernel)
{
    *kernel = symbol->kernel;
    if (*kernel) return cudaSuccess;
    cudaError_t error = load(symbol->module);
    if (error == cudaSuccess)
        error = (cudaError_t)cudart_driver.LibraryGetKernel(kernel, symbol->module->library, symbol->name);
    if (error != cudaSuccess)
        return error == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : error;
    symbol->kernel = *kernel;
    struct symbol handle = *symbol; /* from now on the handle may stand for the function */
    handle.host = *kernel;
    put_symbol(&registry.kernels, handle);
    return cudaSuccess;
}

/* The driver is not asked for the size, as NVIDIA's runtime does not ask it either. */
static cudaError_t find_variable(struct symbol *symbol, CUdeviceptr *address, size_t *size)
{
    cudaError_t error = load(symbol->module);
    if (error != cudaSuccess) return error;
    CUlibrary library = symbol->module->library;
    error =
        (cudaError_t)(symbol->managed ? cudart_driver.LibraryGetManaged(address, NULL, library, symbol->name)
                                      : cudart_driver.LibraryGetGlobal(address, NULL, library, symbol->name));
    *size = symbol->size;
    if (error == cudaSuccess && symbol->managed) {
        symbol->address = *address;
        *symbol->managed = (void *)(uintptr_t)*address;
    }
    return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}

cudaError_t cudart_kernel(const void *function, CUkernel *kernel)
{
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess) return error;
    struct symbol *symbol = NULL;
    pthread_mutex_lock(&registry.lock);
    HASH_FIND_PTR(registry.kernels, &function, symbol);
    error = symbol ? find_kernel(symbol, kernel) : cudaErrorInvalidDeviceFunction;
    pthread_mutex_unlock(&registry.lock);
    return error;
}

/* A managed variable is named by the place of its address or, once it has one, by the address. */
static struct symbol *find_managed(const void *address)
{
    struct symbol *symbol = registry.variables;
    while (symbol && !(symbol->managed && symbol->address == (CUdeviceptr)(uintptr_t)address))
        symbol = symbol->hh.next;
    return symbol;
}

cudaError_t cudart_variable(const void *host, CUdeviceptr *address, size_t *size)
{
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess) return error;
    struct symbol *symbol = NULL;
    pthread_mutex_lock(&registry.lock);
    if (host) HASH_FIND_PTR(registry.variables, &host, symbol);
    if (host && !symbol) symbol = find_managed(host);
    error = symbol ? find_variable(symbol, address, size) : cudaErrorInvalidSymbol;
    pthread_mutex_unlock(&registry.lock);
    return error;
}

char __cudaInitModule(void **fatCubinHandle)
{
    if (!fatCubinHandle || cudart_return(cudart_enter()) != cudaSuccess) return 0;
    CUdeviceptr address;
    size_t size;
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&registry.lock);
    for (struct symbol *symbol = registry.variables; symbol && error == cudaSuccess; symbol = symbol->hh.next)
        if (symbol->managed && symbol->module == (struct module *)fatCubinHandle)
            error = find_variable(symbol, &address, &size);
    pthread_mutex_unlock(&registry.lock);
    return cudart_return(error) == cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    if (!kernelPtr) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_kernel(entryFuncAddr, kernelPtr);
    if (error != cudaSuccess) *kernelPtr = NULL, registry.kernel_error = error;
    return cudart_return(error);
}

cudaError_t cudart_kernel_error(void)
{
    cudaError_t error = registry.kernel_error;
    return error != cudaSuccess ? error : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    if (!kernelPtr) return cudart_return(cudaErrorInvalidValue);
    return cudart_return(cudart_kernel(entryFuncAddr, kernelPtr));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    if (!pKernel) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.LibraryGetKernel(pKernel, library, name);
    if (error != cudaSuccess) return cudart_return(error);
    pthread_mutex_lock(&registry.lock);
    put_symbol(&registry.kernels, (struct symbol){.host = *pKernel, .kernel = *pKernel});
    pthread_mutex_unlock(&registry.lock);
    return cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    CUkernel kernel;
    if (!functionPtr) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_kernel(symbolPtr, &kernel);
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.KernelGetFunction(functionPtr, kernel);
    return cudart_return(error);
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t size;
    if (!devPtr) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_variable(symbol, &address, &size);
    if (error == cudaSuccess) *devPtr = (void *)(uintptr_t)address;
    return cudart_return(error);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    if (!size) return cudart_return(cudaErrorInvalidValue);
    return cudart_return(cudart_variable(symbol, &address, size));
}
