/* SPDX-License-Identifier: Apache-2.0
 * The fake driver library (SONAME libcuda.so.1). */
#define __CUDA_API_VERSION_INTERNAL
#include "tests/interpose/fake_driver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    LINES = 65536,
    PARAMETERS = 16,
    KERNELS = 256,
    PAGE = 4096,
    ALLOCATIONS = 65536,
    TIMES = 8,
    EVENTS = 4096
};
struct kernel {
    char name[128];
    size_t offsets[PARAMETERS], sizes[PARAMETERS];
    unsigned count;
    CUmodule module;
};

static struct {
    pthread_mutex_t lock;
    char *lines[LINES];
    size_t count;
    struct kernel kernels[KERNELS];
    unsigned kernel_count;
    uintptr_t next_address, next_handle;
    char fail_launch[64], fail_load[64], device[64];
    int fail_result, fail_box, fail_copy, is_capturing, is_busy;
    size_t memory, taken, sizes[ALLOCATIONS]; /* sizes: by page of the address; used up in a test: none */
    _Atomic unsigned slow, slow_copy;         /* a test sets them while other threads are in the driver */
    _Atomic unsigned slow_copies, let_go;
    struct {
        char prefix[64];
        unsigned ns;
    } times[TIMES];
    unsigned time_count;
    int fail_event_creation, fail_event_record;
    uint64_t clock_ns, events[EVENTS]; /* by handle */
    _Atomic int64_t host_ns;           /* 0: the machine's */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .next_address = 0x10000,
          .memory = (size_t)1 << 30,
          .next_handle = 0x1000,
          .device = "fake device"};
static __thread CUcontext current, below; /* a stack of two */

/* --- control --- */

EXPORT void fake_log(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&fake.lock);
    if (fake.count < LINES) fake.lines[fake.count++] = strdup(line);
    FILE *file = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", line);
        fclose(file);
    }
    pthread_mutex_unlock(&fake.lock);
}

EXPORT size_t fake_count(void)
{
    pthread_mutex_lock(&fake.lock);
    size_t count = fake.count;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

EXPORT const char *fake_line(size_t index)
{
    return index < fake_count() ? fake.lines[index] : "";
}

EXPORT void fake_clear(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.count = 0;
    pthread_mutex_unlock(&fake.lock);
}

EXPORT void fake_fail_launch(const char *prefix, int result)
{
    snprintf(fake.fail_launch, sizeof fake.fail_launch, "%s", prefix ? prefix : "");
    fake.fail_result = result;
}

EXPORT void fake_fail_load(const char *prefix)
{
    snprintf(fake.fail_load, sizeof fake.fail_load, "%s", prefix ? prefix : "");
}

EXPORT void fake_set_time(const char *prefix, unsigned nanoseconds)
{
    unsigned i = 0;
    while (i < fake.time_count && strcmp(fake.times[i].prefix, prefix)) i++;
    if (i == fake.time_count && fake.time_count++ == TIMES) abort();
    snprintf(fake.times[i].prefix, sizeof fake.times[i].prefix, "%s", prefix);
    fake.times[i].ns = nanoseconds;
}

EXPORT void fake_pass_time(unsigned nanoseconds)
{
    fake.clock_ns += nanoseconds;
}

EXPORT void fake_fail_events(int at_creation, int at_record)
{
    fake.fail_event_creation = at_creation;
    fake.fail_event_record = at_record;
}

static void run_kernel(const char *name)
{
    for (unsigned i = 0; i < fake.time_count; i++)
        if (!strncmp(name, fake.times[i].prefix, strlen(fake.times[i].prefix)))
            fake.clock_ns += fake.times[i].ns;
}

/* --- the host's clock --- */

enum { READING_NS = 200 }; /* what little the host does between two looks at its clock */

EXPORT int clock_gettime(clockid_t clock, struct timespec *at)
{
    const int64_t second = 1000000000;
    if (clock != CLOCK_MONOTONIC || !atomic_load(&fake.host_ns))
        return (int)syscall(SYS_clock_gettime, clock, at);
    int64_t now = atomic_fetch_add(&fake.host_ns, READING_NS);
    *at = (struct timespec){.tv_sec = now / second, .tv_nsec = now % second};
    return 0;
}

EXPORT void fake_own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&fake.host_ns, now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
}

EXPORT void fake_stay(unsigned microseconds)
{
    if (atomic_load(&fake.host_ns))
        atomic_fetch_add(&fake.host_ns, microseconds * INT64_C(1000));
    else
        usleep(microseconds);
}

EXPORT void fake_slow_launch(unsigned microseconds)
{
    fake.slow = microseconds;
}

EXPORT void fake_slow_copy(unsigned microseconds)
{
    fake.slow_copy = microseconds;
}

EXPORT void fake_let_go(void)
{
    fake.let_go++;
}

EXPORT unsigned fake_slow_copies(void)
{
    return fake.slow_copies;
}

static void stay(void)
{
    enum { STEP = 1000 };
    const unsigned let_go = fake.let_go, microseconds = fake.slow_copy;
    if (!microseconds) return;
    fake.slow_copies++;
    for (unsigned stayed = 0; stayed < microseconds && fake.let_go == let_go; stayed += STEP) usleep(STEP);
}

EXPORT void fake_limit_memory(size_t bytes)
{
    fake.memory = bytes;
}

EXPORT void fake_set_busy(int is_busy)
{
    fake.is_busy = is_busy;
}

EXPORT void fake_fail_copy(int of_boxes, int of_bytes)
{
    fake.fail_box = of_boxes;
    fake.fail_copy = of_bytes;
}

EXPORT void fake_set_capturing(int is_capturing)
{
    fake.is_capturing = is_capturing;
}

EXPORT void fake_set_device_name(const char *name)
{
    snprintf(fake.device, sizeof fake.device, "%s", name);
}

/* --- start and ways in --- */

EXPORT CUresult cuInit(unsigned flags)
{
    fake_log("cuInit %u", flags);
    return CUDA_SUCCESS;
}

static int future(long a, long b, long c, long d, long e, long f, long g, double x, double y)
{
    stay();
    fake_log("future %ld %ld %ld %ld %ld %ld %ld %g %g", a, b, c, d, e, f, g, x, y);
    return 7;
}

/* Exported, but in no table. */
EXPORT int cuFutureExport(long a, double x);
EXPORT int cuFutureExport(long a, double x)
{
    fake_log("cuFutureExport %ld %g", a, x);
    return 8;
}

/* What a profiler puts before it. */
static CUresult profiled_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                CUstream stream, void **arguments, void **extra)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                          arguments, extra);
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *status)
{
    char name[128];
    (void)flags;
    if (!strcmp(symbol, "cuFuture")) {
        *function = (void *)future;
    } else if (!strcmp(symbol, "cuLaunchKernel") && getenv("KFUSE_PROFILED")) {
        *function = (void *)profiled_launch;
    } else {
        snprintf(name, sizeof name, "%s%s", symbol,
                 !strcmp(symbol, "cuMemAlloc") && version >= 3020 ? "_v2" : "");
        void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        *function = dlsym(self, name);
    }
    if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* An empty table for everyone: NVRTC looks at its size. */
EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static const size_t empty[1] = {sizeof(size_t)};
    fake_log("cuGetExportTable %02x%02x%02x%02x", (unsigned char)id->bytes[0], (unsigned char)id->bytes[1],
             (unsigned char)id->bytes[2], (unsigned char)id->bytes[3]);
    *table = empty;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)length, "%s", fake.device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

/* --- contexts --- */

EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags, (void)device;
    current = *context = (CUcontext)__atomic_add_fetch(&fake.next_handle, 0x10, __ATOMIC_SEQ_CST);
    fake_log("cuCtxCreate_v2");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    (void)context;
    fake_log("cuCtxDestroy_v2");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    below = current;
    current = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    if (context) *context = current;
    current = below;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuCtxSynchronize_v2(CUcontext which)
{
    fake_log("cuCtxSynchronize_v2 %d", which == current);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void)
{
    fake_log("cuCtxSynchronize");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    fake_log("cuCtxGetLimit %d", (int)limit);
    *value = 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    fake_log("cuCtxSetLimit %d %zu", (int)limit, value);
    return CUDA_SUCCESS;
}

/* --- memory --- */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    bool is_there = fake.taken + size <= fake.memory;
    fake_log("%scuMemAlloc_v2 %zu", is_there ? "" : "failed ", size);
    if (!is_there) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = __atomic_fetch_add(&fake.next_address, (size + 0x1fff) & ~0xfffu, __ATOMIC_SEQ_CST);
    fake.taken += size;
    if (*address / PAGE < ALLOCATIONS) fake.sizes[*address / PAGE] = size;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    *left = fake.memory - fake.taken;
    *total = fake.memory;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    fake_log("cuMemFree_v2 %llx", address);
    if (address / PAGE < ALLOCATIONS) {
        fake.taken -= fake.sizes[address / PAGE];
        fake.sizes[address / PAGE] = 0;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
    (void)from;
    stay();
    fake_log("cuMemcpyHtoD_v2 %llx %zu", to, size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
    memset(to, 0, size);
    fake_log("cuMemcpyDtoH_v2 %llx %zu", from, size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    fake_log("cuMemcpyDtoD_v2 %llx %llx %zu", to, from, size);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    fake_log("%scuMemcpyDtoDAsync_v2 %llx %llx %zu %lx", fake.fail_copy ? "failed " : "", to, from, size,
             (unsigned long)stream);
    return current ? (CUresult)fake.fail_copy : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    fake_log("%scuMemcpy3DAsync_v2 %llx %llx %zu,%zu,%zu %zu,%zu %lx", fake.fail_box ? "failed " : "",
             copy->dstDevice, copy->srcDevice, copy->WidthInBytes, copy->Height, copy->Depth, copy->dstPitch,
             copy->dstHeight, (unsigned long)stream);
    return (CUresult)fake.fail_box;
}

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    memset(handle, 0, sizeof *handle);
    fake_log("cuIpcGetMemHandle %llx", address);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    fake_log("cuMemsetD32Async %llx %u %zu", address, value, count);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    (void)data, (void)attribute, (void)address;
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    (void)library, (void)name;
    if (address) *address = 0x900000;
    if (size) *size = 64;
    return CUDA_SUCCESS;
}

/* --- streams and events --- */

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    *stream = (CUstream)__atomic_add_fetch(&fake.next_handle, 0x10, __ATOMIC_SEQ_CST);
    fake_log("cuStreamCreate %u", flags);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    fake_log("cuStreamSynchronize");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = fake.is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream;
    fake_log("cuStreamBeginCapture_v2 %d", (int)mode);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    (void)stream, (void)graph;
    fake_log("cuStreamEndCapture");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    return fake.is_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    fake_log("cuStreamDestroy_v2 %lx", (unsigned long)stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    *event = (CUevent)__atomic_add_fetch(&fake.next_handle, 0x10, __ATOMIC_SEQ_CST);
    fake_log("cuEventCreate %u", flags);
    return (CUresult)fake.fail_event_creation;
}

EXPORT CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return fake.is_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    (void)event;
    fake_log("cuEventDestroy_v2");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    fake_log("%scuEventRecord", fake.fail_event_record ? "failed " : "");
    fake.events[(uintptr_t)event / 0x10 % EVENTS] = fake.clock_ns;
    return (CUresult)fake.fail_event_record;
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)event, (void)flags;
    fake_log("cuStreamWaitEvent %lx", (unsigned long)stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    (void)function, (void)data;
    fake_log("cuLaunchHostFunc %lx", (unsigned long)stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    uint64_t from = fake.events[(uintptr_t)start / 0x10 % EVENTS];
    *milliseconds = (float)((double)(fake.events[(uintptr_t)end / 0x10 % EVENTS] - from) / 1e6);
    return CUDA_SUCCESS;
}

/* --- modules and kernels --- */

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    if (fake.fail_load[0] && !strncmp(image, fake.fail_load, strlen(fake.fail_load)))
        return CUDA_ERROR_INVALID_IMAGE;
    *module = (CUmodule)__atomic_add_fetch(&fake.next_handle, 0x10, __ATOMIC_SEQ_CST);
    fake_log("cuModuleLoadData %.20s", (const char *)image);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
    (void)module;
    fake_log("cuModuleUnload");
    return CUDA_SUCCESS;
}

/* A variable lies in each instance of the module at an address of its own. */
EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
    fake_log("cuModuleGetGlobal_v2 %s", name);
    if (strcmp(name, "v")) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = 0x500000 + (CUdeviceptr)module;
    if (size) *size = 64;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    *module = ((struct kernel *)function)->module;
    return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void spell_parameters(struct kernel *kernel)
{
    const char *at = strchr(kernel->name, ':');
    size_t end = 0;
    while (at && *++at && kernel->count < PARAMETERS) {
        size_t size = strtoul(at, NULL, 10), align = size > 8 ? 8 : size;
        end = (end + align - 1) / align * align;
        kernel->offsets[kernel->count] = end;
        kernel->sizes[kernel->count++] = size;
        end += size;
        at = strchr(at, ',');
    }
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    pthread_mutex_lock(&fake.lock);
    struct kernel *kernel = &fake.kernels[fake.kernel_count++ % KERNELS];
    memset(kernel, 0, sizeof *kernel);
    kernel->module = module;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    spell_parameters(kernel);
    pthread_mutex_unlock(&fake.lock);
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetName(const char **name, CUfunction function)
{
    *name = ((struct kernel *)function)->name;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 16 : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    fake_log("cuFuncSetAttribute %s %d %d", ((struct kernel *)function)->name, (int)attribute, value);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    const struct kernel *kernel = (struct kernel *)function;
    if (index >= kernel->count) return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->offsets[index];
    *size = kernel->sizes[index];
    return CUDA_SUCCESS;
}

/* --- launches --- */

static uint64_t argument(const struct kernel *kernel, unsigned index, void **parameters, void **extra)
{
    const void *at = NULL;
    uint64_t value = 0;
    if (parameters) at = parameters[index];
    for (int i = 0; !parameters && extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2)
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            at = (const char *)extra[i + 1] + kernel->offsets[index];
    if (at) memcpy(&value, at, kernel->sizes[index] < 8 ? kernel->sizes[index] : 8);
    return value;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                               CUstream stream, void **parameters, void **extra)
{
    const struct kernel *kernel = (struct kernel *)function;
    char text[512];
    int used = snprintf(text, sizeof text, "launch %.*s %u,%u,%u %u,%u,%u %u %lx",
                        (int)strcspn(kernel->name, ":"), kernel->name, grid_x, grid_y, grid_z, block_x,
                        block_y, block_z, shared, (unsigned long)stream);
    for (unsigned i = 0; i < kernel->count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %llx",
                         (unsigned long long)argument(kernel, i, parameters, extra));
    if (fake.slow) fake_stay(fake.slow);
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    if (fake.fail_launch[0] && !strncmp(kernel->name, fake.fail_launch, strlen(fake.fail_launch))) {
        fake_log("failed %s", text);
        return (CUresult)fake.fail_result;
    }
    fake_log("%s", text);
    run_kernel(kernel->name);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             CUstream stream, void **parameters, void **extra);
EXPORT CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                    CUstream stream, void **parameters, void **extra)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                          stream ? stream : CU_STREAM_PER_THREAD, parameters, extra);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                 void **extra)
{
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                          parameters, extra);
}

/* --- for fake_graph.c, past the preloaded library --- */

#define OWN(symbol)                                                                                          \
    extern __typeof__(symbol) own_##symbol __attribute__((alias(#symbol), visibility("hidden")))
OWN(cuCtxGetCurrent);
OWN(cuFuncGetAttribute);
OWN(cuFuncGetModule);
OWN(cuFuncGetName);
OWN(cuFuncGetParamInfo);
OWN(cuLaunchKernel);
OWN(cuModuleGetFunction);
OWN(cuModuleLoadData);
