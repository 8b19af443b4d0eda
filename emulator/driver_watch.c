/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels, watched by the subscriber of watch.h where there is one. */
#include "emulator/driver.h"
#include "emulator/engine.h"
#include "emulator/watch.h"

static const struct emu_watcher *watch_watcher;

__attribute__((visibility("default"))) void emuWatchSubscribe(const struct emu_watcher *watcher);

void emuWatchSubscribe(const struct emu_watcher *watcher)
{
    driver_lock();
    watch_watcher = watcher;
    driver_unlock();
}

bool driver_watch_run(const struct emu_settings *settings, const struct emu_launch *launch,
                      struct emu_counts *counts, struct emu_fault *fault)
{
    const struct emu_watch_launch seen = {.function = launch->kernel->function,
                                          .program = launch->kernel->program,
                                          .launch = launch,
                                          .find_variable = emu_program_variable,
                                          .find_allocation = emu_memory_find};
    void *context = NULL;
    emu_watch watch = watch_watcher ? watch_watcher->begin(&seen, &context) : NULL;
    bool is_sound = emu_run(settings, launch, counts, fault, watch, context);
    if (watch) watch_watcher->end(context);
    return is_sound;
}
