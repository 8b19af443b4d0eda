/* SPDX-License-Identifier: Apache-2.0
 * The ways in: exported symbols, dlsym, cuGetProcAddress; unknown entry points; recording what comes through
 * them. */
#define __CUDA_API_VERSION_INTERNAL
#include "common/image.h"
#include "common/trace.h"
#include "tests/interpose/fake_driver.h"
#include "tests/interpose/preload.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>

static char *trace_path(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/trace", preload_folder());
    return path;
}

static void record_on(void)
{
    setenv("KFUSE_RECORD", trace_path(), 1);
}

static CUfunction open_kernel(const char *name)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, ".version 8.0 // image one") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS);
    return function;
}

static bool is_ours(void *function)
{
    Dl_info info;
    return dladdr(function, &info) && strstr(info.dli_fname, "libkfuse");
}

static void exported_symbols(void)
{
    CHECK(is_ours((void *)cuLaunchKernel));
    CUfunction function = open_kernel("scale:8,4");
    CUdeviceptr address = 0x1000;
    int factor = 3;
    void *arguments[] = {&address, &factor};
    fake_clear();
    CHECK(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, (CUstream)0x50, arguments, NULL) == CUDA_SUCCESS);
    CHECK_LINE(0, "launch scale 1,2,3 4,5,6 7 50 1000 3");
    size_t limit;
    CHECK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS && limit == 1);
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 99) == CUDA_SUCCESS);
    CHECK_LINE(2, "cuCtxSetLimit 0 99");
    CUresult (*query)(CUevent) = (CUresult(*)(CUevent))dlsym(RTLD_DEFAULT, "cuEventSynchronize");
    CHECK(query && query(NULL) == CUDA_ERROR_NOT_SUPPORTED); /* the fake driver has none */
}

static void by_dlsym(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library);
    CHECK(is_ours(dlsym(library, "cuLaunchKernel")));
    CHECK(dlsym(library, "cuLaunchKernel") == (void *)cuLaunchKernel);
    CHECK(dlsym(RTLD_DEFAULT, "cuLaunchKernel") == (void *)cuLaunchKernel);
    CHECK(!is_ours(dlsym(library, "cuCtxGetLimit"))); /* cannot observe: no stub needed */
    CHECK(!dlsym(library, "cuNoSuchThing"));
    CHECK(dlerror());
    CHECK(dlsym(library, "fake_clear") == (void *)fake_clear);
    CHECK(dlsym(RTLD_DEFAULT, "printf"));
    int (*future)(long, double) = (int (*)(long, double))dlsym(library, "cuFutureExport");
    CHECK(is_ours((void *)future));
    fake_clear();
    CHECK(future(5, 2.5) == 8);
    CHECK_LINE(0, "cuFutureExport 5 2.5");
}

static void by_proc_address(void)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    CHECK(cuGetProcAddress_v2("cuLaunchKernel", &function, 4000, 0, &status) == CUDA_SUCCESS);
    CHECK(function == (void *)cuLaunchKernel);
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 3020, 0, NULL) == CUDA_SUCCESS);
    CHECK(function == (void *)cuMemAlloc_v2);
    CHECK(cuGetProcAddress_v2("cuNoSuchThing", &function, 3020, 0, NULL) == CUDA_ERROR_NOT_FOUND);
    CHECK(!function);
    CHECK(cuGetProcAddress_v2("cuFuture", &function, 99000, 0, NULL) == CUDA_SUCCESS);
    CHECK(is_ours(function));
    void *again = NULL;
    CHECK(cuGetProcAddress_v2("cuFuture", &again, 99000, 0, NULL) == CUDA_SUCCESS && again == function);
    fake_clear();
    CHECK(((fake_future_function)function)(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25) == 7);
    CHECK_LINE(0, "future 1 2 3 4 5 6 7 0.5 0.25");
}

/* The slow path of a stub keeps every argument register. */
static void registers_are_kept(void)
{
    void *function = NULL;
    open_kernel("k:8");
    CHECK(cuGetProcAddress_v2("cuFuture", &function, 99000, 0, NULL) == CUDA_SUCCESS);
    fake_clear();
    CHECK(((fake_future_function)function)(11, 12, 13, 14, 15, 16, 17, 1.5, -2.25) == 7);
    CHECK_LINE(0, "future 11 12 13 14 15 16 17 1.5 -2.25");
}

/* Calls before cuInit, without a context, with nothing for out-parameters, and after the recording has ended.
 */
static void before_start(void)
{
    void *arguments[] = {NULL};
    CUdeviceptr address;
    CHECK(cuMemAlloc_v2(&address, 64) == CUDA_SUCCESS);
    CHECK(cuMemFree_v2(0) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(NULL) == CUDA_SUCCESS);
    CHECK(cuInit(0) == CUDA_SUCCESS && cuInit(0) == CUDA_SUCCESS);
    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoadData(&module, ".version 8.0 // image one") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&function, module, "none") == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuModuleLoadData(&module, "\x01\x02\x03 no image") == CUDA_SUCCESS);
    CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}

static void disable(void)
{
    record_on();
    setenv("KFUSE_DISABLE", "1", 1);
}

static void disabled(void)
{
    CUfunction function = open_kernel("k:8");
    CUdeviceptr address = 0x2000;
    void *arguments[] = {&address};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS);
    CHECK(access(trace_path(), F_OK));
}

/* --- recording --- */

static void records(void)
{
    CUfunction function = open_kernel("scale:8,4");
    CUdeviceptr address;
    CHECK(cuMemAlloc_v2(&address, 4096) == CUDA_SUCCESS);
    int factor = 3;
    char packed[12];
    size_t size = sizeof packed;
    memcpy(packed, &address, 8);
    memcpy(packed + 8, &factor, 4);
    void *arguments[] = {&address, &factor};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuMemcpyHtoD_v2(address, packed, 12) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, (CUstream)0x50, arguments, NULL) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, extra) == CUDA_SUCCESS);
    CHECK(cuMemsetD32Async(address, 1, 8, NULL) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 99) == CUDA_SUCCESS);
    CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

#define EXPECT(condition)                                                                                    \
    if (!(condition)) exit((fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), 1))

static void check_launch(const struct trace_view *view, unsigned index)
{
    const struct trace_launch *launch = view->fixed;
    int factor;
    memcpy(&factor, (const char *)view->payload + 8, sizeof factor);
    EXPECT(launch->grid[1] == 2 && launch->block[2] == 6 && launch->dynamic_shared == 7);
    EXPECT(launch->arguments_size == 12 && factor == 3 && launch->kernel == 1 && launch->result == 0);
    EXPECT(launch->stream == (index ? 0 : 1));
    EXPECT(launch->flags == (index ? TRACE_LAUNCH_EXTRA : 0));
}

static void check_trace(int status)
{
    char error[512];
    unsigned counts[TRACE_KINDS] = {0};
    struct trace_view view;
    EXPECT(status == 0);
    struct trace_reader *reader = trace_reader_open(trace_path(), error, sizeof error);
    EXPECT(reader);
    while (trace_next(reader, &view)) {
        if (view.kind == TRACE_LAUNCH) check_launch(&view, counts[TRACE_LAUNCH]);
        if (view.kind == TRACE_KERNEL) {
            const struct trace_kernel *kernel = view.fixed;
            EXPECT(kernel->parameter_count == 2 && kernel->parameter_bytes == 12 && kernel->registers == 16);
        }
        if (view.kind == TRACE_MODULE)
            EXPECT(((const struct trace_module *)view.fixed)->flags == TRACE_MODULE_HAS_PTX);
        if (view.kind == TRACE_WALL)
            EXPECT(!strcmp(view.payload, counts[TRACE_WALL] ? "cuCtxSetLimit" : "cuCtxSynchronize"));
        if (view.kind == TRACE_COPY) {
            const struct trace_copy *copy = view.fixed;
            EXPECT(copy->destination_kind == TRACE_MEMORY_DEVICE &&
                   copy->source_kind == TRACE_MEMORY_PAGEABLE);
        }
        counts[view.kind]++;
    }
    EXPECT(trace_damaged_bytes(reader) == 0);
    EXPECT(counts[TRACE_DEVICE] == 1 && counts[TRACE_MODULE] == 1 && counts[TRACE_KERNEL] == 1);
    EXPECT(counts[TRACE_LAUNCH] == 2 && counts[TRACE_ALLOCATE] == 1 && counts[TRACE_FREE] == 1);
    EXPECT(counts[TRACE_COPY] == 1 && counts[TRACE_SET] == 1 && counts[TRACE_WALL] == 2 &&
           counts[TRACE_END] == 1);
    trace_reader_close(reader);
}

/* --- programs that compile at run time --- */

static void *nvrtc_library(void)
{
    char path[4096];
    const char *home = getenv("CUDA_HOME");
    void *library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (library) return library;
    if (!home) home = "/usr/local/cuda";
    snprintf(path, sizeof path, "%s/lib64/libnvrtc-builtins.so.13.0", home); /* NVRTC opens it by name */
    dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.13", home);
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* handle: where the program looks nvrtcGetCUBIN up. */
static void compile_and_load(void *library, void *handle)
{
    static const char source[] = "extern \"C\" __global__ void k(float *p) { p[threadIdx.x] = 1; }";
    static const char *const options[] = {"-arch=sm_90"};
    int (*create)(void **, const char *, const char *, int, const char **, const char **) =
        (int (*)(void **, const char *, const char *, int, const char **, const char **))dlsym(
            library, "nvrtcCreateProgram");
    int (*compile)(void *, int, const char *const *) =
        (int (*)(void *, int, const char *const *))dlsym(library, "nvrtcCompileProgram");
    int (*cubin_size)(void *, size_t *) = (int (*)(void *, size_t *))dlsym(library, "nvrtcGetCUBINSize");
    int (*cubin)(void *, char *) = (int (*)(void *, char *))dlsym(handle, "nvrtcGetCUBIN");
    void *program = NULL;
    size_t size = 0;
    CHECK(create && compile && cubin_size && cubin && is_ours((void *)cubin));
    CHECK(create(&program, source, "k.cu", 0, NULL, NULL) == 0 && compile(program, 1, options) == 0);
    CHECK(cubin_size(program, &size) == 0 && size);
    char *code = malloc(size);
    CHECK(cubin(program, code) == 0);
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0) == CUDA_SUCCESS && cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, code) == CUDA_SUCCESS);
}

static void nvrtc_by_dlsym(void)
{
    void *library = nvrtc_library();
    if (!library) exit(77);
    compile_and_load(library, library);
}

static void nvrtc_by_symbol(void)
{
    void *library = nvrtc_library();
    if (!library) exit(77);
    compile_and_load(library, RTLD_DEFAULT);
}

static void check_nvrtc(int status)
{
    char error[512];
    struct trace_view view;
    unsigned modules = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return;
    EXPECT(status == 0);
    struct trace_reader *reader = trace_reader_open(trace_path(), error, sizeof error);
    EXPECT(reader);
    while (trace_next(reader, &view)) {
        const struct trace_module *module = view.fixed;
        if (view.kind != TRACE_MODULE) continue;
        modules++;
        EXPECT(module->flags == (TRACE_MODULE_HAS_PTX | TRACE_MODULE_FROM_NVRTC));
        EXPECT(module->image_kind == IMAGE_PTX && module->stored_size == module->image_size);
        EXPECT(memmem(view.payload, view.payload_size, ".entry k(", 9));
    }
    EXPECT(modules == 1);
    trace_reader_close(reader);
}

/* The default mode: a trace under the image's hash appears in the cache folder. */
static void check_cache(int status)
{
    char command[4200];
    EXPECT(status == 0);
    snprintf(command, sizeof command, "ls '%s' | grep -Eq '^[0-9a-f]{32}\\.kftrace$'", preload_folder());
    EXPECT(system(command) == 0);
}

static void no_trace(void)
{
    setenv("KFUSE_RECORD", "/proc/nowhere/trace", 1);
}

static void no_cache(void)
{
    setenv("KFUSE_CACHE", "/proc/nowhere", 1);
}

/* A thread that launches once more while it ends: what the recorder keeps for it may be gone by then. */
static CUfunction last_function;
static pthread_key_t last_key;

static void launch_last(void *unused)
{
    enum { SIZE = 32764 }; /* of the largest arguments, as the recorder's buffer */
    CUdeviceptr address = 0x1000;
    int factor = 3;
    void *arguments[] = {&address, &factor};
    unsigned char *own = malloc(SIZE);
    (void)unused;
    memset(own, 0xaa, SIZE);
    CHECK(cuLaunchKernel(last_function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS);
    for (int i = 0; i < SIZE; i++) CHECK(own[i] == 0xaa);
    free(own);
}

static void *launch_and_end(void *context)
{
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    launch_last(NULL);
    pthread_setspecific(last_key, context);
    return NULL;
}

static void records_at_thread_end(void)
{
    pthread_t thread;
    CUcontext context;
    last_function = open_kernel("scale:8,4");
    CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    launch_last(NULL); /* the recorder's destructor runs first */
    CHECK(pthread_key_create(&last_key, launch_last) == 0);
    CHECK(pthread_create(&thread, NULL, launch_and_end, context) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    static const struct preload_case cases[] = {
        {"exported_symbols", exported_symbols, NULL, NULL},
        {"by_dlsym", by_dlsym, NULL, NULL},
        {"by_proc_address", by_proc_address, NULL, NULL},
        {"registers_are_kept", registers_are_kept, record_on, NULL},
        {"disabled", disabled, disable, NULL},
        {"records", records, record_on, check_trace},
        {"records_at_thread_end", records_at_thread_end, record_on, NULL},
        {"records_by_default", records, NULL, check_cache},
        {"nvrtc_by_dlsym", nvrtc_by_dlsym, record_on, check_nvrtc},
        {"nvrtc_by_symbol", nvrtc_by_symbol, record_on, check_nvrtc},
        {"before_start", before_start, record_on, NULL},
        {"unwritable_trace", records, no_trace, NULL},
        {"unwritable_cache", records, no_cache, NULL},
    };
    return preload_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
