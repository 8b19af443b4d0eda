/* SPDX-License-Identifier: Apache-2.0
 * Sources of activity records: the emulated driver says so itself; otherwise the CUPTI plugin is looked for
 * beside this library, in the package's folder, and where KFUSE_CUPTI_PLUGIN points. */
#include "profiler/source.h"
#include "common/log.h"
#include "common/setting.h"
#include "emulator/activity.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_PATH = 4096 };
#define PLUGIN "libkfuse-cupti.so"

static struct {
    emu_activity_subscribe subscribe;
    emu_activity_tag tag;
    void (*deliver)(const struct trace_activity *activity);
} emulator;

static void emulator_deliver(void *context, const struct emu_activity *activity)
{
    (void)context;
    if (!activity->tag) return;
    struct trace_activity record = {.sequence = activity->tag,
                                    .start_ns = activity->start_ns,
                                    .end_ns = activity->end_ns,
                                    .registers = activity->registers,
                                    .static_shared = activity->static_shared,
                                    .dynamic_shared = activity->dynamic_shared,
                                    .local_per_thread = activity->local_per_thread};
    emulator.deliver(&record);
}

static bool emulator_start(void (*deliver)(const struct trace_activity *activity), const char **error)
{
    emulator.deliver = deliver;
    if (emulator.subscribe(emulator_deliver, NULL) == 0) return true;
    *error = "the emulator refused the subscription";
    return false;
}

static void emulator_begin(uint64_t sequence)
{
    emulator.tag(sequence);
}

static void emulator_end(void)
{
    emulator.tag(0);
}

static void emulator_flush(void)
{
}

static void emulator_stop(bool at_exit)
{
    (void)at_exit;
    emulator.subscribe(NULL, NULL);
}

static const struct activity_source emulator_source = {.start = emulator_start,
                                                       .launch_begin = emulator_begin,
                                                       .launch_end = emulator_end,
                                                       .flush = emulator_flush,
                                                       .stop = emulator_stop};

static const struct activity_source *load_plugin(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    activity_source_function function =
        library ? (activity_source_function)dlsym(library, "kfuse_activity_source") : NULL;
    const char *reason = function ? NULL : dlerror();
    if (function) return function();
    log_write(LOG_WARNING, "recorder", "%s cannot be used: %s; is KFUSE_CUPTI_PLUGIN right?", path,
              reason ? reason : "no kfuse_activity_source");
    if (library) dlclose(library);
    return NULL;
}

/* The folder of the library that this code is in, without a slash at the end. */
static bool own_folder(char folder[SOURCE_PATH])
{
    Dl_info info;
    if (!dladdr((void *)&emulator_source, &info) || !info.dli_fname || strlen(info.dli_fname) >= SOURCE_PATH)
        return false;
    strcpy(folder, info.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return slash != NULL;
}

static const struct activity_source *find_plugin(void)
{
    static const char *const places[] = {
        "%s/" PLUGIN, "%s/kfuse/" PLUGIN, "%s/../lib/kfuse/" PLUGIN,
        "%s/../../profiler/.libs/" PLUGIN /* a build that is not installed */};
    char folder[SOURCE_PATH], path[SOURCE_PATH + 64];
    const char *told = setting_text("KFUSE_CUPTI_PLUGIN");
    if (told) return load_plugin(told);
    for (size_t i = 0; own_folder(folder) && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, places[i], folder);
        if (access(path, F_OK) == 0) return load_plugin(path);
    }
    if (access(KFUSE_PKGLIBDIR "/" PLUGIN, F_OK) == 0) return load_plugin(KFUSE_PKGLIBDIR "/" PLUGIN);
    log_write(LOG_WARNING, "recorder",
              "%s not found beside libkfuse.so nor in %s: name it in KFUSE_CUPTI_PLUGIN", PLUGIN,
              KFUSE_PKGLIBDIR);
    return NULL;
}

const struct activity_source *source_find(void *(*real)(const char *name))
{
    emulator.subscribe = (emu_activity_subscribe)real("emuActivitySubscribe");
    emulator.tag = (emu_activity_tag)real("emuActivityTag");
    if (emulator.subscribe && emulator.tag) return &emulator_source;
    return find_plugin();
}
