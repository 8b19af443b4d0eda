/* SPDX-License-Identifier: Apache-2.0
 * How a test sees what the launches of a whole program touch: the emulated driver asks a subscriber before
 * each launch whether its accesses are to be watched (but for launches that begin while a watched one is
 * under way in another stream). Called with the driver's lock held: no entry point may be called from there.
 */
#ifndef KFUSE_EMULATOR_WATCH_H
#define KFUSE_EMULATOR_WATCH_H

#include "emulator/exec.h"
#include "emulator/memory.h"

struct emu_watch_launch { /* valid until the launch has run */
    const struct ptx_function *function;
    const struct emu_program *program;
    const struct emu_launch *launch;
    /* emu_program_variable and emu_memory_find of the driver */
    bool (*find_variable)(const struct emu_program *program, const char *name, uint64_t *address,
                          uint64_t *size);
    bool (*find_allocation)(uint64_t address, struct emu_allocation *allocation);
};
struct emu_watcher {
    /* What is called for every access, with *context; NULL: this launch is not watched. */
    emu_watch (*begin)(const struct emu_watch_launch *launch, void **context);
    /* After a watched launch. */
    void (*end)(void *context);
};
/* exported by the emulated libcuda.so.1; the watcher stays valid */
typedef void (*emu_watch_subscribe)(const struct emu_watcher *watcher); /* "emuWatchSubscribe" */

#endif
