/* SPDX-License-Identifier: Apache-2.0
 * A program that reaches the driver as NVIDIA's runtime does: the same look-ups in the same order
 * (runtime_lookup.def), its modules loaded as libraries at the first launch, launches by kernel handles. On
 * the emulator it stands in for programs with the static runtime, which does not start there; and it measures
 * what a launch costs. It knows nothing of kfuse. */
#include <cuda.h>

#include <dlfcn.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 128, TIMED_LAUNCHES = 512 /* at once: no more than the driver queues without waiting */ };

static const struct lookup {
    const char *name;
    int version;
    cuuint64_t flags;
} lookups[] = {
#define LOOKUP(name, version, flags) {name, version, flags},
#include "bench/runtime_lookup.def"
#undef LOOKUP
};
enum { LOOKUPS = sizeof lookups / sizeof *lookups, FIRST_LOOKUPS = 4 };

/* What of it is called here, by the name and version looked up. X(name, version, result, parameters) */
#define DRIVER_CALLS(X)                                                                                      \
    X(cuInit, 2000, (unsigned))                                                                              \
    X(cuDriverGetVersion, 2020, (int *))                                                                     \
    X(cuGetExportTable, 3000, (const void **, const CUuuid *))                                               \
    X(cuGetErrorName, 6000, (CUresult, const char **))                                                       \
    X(cuDeviceGetCount, 2000, (int *))                                                                       \
    X(cuDeviceGet, 2000, (CUdevice *, int))                                                                  \
    X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice))                                               \
    X(cuCtxSetCurrent, 4000, (CUcontext))                                                                    \
    X(cuCtxSynchronize, 2000, (void))                                                                        \
    X(cuMemAlloc, 3020, (CUdeviceptr *, size_t))                                                             \
    X(cuMemFree, 3020, (CUdeviceptr))                                                                        \
    X(cuMemcpyHtoD, 3020, (CUdeviceptr, const void *, size_t))                                               \
    X(cuMemcpyDtoH, 3020, (void *, CUdeviceptr, size_t))                                                     \
    X(cuLibraryLoadData, 12000,                                                                              \
      (CUlibrary *, const void *, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned))  \
    X(cuLibraryGetKernel, 12000, (CUkernel *, CUlibrary, const char *))                                      \
    X(cuLibraryUnload, 12000, (CUlibrary))                                                                   \
    X(cuLaunchKernel, 4000,                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,  \
       void **))
static struct {
#define X(name, version, parameters) CUresult(CUDAAPI *name) parameters;
    DRIVER_CALLS(X)
#undef X
    void *found[LOOKUPS];
} driver;

static struct {
    const char *pattern, *dump;
    long steps, size, variety;
    double since;
    bool is_timed, is_compared, waits;
} options = {.pattern = "sdg", .steps = 1, .size = 1024, .variety = 1};

static void fail(const char *what, CUresult result)
{
    const char *name = NULL;
    if (driver.cuGetErrorName) driver.cuGetErrorName(result, &name);
    fprintf(stderr, "client: %s: %s (%d)\n", what, name ? name : "error", (int)result);
    exit(1);
}

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        CUresult check_result = driver.call;                                                                 \
        if (check_result != CUDA_SUCCESS) fail(#call, check_result);                                         \
    } while (0)

/* --- the way to the driver --- */

static void *found(const char *name, int version)
{
    for (size_t i = 0; i < LOOKUPS; i++)
        if (!lookups[i].flags && lookups[i].version == version && !strcmp(lookups[i].name, name))
            return driver.found[i];
    return NULL;
}

static void look_up(void)
{
    typedef CUresult (*look_up_function)(const char *, void **, int, cuuint64_t,
                                         CUdriverProcAddressQueryResult *);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    look_up_function look_up = library ? (look_up_function)dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!look_up) {
        fprintf(stderr, "client: no driver: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < LOOKUPS; i++) {
        if (look_up(lookups[i].name, &driver.found[i], lookups[i].version, lookups[i].flags, NULL))
            driver.found[i] = NULL;
        if (i + 1 == FIRST_LOOKUPS) look_up = (look_up_function)driver.found[i];
    }
#define X(name, version, parameters)                                                                         \
    *(void **)&driver.name = found(#name, version);                                                          \
    if (!driver.name) {                                                                                      \
        fprintf(stderr, "client: the driver has no " #name " of CUDA %d\n", version);                        \
        exit(1);                                                                                             \
    }
    DRIVER_CALLS(X)
#undef X
}

/* The driver's own entry, whatever stands before it in this process. */
static void *exported(const char *name)
{
    static const char *const places[][2] = {
        {"libc.so.6", "GLIBC_2.34"}, {"libc.so.6", "GLIBC_2.2.5"}, {"libdl.so.2", "GLIBC_2.2.5"}};
    void *(*look_up)(void *, const char *) = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !look_up; i++) {
        void *file = dlopen(places[i][0], RTLD_NOW | RTLD_NOLOAD);
        if (file) *(void **)&look_up = dlvsym(file, "dlsym", places[i][1]);
    }
    void *entry = look_up ? look_up(dlopen("libcuda.so.1", RTLD_NOW), name) : NULL;
    if (entry) return entry;
    fprintf(stderr, "client: the driver's own %s is not found\n", name);
    exit(1);
}

/* Two of the runtime's private tables, asked for where it asks; they may be missing. */
static void ask_for_table(const unsigned char id[16])
{
    CUuuid identity;
    const void *table;
    memcpy(&identity, id, sizeof identity);
    driver.cuGetExportTable(&table, &identity);
}

static void start(void)
{
    static const unsigned char before[16] = {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e,
                                             0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9},
                               after[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    int version, count;
    CUdevice device;
    CUcontext context;
    look_up();
    ask_for_table(before);
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuInit(0));
    ask_for_table(after);
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
}

/* --- kernels, as nvcc puts them into a program --- */

__asm__(".pushsection .nv_fatbin, \"a\"\n"
        ".p2align 3\n"
        "client_image: .incbin \"bench/client_kernels.fatbin\"\n"
        ".popsection\n");
extern const char client_image[] __attribute__((visibility("hidden")));
static const struct {
    uint32_t magic, version;
    const void *image;
    void *files;
} wrapper = {0x466243b1, 1, client_image, NULL};

static struct kernel {
    char letter;
    const char *name;
    CUkernel handle;
} kernels[] = {{'s', "scale", NULL}, {'d', "damp", NULL}, {'g', "gather", NULL}, {'o', "outside", NULL}};
enum { KERNELS = sizeof kernels / sizeof *kernels };
static CUlibrary library;

static struct kernel *kernel_of(char letter)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i].letter == letter) return &kernels[i];
    fprintf(stderr, "client: there is no kernel %c\n", letter);
    exit(2);
}

/* The first launch of a kernel finds it; the first of all loads the module. */
static void find_kernel(struct kernel *kernel)
{
    if (!library) CHECK(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel->handle, library, kernel->name));
}

/* --- the loop --- */

static CUdeviceptr x, y;

static void launch(struct kernel *kernel, int n)
{
    void *one[] = {kernel->letter == 'o' ? &y : &x, &n}, *two[] = {&x, &y, &n};
    unsigned blocks = ((unsigned)n + BLOCK - 1) / BLOCK;
    if (!kernel->handle) find_kernel(kernel);
    CHECK(cuLaunchKernel((CUfunction)kernel->handle, blocks, 1, 1, BLOCK, 1, 1, 0, NULL,
                         kernel->letter == 'g' ? two : one, NULL));
}

static void run_step(long step)
{
    int n = (int)(options.size + step % options.variety * BLOCK);
    for (const char *letter = options.pattern; *letter; letter++) launch(kernel_of(*letter), n);
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double middle(double *values, long count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* The host's nanoseconds for a launch of these steps. */
static double time_steps(long first, long end)
{
    double begin = now(CLOCK_MONOTONIC);
    for (long step = first; step < end; step++) run_step(step);
    double ns = (now(CLOCK_MONOTONIC) - begin) / (double)(end - first) / (double)strlen(options.pattern);
    CHECK(cuCtxSynchronize());
    return ns;
}

/* Batches are launched as the driver's functions were looked up; those that are compared in pairs, the second
 * one by the driver's own entry. */
static void run_batches(long batch)
{
    void *looked_up = *(void **)&driver.cuLaunchKernel;
    void *own = options.is_compared ? exported("cuLaunchKernel") : NULL;
    long pairs = 0, most = options.steps / batch + 1;
    double *times = calloc((size_t)most, 3 * sizeof *times);
    if (!times) exit(1);
    double *own_times = times + most, *ratios = own_times + most;
    for (long first = 1, end; first < options.steps; first = end, pairs++) {
        end = first + batch < options.steps ? first + batch : options.steps;
        times[pairs] = time_steps(first, end);
        if (!own) continue;
        *(void **)&driver.cuLaunchKernel = own;
        own_times[pairs] = time_steps(first, end);
        *(void **)&driver.cuLaunchKernel = looked_up;
        ratios[pairs] = times[pairs] / own_times[pairs];
    }
    if (options.is_timed && pairs) printf("launch_ns %.1f\n", middle(times, pairs));
    if (own && pairs) printf("own_ns %.1f\nratio %.4f\n", middle(own_times, pairs), middle(ratios, pairs));
    free(times);
}

/* The first step loads what is loaded late; it is timed by itself. */
static void run_loop(void)
{
    long batch = TIMED_LAUNCHES / (long)strlen(options.pattern);
    double begin = now(CLOCK_MONOTONIC);
    run_step(0);
    double launched = now(CLOCK_MONOTONIC);
    CHECK(cuCtxSynchronize());
    if (options.is_timed) printf("first_launch_us %.1f\n", (launched - begin) / 1e3);
    if (options.since > 0) printf("first_step_ms %.1f\n", (now(CLOCK_REALTIME) - options.since) / 1e6);
    run_batches(!batch || options.waits ? 1 : batch);
}

static void print_memory(void)
{
    char line[256];
    long size;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &size) == 1) printf("resident_kib %ld\n", size);
    if (status) fclose(status);
}

static void dump(size_t bytes)
{
    char *host = malloc(bytes);
    FILE *file = fopen(options.dump, "wb");
    bool is_written = host && file;
    for (int i = 0; is_written && i < 2; i++) {
        CHECK(cuMemcpyDtoH(host, i ? y : x, bytes));
        is_written = fwrite(host, bytes, 1, file) == 1;
    }
    if (!is_written || fclose(file)) {
        perror(options.dump);
        exit(1);
    }
    free(host);
}

static const char usage[] =
    "usage: client [OPTION]...\n"
    "Launches small kernels through the driver as NVIDIA's runtime would.\n\n"
    "  --pattern LETTERS  the launches of a step: s and d work on an array in place,\n"
    "                     g gathers from it into a second one, o works on that [sdg]\n"
    "  --steps N          steps [1]\n"
    "  --size N           floats in an array [1024]\n"
    "  --variety N        sizes that take turns from step to step [1]\n"
    "  --wait             wait for the GPU after each step\n"
    "  --time             print the host's time for a launch, and memory at the end\n"
    "  --compare          launch each batch again by the driver's own entry, and print\n"
    "                     what that takes, and the middle one of the ratios of neighbours\n"
    "  --since N          print the time to the end of the first step since N ns\n"
    "  --dump FILE        write the arrays to this file\n"
    "  --help             print this text\n";

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (value > 0 && !*end) return value;
    fprintf(stderr, "client: %s is not a number above 0\n", text);
    exit(2);
}

static void read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"pattern", required_argument, NULL, 'p'},
        {"steps", required_argument, NULL, 's'},
        {"size", required_argument, NULL, 'n'},
        {"variety", required_argument, NULL, 'v'},
        {"wait", no_argument, NULL, 'w'},
        {"time", no_argument, NULL, 't'},
        {"compare", no_argument, NULL, 'c'},
        {"since", required_argument, NULL, 'S'},
        {"dump", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'p') options.pattern = optarg;
        if (option == 's') options.steps = number(optarg);
        if (option == 'n') options.size = number(optarg);
        if (option == 'v') options.variety = number(optarg);
        if (option == 'w') options.waits = true;
        if (option == 't') options.is_timed = true;
        if (option == 'c') options.is_compared = true;
        if (option == 'S') options.since = strtod(optarg, NULL);
        if (option == 'd') options.dump = optarg;
        if (option == 'h') exit(fputs(usage, stdout) < 0);
        if (option == '?') exit(2);
    }
    if (!*options.pattern) options.pattern = "s";
    for (const char *letter = options.pattern; *letter; letter++) kernel_of(*letter);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    start();
    size_t count = (size_t)(options.size + options.variety * BLOCK), bytes = count * sizeof(float);
    float *host = malloc(bytes);
    if (!host) return 1;
    for (size_t i = 0; i < count; i++) host[i] = (float)((uint32_t)i * 2654435761u >> 8) / 16777216.0f;
    CHECK(cuMemAlloc(&x, bytes));
    CHECK(cuMemAlloc(&y, bytes));
    CHECK(cuMemcpyHtoD(x, host, bytes));
    CHECK(cuMemcpyHtoD(y, host, bytes));
    free(host);
    run_loop();
    if (options.dump) dump(bytes);
    if (options.is_timed) print_memory();
    CHECK(cuLibraryUnload(library));
    CHECK(cuMemFree(x));
    CHECK(cuMemFree(y));
    return 0;
}
