/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels, watched by the subscriber of watch.h where there is one. */
#include "emulator/driver.h"
#include "emulator/engine.h"
#include "emulator/watch.h"

static const struct emu_watcher *watch_watcher;
static struct emu_watch_launch watch_seen; /* of the launch that is watched */
static struct emu_launch watch_launch;
static void *watch_context;
static bool watch_is_busy;

__attribute__((visibility("default"))) void emuWatchSubscribe(const struct emu_watcher *watcher);

void emuWatchSubscribe(const struct emu_watcher *watcher)
{
    driver_lock();
    watch_watcher = watcher;
    driver_unlock();
}

struct emu_run *driver_watch_open(const struct emu_settings *settings, const struct emu_launch *launch,
                                  struct emu_fault *fault, bool *is_watched)
{
    emu_watch watch = NULL;
    *is_watched = false;
    if (watch_watcher && !watch_is_busy) {
        watch_launch = *launch;
        watch_seen = (struct emu_watch_launch){.function = launch->kernel->function,
                                               .program = launch->kernel->program,
                                               .launch = &watch_launch,
                                               .find_variable = emu_program_variable,
                                               .find_allocation = emu_memory_find};
        watch = watch_watcher->begin(&watch_seen, &watch_context);
    }
    struct emu_run *run = emu_run_open(settings, launch, fault, watch, watch_context);
    if (watch && !run) watch_watcher->end(watch_context);
    *is_watched = watch && run;
    watch_is_busy |= *is_watched;
    return run;
}

bool driver_watch_close(struct emu_run *run, struct emu_counts *counts, struct emu_fault *fault,
                        bool is_watched)
{
    bool is_sound = emu_run_close(run, counts, fault);
    if (!is_watched) return is_sound;
    watch_watcher->end(watch_context);
    watch_is_busy = false;
    return is_sound;
}
