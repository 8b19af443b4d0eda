/* SPDX-License-Identifier: Apache-2.0
 * See engine_fixture.h. */
#include "tests/emulator/engine_fixture.h"

#include <stdio.h>

struct fixture fixture;

int fixture_open(void **state)
{
    char path[1024], *error;
    const char *source = getenv("top_srcdir");
    static char text[1 << 20];
    (void)state;
    snprintf(path, sizeof path, "%s/tests/emulator/engine_kernels.ptx", source ? source : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL || !emu_memory_open(1ull << 32)) return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    fixture.program = emu_program_load(path, text, &error);
    if (fixture.program == NULL) fprintf(stderr, "%s\n", error);
    return fixture.program == NULL ? -1 : 0;
}

int fixture_close(void **state)
{
    (void)state;
    emu_program_unload(fixture.program);
    return 0;
}

int fixture_reset(void **state)
{
    (void)state;
    fixture.settings = (struct emu_settings){.workers = 1};
    fixture.watch = NULL;
    return 0;
}

bool fixture_run_packed(const char *kernel, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
                        const void *parameters)
{
    struct emu_launch launch = {.kernel = emu_program_kernel(fixture.program, kernel),
                                .grid = {blocks, 1, 1},
                                .block = {threads, 1, 1},
                                .dynamic_shared = dynamic_shared,
                                .parameters = parameters};
    assert_non_null(launch.kernel);
    bool is_good = emu_run(&fixture.settings, &launch, &fixture.counts, &fixture.fault, fixture.watch,
                           fixture.watch_context);
    assert_int_equal(is_good, fixture.fault.kind == EMU_FAULT_NONE);
    return is_good;
}

bool fixture_run(const char *kernel, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
                 unsigned count, ...)
{
    unsigned char parameters[128] = {0};
    va_list arguments;
    va_start(arguments, count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = va_arg(arguments, uint64_t);
        uint32_t offset, size;
        assert_true(emu_kernel_parameter(emu_program_kernel(fixture.program, kernel), i, &offset, &size));
        memcpy(parameters + offset, &value, size);
    }
    va_end(arguments);
    bool is_good = fixture_run_packed(kernel, blocks, threads, dynamic_shared, parameters);
    if (!is_good) print_message("%s\n", fixture.fault.message);
    return is_good;
}

void *fixture_memory(uint64_t bytes)
{
    void *memory = (void *)(uintptr_t)emu_memory_allocate(bytes, EMU_MEMORY_DEVICE);
    assert_non_null(memory);
    return memset(memory, 0, bytes);
}

void fixture_free(void *memory)
{
    assert_true(emu_memory_release(ADDRESS(memory)));
}
