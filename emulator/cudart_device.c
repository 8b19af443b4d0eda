/* SPDX-License-Identifier: Apache-2.0
 * What a program may ask about the device, the versions, the errors and the driver's entry points. */
#include "emulator/cudart.h"

#include <string.h>

CUDART_EXPORT cudaError_t cudaProfilerStart(void);
CUDART_EXPORT cudaError_t cudaProfilerStop(void);
CUDART_EXPORT cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *driverStatus);
CUDART_EXPORT cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus);

/* --- the device --- */

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    int value, count = 0;
    CUuuid uuid;
    if (!prop) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudart_open();
    if (error == cudaSuccess) error = (cudaError_t)cudart_driver.DeviceGetCount(&count);
    if (error == cudaSuccess && (device < 0 || device >= count)) error = cudaErrorInvalidDevice;
    if (error != cudaSuccess) return cudart_return(error);
    memset(prop, 0, sizeof *prop);
    error = (cudaError_t)cudart_driver.DeviceGetName(prop->name, sizeof prop->name, device);
    if (error == cudaSuccess)
        error = (cudaError_t)cudart_driver.DeviceTotalMem(&prop->totalGlobalMem, device);
    if (error != cudaSuccess) return cudart_return(error);
    if (cudart_driver.DeviceGetUuid(&uuid, device) == CUDA_SUCCESS) memcpy(&prop->uuid, &uuid, sizeof uuid);
#define PROPERTY(field, attribute)                                                                           \
    if (cudart_driver.DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device) == CUDA_SUCCESS)   \
        prop->field = value;
#include "emulator/cudart_properties.def"
#undef PROPERTY
    return cudaSuccess;
}

/* The first device that is as capable as asked for; the first one at all if none is. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    int count = 0;
    struct cudaDeviceProp found;
    if (!device || !prop) return cudart_return(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDeviceCount(&count);
    *device = 0;
    for (int i = 0; i < count && error == cudaSuccess; i++) {
        error = cudaGetDeviceProperties(&found, i);
        if (found.major * 10 + found.minor < prop->major * 10 + prop->minor) continue;
        *device = i;
        break;
    }
    return error;
}

/* --- versions --- */

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion) return cudart_return(cudaErrorInvalidValue);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    if (!driverVersion) return cudart_return(cudaErrorInvalidValue);
    *driverVersion = 0;
    cudaError_t error = cudart_open();
    if (error == cudaErrorInsufficientDriver) return cudaSuccess; /* documented: no driver is version 0 */
    return cudart_return(error == cudaSuccess ? (cudaError_t)cudart_driver.DriverGetVersion(driverVersion)
                                              : error);
}

/* Profilers that follow the driver see the program's calls anyway; there is nothing to start or stop here. */
cudaError_t cudaProfilerStart(void)
{
    return cudart_return(cudart_enter());
}

cudaError_t cudaProfilerStop(void)
{
    return cudart_return(cudart_enter());
}

/* --- errors --- */

static const struct error_text {
    int number;
    const char *name, *text;
} error_texts[] = {
#define ERROR(number, driver, runtime, text) {number, #runtime, text},
#include "emulator/errors.def"
#undef ERROR
};

static const struct error_text *find_error(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof *error_texts; i++)
        if (error_texts[i].number == (int)error && strcmp(error_texts[i].name, "NONE") != 0)
            return &error_texts[i];
    return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const struct error_text *found = find_error(error);
    return found ? found->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const struct error_text *found = find_error(error);
    return found ? found->text : "unrecognized error code";
}

/* --- the driver's entry points --- */

static cudaError_t find_entry(const char *symbol, void **entry, unsigned version, unsigned long long flags,
                              enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !entry) return cudart_return(cudaErrorInvalidValue);
    *entry = NULL;
    cudaError_t error = cudart_enter();
    if (error != cudaSuccess) return cudart_return(error);
    CUresult result = cudart_driver.GetProcAddress(symbol, entry, (int)version, flags, &found);
    if (status) *status = (enum cudaDriverEntryPointQueryResult)found;
    return cudart_return(result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : (cudaError_t)result);
}

static unsigned long long thread_flags(unsigned long long flags)
{
    return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return find_entry(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr, unsigned long long flags,
                                         enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return find_entry(symbol, funcPtr, CUDART_VERSION, thread_flags(flags), driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return find_entry(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **funcPtr,
                                                  unsigned int cudaVersion, unsigned long long flags,
                                                  enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return find_entry(symbol, funcPtr, cudaVersion, thread_flags(flags), driverStatus);
}
