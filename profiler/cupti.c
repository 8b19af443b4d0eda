/* SPDX-License-Identifier: Apache-2.0
 * libkfuse-cupti.so: kernel times from CUPTI. Kernel records carry CUPTI's correlation id of the driver call
 * that launched them; a callback on the launch entry points, which CUPTI runs in the launching thread, notes
 * which sequence number that id belongs to. No record but the kernels' is made. libcupti is opened by name
 * when recording starts, so that a machine without it only loses the times. */
#include "config.h"
#include "profiler/activity.h"
#include "common/log.h"
#include "common/setting.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) const struct activity_source *kfuse_activity_source(void);

enum {
    BUFFER_BYTES = 256 * 1024,
    NOTES = 1 << 18,   /* launches whose kernels have not been reported; older ones lose their times */
    OLDEST_CUPTI = 18, /* CUDA 12.0: the fields of the kernel record that are read lie as they do now */
};

#define CUPTI_FUNCTIONS(X)                                                                                   \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiGetResultString)                                                                                  \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiUnsubscribe)                                                                                      \
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityFlushAll)

/* Filled by a launch's callback, read when its kernel is reported: correlation is written last. */
struct note {
    uint64_t sequence;
    uint32_t correlation;
};

struct free_buffer {
    struct free_buffer *next;
};

static struct {
#define X(name) __typeof__(&name) name;
    CUPTI_FUNCTIONS(X)
#undef X
    CUpti_SubscriberHandle subscriber;
    void (*deliver)(const struct trace_activity *activity);
    struct note *notes;
    pthread_mutex_t lock;
    struct free_buffer *buffers;
    uint64_t unknown; /* kernels that no recorded launch belongs to */
    char error[256];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* CUDA 12's record is as long as the fields that are read. */
_Static_assert(offsetof(CUpti_ActivityKernel9, localMemoryTotal_v2) ==
                   offsetof(CUpti_ActivityKernel10, localMemoryTotal_v2),
               "kernel records of CUDA 12 and 13");

static _Thread_local uint64_t current_sequence;

static const CUpti_CallbackId launch_calls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

/* --- which launch a kernel belongs to
 * ----------------------------------------------------------------------- */

static void note_launch(uint32_t correlation, uint64_t sequence)
{
    struct note *note = &cupti.notes[correlation % NOTES];
    __atomic_store_n(&note->correlation, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&note->sequence, sequence, __ATOMIC_RELEASE);
    __atomic_store_n(&note->correlation, correlation, __ATOMIC_RELEASE);
}

static uint64_t find_launch(uint32_t correlation)
{
    struct note *note = &cupti.notes[correlation % NOTES];
    if (!correlation || __atomic_load_n(&note->correlation, __ATOMIC_ACQUIRE) != correlation) return 0;
    uint64_t sequence = __atomic_load_n(&note->sequence, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&note->correlation, __ATOMIC_ACQUIRE) == correlation ? sequence : 0;
}

static void CUPTIAPI on_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)context;
    (void)id;
    const CUpti_CallbackData *call = data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_ENTER || !current_sequence)
        return;
    note_launch(call->correlationId, current_sequence);
}

/* --- buffers
 * ------------------------------------------------------------------------------------------------ */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *limit)
{
    pthread_mutex_lock(&cupti.lock);
    struct free_buffer *unused = cupti.buffers;
    if (unused) cupti.buffers = unused->next;
    pthread_mutex_unlock(&cupti.lock);
    *buffer = unused ? (uint8_t *)unused : malloc(BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *limit = 0;
}

static void keep_buffer(uint8_t *buffer)
{
    struct free_buffer *unused = (struct free_buffer *)buffer;
    pthread_mutex_lock(&cupti.lock);
    unused->next = cupti.buffers;
    cupti.buffers = unused;
    pthread_mutex_unlock(&cupti.lock);
}

static void report_kernel(const CUpti_ActivityKernel10 *kernel)
{
    uint64_t sequence = find_launch(kernel->correlationId);
    if (!sequence || kernel->end < kernel->start || !kernel->end) {
        __atomic_add_fetch(&cupti.unknown, 1, __ATOMIC_RELAXED);
        return;
    }
    struct trace_activity activity = {.sequence = sequence,
                                      .start_ns = kernel->start,
                                      .end_ns = kernel->end,
                                      .registers = kernel->registersPerThread,
                                      .static_shared = (uint32_t)kernel->staticSharedMemory,
                                      .dynamic_shared = (uint32_t)kernel->dynamicSharedMemory,
                                      .local_per_thread = kernel->localMemoryPerThread,
                                      .local_total_kib = (uint32_t)(kernel->localMemoryTotal_v2 / 1024)};
    cupti.deliver(&activity);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    if (!buffer) return;
    while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            report_kernel((const CUpti_ActivityKernel10 *)record);
    keep_buffer(buffer);
}

/* --- the library
 * -------------------------------------------------------------------------------------------- */

static bool find_functions(void *library)
{
#define X(name)                                                                                              \
    cupti.name = (__typeof__(&name))dlsym(library, #name);                                                   \
    if (!cupti.name) return false;
    CUPTI_FUNCTIONS(X)
#undef X
    return true;
}

/* Deep: libcupti must find libc's dlsym before libkfuse.so's, or CUPTI's own calls would come back into the
 * hooks as if they were the program's, in the middle of starting or flushing. */
static void *open_library(void)
{
    enum { OPEN = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    static const char *const folders[] = {"extras/CUPTI/lib64", "lib64"};
    const char *roots[] = {setting_text("CUDA_HOME"), setting_text("CUDA_PATH"), KFUSE_CUDA_HOME};
    char path[4096];
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(names[i], OPEN);
        if (library) return library;
    }
    for (int root = 0; root < 3; root++)
        for (int i = 0; roots[root] && i < 6; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", roots[root], folders[i / 3], names[i % 3]);
            void *library = dlopen(path, OPEN);
            if (library) return library;
        }
    return NULL;
}

static bool fail(const char **error, const char *what, CUptiResult result)
{
    const char *text = NULL;
    if (cupti.cuptiGetResultString) cupti.cuptiGetResultString(result, &text);
    snprintf(cupti.error, sizeof cupti.error, "%s: %s", what, text ? text : "unknown error");
    *error = cupti.error;
    return false;
}

/* A sanitizer's runtime ends the program when something is opened deep. */
static bool has_sanitizer(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
           dlsym(RTLD_DEFAULT, "__msan_init");
}

static bool load(const char **error)
{
    uint32_t version = 0;
    if (has_sanitizer()) {
        *error = "CUPTI does not go together with a sanitizer: record a build of the program without one";
        return false;
    }
    void *library = open_library();
    if (!library) {
        *error = "libcupti was not found on the library path nor under CUDA_HOME: install the toolkit's "
                 "CUPTI or set CUDA_HOME";
        return false;
    }
    if (!find_functions(library)) {
        *error = "libcupti lacks functions that kfuse needs: set CUDA_HOME to a toolkit of CUDA 12 or later";
        return false;
    }
    CUptiResult result = cupti.cuptiGetVersion(&version);
    if (result != CUPTI_SUCCESS) return fail(error, "CUPTI does not start", result);
    if (version >= OLDEST_CUPTI) return true;
    *error = "libcupti is older than CUDA 12: set CUDA_HOME to a newer toolkit";
    return false;
}

static bool subscribe(const char **error)
{
    CUptiResult result = cupti.cuptiSubscribe(&cupti.subscriber, on_call, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED)
        return fail(error, "another profiler is attached to this program: record without it", result);
    if (result != CUPTI_SUCCESS) return fail(error, "CUPTI refuses a subscriber", result);
    for (size_t i = 0; i < sizeof launch_calls / sizeof *launch_calls && result == CUPTI_SUCCESS; i++)
        result = cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launch_calls[i]);
    if (result == CUPTI_SUCCESS) result = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result == CUPTI_SUCCESS) result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (result == CUPTI_SUCCESS) return true;
    cupti.cuptiUnsubscribe(cupti.subscriber);
    return fail(error, "CUPTI does not record kernels", result);
}

static bool start(void (*deliver)(const struct trace_activity *activity), const char **error)
{
    cupti.deliver = deliver;
    if (!load(error)) return false;
    cupti.notes = calloc(NOTES, sizeof *cupti.notes);
    if (cupti.notes) return subscribe(error);
    *error = "out of memory";
    return false;
}

static void launch_begin(uint64_t sequence)
{
    current_sequence = sequence;
}

static void launch_end(void)
{
    current_sequence = 0;
}

static void flush(void)
{
    cupti.cuptiActivityFlushAll(0);
}

static void stop(bool at_exit)
{
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (!at_exit) {
        cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        cupti.cuptiUnsubscribe(cupti.subscriber);
    }
    uint64_t unknown = __atomic_load_n(&cupti.unknown, __ATOMIC_RELAXED);
    if (unknown)
        log_write(LOG_INFO, "cupti", "%llu kernels ran that no recorded launch belongs to, or had not ended",
                  (unsigned long long)unknown);
}

const struct activity_source *kfuse_activity_source(void)
{
    static const struct activity_source source = {
        .start = start, .launch_begin = launch_begin, .launch_end = launch_end, .flush = flush, .stop = stop};
    log_open();
    return &source;
}
