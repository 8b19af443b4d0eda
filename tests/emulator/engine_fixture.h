/* SPDX-License-Identifier: Apache-2.0
 * What the engine's tests share: a loaded module, launches, and the outcome of the last one. */
#ifndef KFUSE_TESTS_EMULATOR_ENGINE_FIXTURE_H
#define KFUSE_TESTS_EMULATOR_ENGINE_FIXTURE_H

#include "emulator/exec.h"
#include "emulator/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct emu_program *program;
    struct emu_settings settings;
    struct emu_counts counts;
    struct emu_fault fault;
    emu_watch watch;
    void *watch_context;
};
extern struct fixture fixture;

/* Loads tests/emulator/engine_kernels.ptx; a group setup. */
int fixture_open(void **state);
int fixture_close(void **state);
/* Resets settings: one worker, no seed, no report; a test setup. */
int fixture_reset(void **state);
/* Launches a kernel with 8-byte parameters. */
bool fixture_run(const char *kernel, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
                 unsigned count, ...);
bool fixture_run_packed(const char *kernel, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
                        const void *parameters);
/* Zeroed device memory. */
void *fixture_memory(uint64_t bytes);
void fixture_free(void *memory);
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
