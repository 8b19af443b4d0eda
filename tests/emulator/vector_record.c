/* SPDX-License-Identifier: Apache-2.0
 * Records the golden vectors on a GPU, with the driver alone: vector_record [-j PROCESSES] FILE. What the
 * driver does not compile or run is said and noted, and is not fatal: processes share the work, and one that
 * is lost is replaced. vector_record --ptx NUMBER     prints a form's module vector_record --modules FOLDER
 * writes all of them, for ptxas, with the number of its form above each kernel */
#include "tests/emulator/vector_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 24,
    MODULE_TEXT = (BATCH + 1) * VECTOR_TEXT,
    PATIENCE_SECONDS = 60,
    JIT_LOG = 5,
    JIT_LOG_BYTES = 6,
    LOG_BYTES = 8192
};

typedef unsigned long long device_pointer;
static struct {
    int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*set)(void *),
        (*name)(char *, int, int), (*version)(int *),
        (*load)(void **, const void *, unsigned, int *, void **), (*function)(void **, void *, const char *),
        (*unload)(void *), (*allocate)(device_pointer *, size_t),
        (*to_device)(device_pointer, const void *, size_t), (*to_host)(void *, device_pointer, size_t),
        (*fill)(device_pointer, unsigned char, size_t), (*wait)(void),
        (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **);
    device_pointer in, out;
} gpu;
static const struct emu_form *forms;
static struct vector_record *records; /* shared by the processes */
static uint32_t form_count;

static void die(const char *what)
{
    fprintf(stderr, "vector_record: %s\n", what);
    exit(1);
}

static void gpu_bind(void *library, const char *name, void *place)
{
    void *address = dlsym(library, name);
    if (address == NULL) die(name);
    memcpy(place, &address, sizeof address);
}

static void gpu_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    if (library == NULL) die(dlerror());
    gpu_bind(library, "cuInit", &gpu.init);
    gpu_bind(library, "cuDeviceGet", &gpu.device);
    gpu_bind(library, "cuDeviceGetName", &gpu.name);
    gpu_bind(library, "cuDriverGetVersion", &gpu.version);
    gpu_bind(library, "cuDevicePrimaryCtxRetain", &gpu.retain);
    gpu_bind(library, "cuCtxSetCurrent", &gpu.set);
    gpu_bind(library, "cuModuleLoadDataEx", &gpu.load);
    gpu_bind(library, "cuModuleUnload", &gpu.unload);
    gpu_bind(library, "cuModuleGetFunction", &gpu.function);
    gpu_bind(library, "cuMemAlloc_v2", &gpu.allocate);
    gpu_bind(library, "cuMemcpyHtoD_v2", &gpu.to_device);
    gpu_bind(library, "cuMemcpyDtoH_v2", &gpu.to_host);
    gpu_bind(library, "cuMemsetD8_v2", &gpu.fill);
    gpu_bind(library, "cuCtxSynchronize", &gpu.wait);
    gpu_bind(library, "cuLaunchKernel", &gpu.launch);
    if (gpu.init(0) || gpu.device(&device, 0) || gpu.retain(&context, device) || gpu.set(context) ||
        gpu.allocate(&gpu.in, sizeof(uint64_t) * VECTOR_OPERANDS * VECTOR_ROWS) ||
        gpu.allocate(&gpu.out, sizeof(struct vector_result) * VECTOR_ROWS))
        die("no device");
}

/* The module of forms[numbers[0 .. count)] */
static void module_text(char *text, const uint32_t *numbers, uint32_t count)
{
    strcpy(text, vector_module_head(vector_is_old(&forms[numbers[0]])));
    for (uint32_t i = 0; i < count; i++) vector_kernel(&forms[numbers[i]], numbers[i], text + strlen(text));
}

static bool module_load(void **module, const uint32_t *numbers, uint32_t count, char *log)
{
    static char text[MODULE_TEXT];
    int options[] = {JIT_LOG, JIT_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(LOG_BYTES - 1)};
    module_text(text, numbers, count);
    memset(log, 0, LOG_BYTES);
    return gpu.load(module, text, 2, options, values) == 0;
}

/* False: the device is lost to this process. */
static bool record_form(void *module, uint32_t number)
{
    static uint64_t rows[VECTOR_ROWS][VECTOR_OPERANDS];
    static const uint64_t fixed[2] = {VECTOR_FIXED, ~VECTOR_FIXED};
    struct vector_record *record = &records[number];
    void *function, *arguments[] = {&gpu.in, &gpu.out, (void *)(uintptr_t)fixed};
    char name[32];
    snprintf(name, sizeof name, "run%u", number);
    vector_inputs(&forms[number], rows);
    record->status = VECTOR_FAILED;
    alarm(PATIENCE_SECONDS);
    if (gpu.function(&function, module, name)) return true;
    if (gpu.to_device(gpu.in, rows, sizeof rows) || gpu.fill(gpu.out, 0xff, sizeof record->results))
        return false;
    int error =
        gpu.launch(function, VECTOR_ROWS / VECTOR_BLOCK, 1, 1, VECTOR_BLOCK, 1, 1, 0, NULL, arguments, NULL);
    if (error == 0) error = gpu.wait();
    if (error == 0) error = gpu.to_host(record->results, gpu.out, sizeof record->results);
    if (error != 0)
        fprintf(stderr, "vector_record: error %d: %s %s\n", error, forms[number].mnemonic,
                forms[number].operands);
    if (error == 0) record->status = VECTOR_RECORDED;
    return error == 0;
}

/* In one module if the driver takes it, else each in its own. */
static bool record_batch(const uint32_t *numbers, uint32_t count)
{
    static char log[LOG_BYTES];
    void *module;
    bool is_good = true;
    alarm(PATIENCE_SECONDS);
    if (module_load(&module, numbers, count, log)) {
        for (uint32_t i = 0; is_good && i < count; i++) is_good = record_form(module, numbers[i]);
        if (is_good) gpu.unload(module);
        return is_good;
    }
    if (count == 1) {
        records[numbers[0]].status = VECTOR_REJECTED;
        fprintf(stderr, "vector_record: not compiled: %s %s\n%s\n", forms[numbers[0]].mnemonic,
                forms[numbers[0]].operands, log);
        return true;
    }
    for (uint32_t i = 0; is_good && i < count; i++) is_good = record_batch(&numbers[i], 1);
    return is_good;
}

/* A process's share: the pending forms of its part of the list. */
static int record_share(uint32_t share, uint32_t shares)
{
    uint32_t numbers[BATCH], count = 0, end = (uint32_t)((uint64_t)form_count * (share + 1) / shares);
    gpu_open();
    for (uint32_t i = (uint32_t)((uint64_t)form_count * share / shares); i <= end; i++) {
        bool is_pending = i < end && records[i].status == VECTOR_PENDING && forms[i].registers != NULL;
        bool breaks = i == end || (is_pending && count > 0 &&
                                   vector_is_old(&forms[i]) != vector_is_old(&forms[numbers[0]]));
        if (count > 0 && (breaks || count == BATCH)) {
            if (!record_batch(numbers, count)) return 2;
            count = 0;
        }
        if (is_pending) numbers[count++] = i;
    }
    return 0;
}

static pid_t start_share(uint32_t share, uint32_t shares)
{
    pid_t process = fork();
    if (process == 0) _exit(record_share(share, shares));
    if (process < 0) die("no process");
    return process;
}

static uint32_t count_pending(uint32_t share, uint32_t shares)
{
    uint32_t pending = 0, end = (uint32_t)((uint64_t)form_count * (share + 1) / shares);
    for (uint32_t i = (uint32_t)((uint64_t)form_count * share / shares); i < end; i++)
        pending += records[i].status == VECTOR_PENDING && forms[i].registers != NULL;
    return pending;
}

/* Runs all shares; one whose process was lost goes on behind the form that it was lost at. */
static void record_all(uint32_t shares)
{
    pid_t processes[64];
    uint32_t before[64], running = shares;
    for (uint32_t i = 0; i < shares; i++) {
        before[i] = count_pending(i, shares);
        processes[i] = start_share(i, shares);
    }
    while (running > 0) {
        int status;
        pid_t ended = wait(&status);
        for (uint32_t i = 0; i < shares; i++) {
            if (processes[i] != ended) continue;
            uint32_t pending = count_pending(i, shares);
            bool goes_on = pending > 0 && pending < before[i];
            before[i] = pending;
            processes[i] = goes_on ? start_share(i, shares) : 0;
            running -= !goes_on;
        }
    }
}

/* Which device, driver and day; asked in a process of its own, since a CUDA process does not fork well. */
static void say_origin(char *text, size_t size)
{
    char name[128] = "", day[32], driver[256] = "";
    int version = 0;
    gpu_open();
    gpu.name(name, sizeof name, 0);
    gpu.version(&version);
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file != NULL && fgets(driver, sizeof driver, file) != NULL) driver[strcspn(driver, "\n")] = 0;
    if (file != NULL) fclose(file);
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    snprintf(text, size, "kfuse golden vectors: %s, CUDA %d.%d, %s, %s", name, version / 1000,
             version % 1000 / 10, driver, day);
}

static void write_modules(const char *folder)
{
    static char text[MODULE_TEXT];
    for (int is_old = 0; is_old < 2; is_old++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.ptx", folder, is_old ? "old" : "new");
        FILE *file = fopen(path, "w");
        if (file == NULL) die(path);
        fputs(vector_module_head(is_old), file);
        for (uint32_t i = 0; i < form_count; i++) {
            if (forms[i].registers == NULL || vector_is_old(&forms[i]) != is_old) continue;
            vector_kernel(&forms[i], i, text);
            fprintf(file, "// form %u: %s %s\n%s", i, forms[i].mnemonic, forms[i].operands, text);
        }
        fclose(file);
    }
}

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("no memory");
    return memory;
}

static int record_file(const char *path, uint32_t shares)
{
    uint32_t kept = 0, recorded = 0, rejected = 0;
    char *origin = shared_memory(1024);
    records = shared_memory(form_count * sizeof *records);
    pid_t asks = fork();
    if (asks == 0) {
        say_origin(origin, 1024);
        _exit(0);
    }
    waitpid(asks, NULL, 0);
    if (origin[0] == 0) die("no device");
    record_all(shares);
    for (uint32_t i = 0; i < form_count; i++) {
        if (forms[i].registers == NULL) continue;
        recorded += records[i].status == VECTOR_RECORDED;
        rejected += records[i].status == VECTOR_REJECTED;
        records[i].identity = vector_identity(&forms[i]);
        snprintf(records[i].mnemonic, VECTOR_NAME, "%s", forms[i].mnemonic);
        if (kept != i) records[kept] = records[i];
        kept++;
    }
    printf("%s\n%u forms: %u recorded, %u not compiled, %u failed\n", origin, kept, recorded, rejected,
           kept - recorded - rejected);
    if (!vector_file_write(path, origin, records, kept)) die("the file cannot be written");
    return recorded == kept ? 0 : 3;
}

int main(int count, char **arguments)
{
    static char text[MODULE_TEXT];
    uint32_t shares = 8;
    forms = emu_forms(&form_count);
    if (forms == NULL) die("emulator/forms.def is wrong");
    if (count == 3 && strcmp(arguments[1], "--ptx") == 0) {
        uint32_t number = (uint32_t)atoi(arguments[2]) % form_count;
        if (forms[number].registers == NULL) die("it has no vector");
        module_text(text, &number, 1);
        fputs(text, stdout);
        return 0;
    }
    if (count == 3 && strcmp(arguments[1], "--modules") == 0) {
        write_modules(arguments[2]);
        return 0;
    }
    if (count == 4 && strcmp(arguments[1], "-j") == 0) {
        shares = (uint32_t)atoi(arguments[2]);
        count = 2;
        arguments[1] = arguments[3];
    }
    if (count != 2 || arguments[1][0] == '-' || shares < 1 || shares > 64) {
        fprintf(stderr, "usage: vector_record [-j PROCESSES] FILE | --ptx NUMBER | --modules FOLDER\n");
        return 2;
    }
    return record_file(arguments[1], shares);
}
