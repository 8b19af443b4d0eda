/* SPDX-License-Identifier: Apache-2.0
 * Recording: kernels and modules are written at first sight, before the first launch that names them. */
#include "interpose/record.h"

#include "common/image.h"
#include "common/log.h"
#include "common/setting.h"
#include "interpose/shim.h"
#include "profiler/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST_PARAMETERS = 32764, LARGEST_CONTENTS = 64 << 10 };

static struct {
    pthread_mutex_t lock; /* of the is_recorded marks */
    bool has_device;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* --- device --- */

static void fill_device(struct trace_device *record, CUdevice device)
{
    const struct {
        CUdevice_attribute which;
        uint32_t *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &record->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &record->compute_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &record->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &record->warp_size},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &record->threads_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &record->blocks_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &record->registers_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &record->shared_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &record->shared_per_block_optin},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &record->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &record->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &record->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &record->bus_width_bits},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int value = 0;
        if (REAL(cuDeviceGetAttribute)(&value, wanted[i].which, device) == CUDA_SUCCESS)
            *wanted[i].value = (uint32_t)value;
    }
    int version = 0;
    size_t bytes = 0;
    if (REAL(cuDriverGetVersion)(&version) == CUDA_SUCCESS) record->driver_version = (uint32_t)version;
    if (REAL(cuDeviceTotalMem_v2)(&bytes, device) == CUDA_SUCCESS) record->memory_bytes = bytes;
    REAL(cuDeviceGetName)(record->name, sizeof record->name, device);
    record->ordinal = (uint32_t)device;
    record->is_emulated = entry_lookup("emuActivitySubscribe") != NULL;
}

/* Once, as soon as a context is current. */
static void record_device(void)
{
    CUdevice device;
    if (state.has_device || REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS) return;
    struct trace_device record = {0};
    fill_device(&record, device);
    pthread_mutex_lock(&state.lock);
    if (!state.has_device) {
        recorder_device(&record);
        shim_exit_first();
    }
    state.has_device = true;
    pthread_mutex_unlock(&state.lock);
}

/* --- modules, kernels, variables --- */

/* Under the lock. bytes: NULL when the image is out of reach. */
static void write_module(struct track_module *module, const void *bytes)
{
    struct trace_module record = module->record;
    bool is_ptx_at_hand = (record.flags & TRACE_MODULE_HAS_PTX) && bytes;
    record.stored_size = is_ptx_at_hand ? record.image_size : 0;
    recorder_module(&record, module->options, is_ptx_at_hand ? bytes : NULL);
    module->is_recorded = true;
}

void record_module(struct track_module *module, const struct track_image *given)
{
    if (!record_is_on() || !module) return;
    record_device();
    pthread_mutex_lock(&state.lock);
    if (!module->is_recorded && module->ptx) {
        module->record.image_size = strlen(module->ptx);
        write_module(module, module->ptx);
    } else if (!module->is_recorded) {
        write_module(module, image_examine(given->bytes, given->limit).bytes);
    }
    pthread_mutex_unlock(&state.lock);
}

/* The id of a kernel in the trace, 0 when it cannot be told. */
static uint32_t record_kernel(struct track_kernel *kernel)
{
    if (!kernel || !track_kernel_describe(kernel)) return 0;
    if (__atomic_load_n(&kernel->is_recorded, __ATOMIC_ACQUIRE)) return kernel->record.kernel;
    pthread_mutex_lock(&state.lock);
    if (kernel->module && !kernel->module->is_recorded) write_module(kernel->module, NULL);
    if (!kernel->is_recorded) recorder_kernel(&kernel->record, kernel->parameters, kernel->name);
    __atomic_store_n(&kernel->is_recorded, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&state.lock);
    return kernel->record.kernel;
}

void record_variable(void *handle, const char *name, CUdeviceptr address, size_t size, bool is_managed)
{
    struct track_module *module = track_module_find(handle);
    if (!record_is_on() || !name) return;
    struct trace_variable record = {.module = module ? module->record.module : 0,
                                    .is_managed = is_managed,
                                    .address = address,
                                    .size = size};
    recorder_variable(&record, name);
}

/* --- launches --- */

static uint64_t capture_id(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    if (!track_is_capturing()) return 0;
    if (REAL(cuStreamGetCaptureInfo_v2)(stream, &status, &id, NULL, NULL, NULL) != CUDA_SUCCESS) return 0;
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

/* Goes with its thread; destructors that run later may launch again, and get another one. */
static __thread unsigned char *buffer;
static pthread_key_t buffer_key;
static bool has_buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

static void free_buffer(void *own)
{
    free(own);
    buffer = NULL;
}

static void make_buffer_key(void)
{
    has_buffer_key = pthread_key_create(&buffer_key, free_buffer) == 0;
}

static void make_buffer(void)
{
    pthread_once(&buffer_once, make_buffer_key);
    buffer = malloc(LARGEST_PARAMETERS);
    if (has_buffer_key) pthread_setspecific(buffer_key, buffer);
}

static void fill_arguments(struct record_launch *record, const struct track_kernel *kernel,
                           const struct record_shape *shape)
{
    if (!buffer) make_buffer();
    long size = -1;
    if (kernel && buffer)
        size = track_kernel_arguments(kernel, shape->parameters, shape->extra, buffer, LARGEST_PARAMETERS);
    if (size < 0) record->launch.flags |= TRACE_LAUNCH_UNREADABLE;
    record->launch.arguments_size = size < 0 ? 0 : (uint32_t)size;
    record->arguments = buffer;
}

static uint32_t own_stream_flag(const struct record_shape *shape)
{
    bool is_own = shape->flags & TRACE_LAUNCH_PER_THREAD;
    return is_own && setting_is_on("KFUSE_OWN_STREAM") ? TRACE_LAUNCH_OWN_STREAM : 0;
}

void record_launch_begin(struct record_launch *record, const struct record_shape *shape)
{
    record->is_on = record_is_on();
    if (!record->is_on) {
        shim_attention_clear(ATTENTION_RECORD); /* the recorder has seen enough, or has failed */
        return;
    }
    uint64_t arrival = now();
    record_device();
    struct track_kernel *kernel = track_kernel_find(shape->function);
    if (!kernel) kernel = track_kernel_discover(shape->function, false, NULL);
    bool is_packed = !shape->parameters && shape->extra;
    record->launch = (struct trace_launch){
        .arrival_ns = arrival,
        .capture_id = capture_id(shape->stream),
        .kernel = record_kernel(kernel),
        .context = track_id(TRACK_CONTEXT, track_current_context()),
        .stream = track_id(TRACK_STREAM, shape->stream),
        .thread = track_thread_id(),
        .flags = shape->flags | (is_packed ? TRACE_LAUNCH_EXTRA : 0) | own_stream_flag(shape),
        .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .dynamic_shared = shape->dynamic_shared,
    };
    if (record->launch.capture_id) record->launch.flags |= TRACE_LAUNCH_CAPTURED;
    fill_arguments(record, record->launch.kernel ? kernel : NULL, shape);
    recorder_launch_begin(&record->launch);
    record->launch.host_ns = (uint32_t)(now() - arrival); /* until here: taken off again at the end */
}

void record_launch_end(struct record_launch *record, CUresult result)
{
    if (!record->is_on) return;
    uint64_t spent = now() - record->launch.arrival_ns - record->launch.host_ns;
    record->launch.host_ns = spent > UINT32_MAX ? UINT32_MAX : (uint32_t)spent;
    record->launch.result = (int32_t)result;
    recorder_launch_end(&record->launch, record->arguments);
}

/* --- memory --- */

void record_allocate(CUdeviceptr address, size_t size, enum trace_memory_kind kind, CUstream stream)
{
    if (!record_is_on()) return;
    record_device();
    struct trace_allocate record = {
        .address = address, .size = size, .kind = kind, .stream = track_id(TRACK_STREAM, stream)};
    recorder_allocate(&record);
}

void record_free(CUdeviceptr address, CUstream stream)
{
    if (!record_is_on()) return;
    struct trace_free record = {.address = address, .stream = track_id(TRACK_STREAM, stream)};
    recorder_free(&record);
}

enum trace_memory_kind record_memory_kind(uint64_t address)
{
    struct track_range range;
    CUmemorytype type = 0;
    if (track_memory_find(address, &range)) return range.kind;
    if (REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return TRACE_MEMORY_PAGEABLE;
    return type == CU_MEMORYTYPE_HOST ? TRACE_MEMORY_HOST : TRACE_MEMORY_MAPPED;
}

/* What the host writes to module variables may shape control flow, so it is kept. */
static void record_contents(const struct record_copy *copy, enum trace_memory_kind source_kind)
{
    bool is_from_host = source_kind == TRACE_MEMORY_PAGEABLE || source_kind == TRACE_MEMORY_HOST;
    if (!is_from_host || copy->is_hull || copy->size > LARGEST_CONTENTS) return;
    struct trace_contents record = {.address = copy->destination, .size = copy->size};
    recorder_contents(&record, (const void *)(uintptr_t)copy->source);
}

void record_copy(const struct record_copy *copy)
{
    if (!record_is_on()) return;
    enum trace_memory_kind to = copy->destination_kind, from = copy->source_kind;
    if (!to) to = record_memory_kind(copy->destination);
    if (!from) from = record_memory_kind(copy->source);
    struct trace_copy record = {.destination = copy->destination,
                                .source = copy->source,
                                .size = copy->size,
                                .arrival_ns = now(),
                                .destination_kind = to,
                                .source_kind = from,
                                .stream = track_id(TRACK_STREAM, copy->stream),
                                .thread = track_thread_id(),
                                .is_async = copy->is_async,
                                .is_hull = copy->is_hull};
    recorder_copy(&record);
    if (to == TRACE_MEMORY_VARIABLE) record_contents(copy, from);
}

void record_set(CUdeviceptr address, size_t size, uint32_t value, uint32_t width, CUstream stream,
                bool is_hull)
{
    if (!record_is_on()) return;
    struct trace_set record = {.address = address,
                               .size = size,
                               .arrival_ns = now(),
                               .value = value,
                               .width = width,
                               .stream = track_id(TRACK_STREAM, stream),
                               .is_hull = is_hull};
    recorder_set(&record);
}

void record_event(CUevent event, CUstream stream, enum trace_event_kind kind)
{
    if (!record_is_on()) return;
    struct trace_event record = {.arrival_ns = now(),
                                 .event = track_id(TRACK_EVENT, event),
                                 .stream = track_id(TRACK_STREAM, stream),
                                 .kind = kind};
    recorder_event(&record);
}

void record_wall(const char *name, CUstream stream, bool is_whole_context)
{
    if (!record_is_on()) return;
    struct trace_wall record = {.arrival_ns = now(),
                                .stream = track_id(TRACK_STREAM, stream),
                                .thread = track_thread_id(),
                                .is_whole_context = is_whole_context};
    recorder_wall(&record, name);
}

int64_t record_wait_begins(void)
{
    return record_is_on() && setting_is_on("KFUSE_THROUGH_SYNC") ? shim_now_ns() : 0;
}

void record_wait(const char *name, CUstream stream, bool is_whole_context, int64_t begun_ns)
{
    if (!record_is_on()) return;
    int64_t waited_ns =
        begun_ns && (!stream || stream == CU_STREAM_LEGACY) ? shim_now_ns() - begun_ns + 1 : 0;
    struct trace_wall record = {.arrival_ns = now(),
                                .stream = track_id(TRACK_STREAM, stream),
                                .thread = track_thread_id(),
                                .is_whole_context = is_whole_context,
                                .passable_ns = waited_ns < UINT32_MAX ? (uint32_t)waited_ns : UINT32_MAX};
    recorder_wall(&record, name);
}

/* --- start --- */

static void record_known_range(const struct track_range *range)
{
    struct trace_allocate record = {.address = range->start, .size = range->size, .kind = range->kind};
    recorder_allocate(&record);
}

bool record_open(const char *path)
{
    if (!recorder_open(path, entry_lookup)) {
        shim_latch_format("nothing is recorded: %s cannot be opened; name another file", path);
        return false;
    }
    log_write(LOG_INFO, "record", "recording to %s", path);
    track_memory_each(record_known_range);
    shim_attention_set(ATTENTION_RECORD);
    return true;
}
