/* SPDX-License-Identifier: Apache-2.0
 * cuInit, the one device and what it says of itself (driver_attributes.def), errors' names (errors.def), and
 * calls that have nothing to do here. */
#include "emulator/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char device_name[] = "kfuse emulator (H100 model)";
static const char device_bus[] = "0000:00:06.0";
/* As the 80 GB of an H100 after what its driver keeps; untouched pages cost nothing. */
static const uint64_t device_memory = 85017493504;
enum { LEAST_MEMORY = 1 << 29 }; /* where so many addresses cannot be had, as under valgrind */

CUresult cuInit(unsigned int Flags)
{
    DRIVER_ENTER(0);
    if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (driver.is_initialised) return CUDA_SUCCESS;
    for (uint64_t capacity = device_memory; !emu_memory_open(capacity); capacity /= 2)
        if (capacity < LEAST_MEMORY) return CUDA_ERROR_OUT_OF_MEMORY;
    driver.is_initialised = true;
    atexit(driver_close); /* before what the program has registered up to now, as NVIDIA's driver does */
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion) return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
}

static CUresult device_check(const void *result, CUdevice device)
{
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = len > 0 ? device_check(name, dev) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) snprintf(name, (size_t)len, "%s", device_name);
    return result;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = device_check(uuid, dev);
    if (result == CUDA_SUCCESS) memcpy(uuid->bytes, "kfuse-emulator-0", sizeof uuid->bytes);
    return result;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = device_check(bytes, dev);
    if (result == CUDA_SUCCESS) *bytes = device_memory;
    return result;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = device_check(major && minor ? major : NULL, dev);
    if (result != CUDA_SUCCESS) return result;
    *major = DRIVER_SM / 10;
    *minor = DRIVER_SM % 10;
    return CUDA_SUCCESS;
}

static bool device_attribute(CUdevice_attribute attribute, int *value)
{
    switch ((unsigned)attribute) {
#define ATTRIBUTE(name, number)                                                                              \
    case CU_DEVICE_ATTRIBUTE_##name:                                                                         \
        *value = number;                                                                                     \
        return true;
#define LACKING(name)                                                                                        \
    case CU_DEVICE_ATTRIBUTE_##name:                                                                         \
        *value = 0;                                                                                          \
        return true;
#include "emulator/driver_attributes.def"
#undef ATTRIBUTE
#undef LACKING
    }
    return false;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = device_check(pi, dev);
    if (result != CUDA_SUCCESS) return result;
    return device_attribute(attrib, pi) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = device_check(prop, dev);
    if (result != CUDA_SUCCESS) return result;
    *prop = (CUdevprop){.maxThreadsPerBlock = 1024,
                        .maxThreadsDim = {1024, 1024, 64},
                        .maxGridSize = {2147483647, 65535, 65535},
                        .sharedMemPerBlock = 49152,
                        .totalConstantMemory = 65536,
                        .SIMDWidth = 32,
                        .memPitch = 2147483647,
                        .regsPerBlock = 65536,
                        .clockRate = 1980000,
                        .textureAlign = 512};
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    CUresult result = len > 0 ? device_check(pciBusId, dev) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) snprintf(pciBusId, (size_t)len, "%s", device_bus);
    return result;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!dev || !pciBusId) return CUDA_ERROR_INVALID_VALUE;
    if (strcmp(pciBusId, device_bus) != 0) return CUDA_ERROR_INVALID_DEVICE;
    *dev = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!canAccessPeer) return CUDA_ERROR_INVALID_VALUE;
    if (dev != 0 || peerDev != 0) return CUDA_ERROR_INVALID_DEVICE;
    *canAccessPeer = 0; /* a device is not its own peer */
    return CUDA_SUCCESS;
}

/* --- errors --- */

struct device_error {
    int number;
    const char *name, *text;
};
static const struct device_error *device_error(CUresult error)
{
    static const struct device_error errors[] = {
#define ERROR(number, name, runtime_name, text) {number, #name, text},
#include "emulator/errors.def"
#undef ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == (int)error && strcmp(errors[i].name, "NONE") != 0) return &errors[i];
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    const struct device_error *found = device_error(error);
    *pStr = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    const struct device_error *found = device_error(error);
    *pStr = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- nothing to do --- */

CUresult cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    DRIVER_ENTER(DRIVER_OPEN);
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
