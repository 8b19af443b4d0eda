/* SPDX-License-Identifier: Apache-2.0
 * Records golden_results.txt on a GPU: golden_record >golden_results.txt. With `--ptx N` prints the PTX of a
 * case. A line a case: its results by row in hexadecimal, or `-` where the driver does not take the
 * instruction. */
#include "tests/emulator/golden.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long device_pointer;
static int (*cu_init)(unsigned), (*cu_device_get)(int *, int), (*cu_context)(void **, int), (*cu_set)(void *),
    (*cu_load)(void **, const void *), (*cu_function)(void **, void *, const char *), (*cu_unload)(void *),
    (*cu_allocate)(device_pointer *, size_t), (*cu_to_device)(device_pointer, const void *, size_t),
    (*cu_to_host)(void *, device_pointer, size_t), (*cu_synchronize)(void),
    (*cu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                 void **, void **);

static void record_bind(void *library, const char *name, void *place)
{
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "golden_record: the driver has no %s\n", name);
        exit(1);
    }
    memcpy(place, &address, sizeof address);
}

static void record_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    if (library == NULL) {
        fprintf(stderr, "golden_record: %s\n", dlerror());
        exit(1);
    }
    record_bind(library, "cuInit", &cu_init);
    record_bind(library, "cuDeviceGet", &cu_device_get);
    record_bind(library, "cuDevicePrimaryCtxRetain", &cu_context);
    record_bind(library, "cuCtxSetCurrent", &cu_set);
    record_bind(library, "cuModuleLoadData", &cu_load);
    record_bind(library, "cuModuleUnload", &cu_unload);
    record_bind(library, "cuModuleGetFunction", &cu_function);
    record_bind(library, "cuMemAlloc_v2", &cu_allocate);
    record_bind(library, "cuMemcpyHtoD_v2", &cu_to_device);
    record_bind(library, "cuMemcpyDtoH_v2", &cu_to_host);
    record_bind(library, "cuCtxSynchronize", &cu_synchronize);
    record_bind(library, "cuLaunchKernel", &cu_launch);
    if (cu_init(0) || cu_device_get(&device, 0) || cu_context(&context, device) || cu_set(context)) {
        fprintf(stderr, "golden_record: no device\n");
        exit(1);
    }
}

static void record_case(uint32_t index, device_pointer in, device_pointer out)
{
    static char text[GOLDEN_TEXT];
    static uint64_t rows[GOLDEN_ROWS][3], results[GOLDEN_ROWS];
    void *module, *function, *arguments[] = {&in, &out};
    golden_ptx(index, text);
    golden_inputs(index, rows);
    int error = cu_load(&module, text);
    if (error != 0) {
        printf("-\n");
        fprintf(stderr, "golden_record: error %d: %s\n", error, golden_name(index));
        return;
    }
    cu_to_device(in, rows, sizeof rows);
    if (cu_function(&function, module, "run") ||
        cu_launch(function, 1, 1, 1, GOLDEN_ROWS, 1, 1, 0, NULL, arguments, NULL) || cu_synchronize() ||
        cu_to_host(results, out, sizeof results)) {
        fprintf(stderr, "golden_record: the launch failed: %s\n", golden_name(index));
        exit(1);
    }
    for (unsigned i = 0; i < GOLDEN_ROWS; i++)
        printf("%llx%c", (unsigned long long)results[i], i + 1 < GOLDEN_ROWS ? ' ' : '\n');
    cu_unload(module);
}

int main(int count, char **arguments)
{
    device_pointer in, out;
    static char text[GOLDEN_TEXT];
    if (count == 3 && strcmp(arguments[1], "--ptx") == 0) {
        golden_ptx((uint32_t)atoi(arguments[2]) % golden_count(), text);
        fputs(text, stdout);
        return 0;
    }
    record_open();
    cu_allocate(&in, 24 * GOLDEN_ROWS);
    cu_allocate(&out, 8 * GOLDEN_ROWS);
    for (uint32_t i = 0; i < golden_count(); i++) record_case(i, in, out);
    return 0;
}
