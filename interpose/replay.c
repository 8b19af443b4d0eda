/* SPDX-License-Identifier: Apache-2.0
 * Replay: what a plan needs before its groups may be used. Everything that does not fit is said once, with
 * the file and the next step, and the originals run. */
#include "interpose/replay.h"
#include "interpose/chain.h"

#include "common/log.h"
#include "common/plan.h"
#include "common/setting.h"
#include "interpose/measure.h"
#include "interpose/queue.h"
#include "interpose/screen.h"
#include "interpose/shim.h"
#include "interpose/verify.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum group_state { GROUP_WAITING, GROUP_READY, GROUP_REFUSED };
enum { AHEAD_NS = 10000000 };

atomic_bool replay_is_mapped;

static struct replay {
    struct plan plan;
    char directory[PATH_MAX];
    const char *denied;      /* KFUSE_DENY, or NULL */
    pthread_mutex_t service; /* taken with trylock only: one thread loads, the others go on */
    atomic_bool is_waiting;  /* a group may have become possible */
    bool is_device_checked;
    CUcontext context;     /* where the code is */
    CUdevice device;       /* its */
    unsigned char *groups; /* enum group_state */
    int64_t loading_ns;    /* spent on it so far */
    CUmodule *modules;     /* by variant of the plan; equal code is loaded once */
    CUfunction *functions; /* by variant, NULL where its code is not loaded */
    bool is_ahead_done;    /* no more code is loaded before the modules that it is for */
} replay = {.service = PTHREAD_MUTEX_INITIALIZER};

static const char *string_at(uint32_t offset)
{
    return replay.plan.strings + offset;
}

/* --- opening --- */

bool replay_open(const char *directory)
{
    char error[512];
    snprintf(replay.directory, sizeof replay.directory, "%s", directory);
    replay.denied = setting_text("KFUSE_DENY");
    if (!plan_map_trusted(&replay.plan, directory, error, sizeof error)) {
        shim_latch(error);
        return false;
    }
    const struct plan_header *header = replay.plan.header;
    if (!header->groups.count && !chain_is_wanted()) {
        log_write(LOG_INFO, "replay", "%s holds no group: launches pass through", directory);
        return false;
    }
    replay.groups = calloc((size_t)header->groups.count + 1, 1);
    replay.modules = calloc((size_t)header->variants.count + 1, sizeof *replay.modules);
    replay.functions = calloc((size_t)header->variants.count + 1, sizeof *replay.functions);
    if (!replay.groups || !replay.modules || !replay.functions || !queue_start(&replay.plan) ||
        !verify_start(&replay.plan, directory) || !measure_start(&replay.plan, directory) ||
        !screen_start(&replay.plan)) {
        shim_latch("out of memory for the plan");
        return false;
    }
    atomic_store(&replay.is_waiting, true);
    atomic_store_explicit(&replay_is_mapped, true, memory_order_release);
    log_write(LOG_INFO, "replay", "%s: %u groups", directory, header->groups.count);
    return true;
}

/* --- kernels --- */

/* The name as the program's files have it, or the plain name of a C++ function: _Z<length><name>... */
static bool is_named(const char *kernel, const char *name, size_t length)
{
    char *end;
    if (strlen(kernel) == length && !memcmp(kernel, name, length)) return true;
    if (strncmp(kernel, "_Z", 2)) return false;
    return strtoul(kernel + 2, &end, 10) == length && !strncmp(end, name, length);
}

static bool is_denied(const char *kernel)
{
    for (const char *at = replay.denied; at && *at;) {
        size_t length = strcspn(at, ",");
        if (length && is_named(kernel, at, length)) return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool is_as_recorded(const struct track_kernel *kernel, const struct plan_kernel *planned)
{
    const struct trace_kernel *record = &kernel->record;
    return record->registers == planned->registers && record->static_shared == planned->static_shared &&
           record->local_bytes == planned->local_bytes && record->parameter_bytes == planned->parameter_bytes;
}

static int32_t find_kernel(struct track_kernel *kernel)
{
    bool is_named_in_plan = false;
    for (uint32_t i = 0; i < replay.plan.header->kernels.count; i++) {
        const struct plan_kernel *planned = &replay.plan.kernels[i];
        if (!hash_equal(replay.plan.modules[planned->module].hash, kernel->module->record.hash)) continue;
        if (strcmp(string_at(planned->name), kernel->name)) continue;
        if (!track_kernel_describe(kernel)) return TRACK_PLAN_UNBOUND;
        if (is_as_recorded(kernel, planned)) return (int32_t)i;
        is_named_in_plan = true;
    }
    if (is_named_in_plan)
        log_write(LOG_WARNING, "replay",
                  "%s has other attributes than when it was recorded: record and plan again", kernel->name);
    return TRACK_PLAN_NONE;
}

int32_t replay_bind(struct track_kernel *kernel)
{
    int32_t index = atomic_load_explicit(&kernel->plan, memory_order_acquire);
    if (index != TRACK_PLAN_UNBOUND) return index;
    if (track_is_capturing()) return TRACK_PLAN_NONE;
    index = kernel->module ? find_kernel(kernel) : TRACK_PLAN_NONE;
    if (index >= 0 && is_denied(kernel->name)) {
        log_write(LOG_INFO, "replay", "%s is in KFUSE_DENY", kernel->name);
        index = TRACK_PLAN_NONE;
    }
    atomic_store_explicit(&kernel->plan, index, memory_order_release);
    return index == TRACK_PLAN_UNBOUND ? TRACK_PLAN_NONE : index;
}

/* --- device --- */

static bool is_right_device(CUdevice device)
{
    const struct plan_header *header = replay.plan.header;
    char name[sizeof header->device_name] = "";
    int major = 0, minor = 0, version = 0;
    REAL(cuDeviceGetName)(name, sizeof name, device);
    REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    REAL(cuDriverGetVersion)(&version);
    bool is_emulated = entry_lookup("emuActivitySubscribe") != NULL;
    if (strcmp(name, header->device_name) || (uint32_t)major != header->compute_major ||
        (uint32_t)minor != header->compute_minor || is_emulated != (header->is_emulated != 0)) {
        shim_latch_format("%s/plan.bin is for %s (compute %u.%u%s), this is %s (%d.%d%s): run `kfuse record` "
                          "and `kfuse plan` on this device",
                          replay.directory, header->device_name, header->compute_major, header->compute_minor,
                          header->is_emulated ? ", emulated" : "", name, major, minor,
                          is_emulated ? ", emulated" : "");
        return false;
    }
    if ((uint32_t)version != header->driver_version) {
        shim_latch_format(
            "%s/plan.bin was made with CUDA driver %u, this is %d: run `kfuse record` and `kfuse plan` again",
            replay.directory, header->driver_version, version);
        return false;
    }
    return true;
}

/* --- code --- */

static bool are_modules_loaded(const struct plan_group *group)
{
    for (uint32_t i = 0; i < group->step_count; i++) {
        const struct plan_step *step = &replay.plan.steps[group->first_step + i];
        const struct plan_kernel *kernel = &replay.plan.kernels[step->kernel];
        if (!kernel->memop && !track_module_is_loaded(replay.plan.modules[kernel->module].hash)) return false;
    }
    return true;
}

static CUresult load_code(uint32_t variant, CUmodule *module)
{
    const struct plan_variant *variants = replay.plan.variants;
    for (uint32_t i = 0; i < replay.plan.header->variants.count; i++)
        if (replay.modules[i] && variants[i].code == variants[variant].code) {
            *module = replay.modules[i];
            return CUDA_SUCCESS;
        }
    return REAL(cuModuleLoadData)(module, replay.plan.code + variants[variant].code);
}

static uint32_t parameter_bytes_of(CUfunction function)
{
    size_t offset, size, end = 0;
    for (size_t i = 0; REAL(cuFuncGetParamInfo)(function, i, &offset, &size) == CUDA_SUCCESS; i++)
        if (offset + size > end) end = offset + size;
    return (uint32_t)end;
}

static const char *load_variant(uint32_t index)
{
    static char reason[128];
    const struct plan_variant *variant = &replay.plan.variants[index];
    CUfunction *function = &replay.functions[index];
    if (*function) return NULL;
    CUresult result = load_code(index, &replay.modules[index]);
    if (result == CUDA_SUCCESS)
        result = REAL(cuModuleGetFunction)(function, replay.modules[index], string_at(variant->entry));
    if (result == CUDA_SUCCESS)
        REAL(cuFuncLoad)(*function); /* not at its first launch; drivers before 12.4 lack it */
    if (result == CUDA_SUCCESS && variant->dynamic_shared > QUEUE_PLAIN_SHARED)
        result = REAL(cuFuncSetAttribute)(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          (int)variant->dynamic_shared);
    if (result == CUDA_SUCCESS && parameter_bytes_of(*function) == variant->parameter_bytes) return NULL;
    *function = NULL;
    if (result == CUDA_SUCCESS) return "its code takes other parameters";
    snprintf(reason, sizeof reason, "its code cannot be loaded: CUDA error %d", (int)result);
    return reason;
}

static const char *load_group(const struct plan_group *group)
{
    const char *reason = NULL;
    if (!verify_allows(group)) return "it must be verified on this device first: use `kfuse run --verify`";
    for (uint32_t i = 0; !reason && i < group->variant_count; i++)
        reason = load_variant(group->first_variant + i);
    return reason;
}

static void leave_off_loser(uint32_t index)
{
    replay.groups[index] = GROUP_REFUSED;
    shim_count(COUNT_LOSERS);
    log_write(LOG_INFO, "replay", "group %s is off: earlier runs have measured it to lose",
              string_at(replay.plan.groups[index].name));
}

static void enable_group(uint32_t index, CUcontext context)
{
    const struct plan_group *group = &replay.plan.groups[index];
    if (measure_is_loser(index)) {
        leave_off_loser(index);
        return;
    }
    const char *reason = load_group(group);
    if (!reason && !queue_enable(index, context, replay.functions + group->first_variant))
        reason = "memory is out";
    replay.groups[index] = reason ? GROUP_REFUSED : GROUP_READY;
    if (reason) {
        verify_forget(index);
        shim_count(COUNT_REFUSED);
    }
    log_write(reason ? LOG_WARNING : LOG_INFO, "replay", "group %s is %s%s", string_at(group->name),
              reason ? "off: " : "ready", reason ? reason : "");
}

/* Programs load their modules late, often at their first launch, where the time of ours would be seen. What
 * cannot be loaded now is tried again when its modules are there. */
static void load_ahead(void)
{
    int64_t end = shim_now_ns() + AHEAD_NS;
    if (replay.is_ahead_done) return;
    replay.is_ahead_done = true;
    for (uint32_t i = 0; i < replay.plan.header->groups.count && shim_now_ns() < end; i++)
        if (replay.groups[i] == GROUP_WAITING && !measure_is_loser(i)) load_group(&replay.plan.groups[i]);
}

static void load_what_is_possible(CUcontext context)
{
    if (replay.context && replay.context != context) {
        shim_latch("a second context loads modules of the plan");
        return;
    }
    replay.context = context;
    for (uint32_t i = 0; i < replay.plan.header->groups.count; i++)
        if (replay.groups[i] == GROUP_WAITING && are_modules_loaded(&replay.plan.groups[i]))
            enable_group(i, context);
    load_ahead();
}

void replay_module_loaded(const struct track_module *module)
{
    if (!replay_is_on()) return;
    for (uint32_t i = 0; i < replay.plan.header->modules.count; i++)
        if (hash_equal(replay.plan.modules[i].hash, module->record.hash))
            atomic_store(&replay.is_waiting, true);
}

void replay_service(void)
{
    CUdevice device;
    if (!replay_is_on() || !atomic_load_explicit(&replay.is_waiting, memory_order_acquire)) return;
    if (shim_is_latched() || track_is_capturing()) return;
    CUcontext context = track_current_context();
    if (!context || REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS) return;
    if (pthread_mutex_trylock(&replay.service)) return;
    if (track_is_capturing()) { /* one that waits in replay_await_service */
        pthread_mutex_unlock(&replay.service);
        return;
    }
    int64_t start = shim_now_ns();
    atomic_store(&replay.is_waiting, false);
    if (!replay.context) replay.device = device;
    if (!replay.is_device_checked) replay.is_device_checked = is_right_device(device);
    if (replay.is_device_checked && !shim_is_latched()) load_what_is_possible(context);
    replay.loading_ns += shim_now_ns() - start;
    pthread_mutex_unlock(&replay.service);
}

void replay_await_service(void)
{
    if (!replay_is_on() || shim_is_latched()) return;
    pthread_mutex_lock(&replay.service);
    pthread_mutex_unlock(&replay.service);
}

void replay_context_gone(CUcontext context)
{
    if (replay_is_on() && replay.context && context == replay.context) {
        shim_latch_quietly("the context in which the plan's code was loaded is gone");
        queue_context_gone();
    }
}

void replay_device_gone(CUdevice device)
{
    if (replay_is_on() && replay.context && replay.device == device) replay_context_gone(replay.context);
}

void replay_write_stats(FILE *file)
{
    uint32_t used = 0, count = replay_is_on() ? replay.plan.header->groups.count : 0;
    for (uint32_t i = 0; i < count; i++) used += queue_group_uses(i) > 0;
    fprintf(file, "loading_us %lld\ngroups_used %u\n", (long long)replay.loading_ns / 1000, used);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "group %s uses %llu\n", string_at(replay.plan.groups[i].name),
                (unsigned long long)queue_group_uses(i));
}

void replay_tell_unused(void)
{
    uint32_t ready = 0, count = replay_is_on() ? replay.plan.header->groups.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (queue_group_uses(i)) return;
        ready += replay.groups[i] == GROUP_READY;
    }
    if (ready)
        log_write(LOG_WARNING, "replay",
                  "%s: its %u group%s fitted no launch of this run, whose sizes or arguments are others than "
                  "those recorded: record this run too, and make one plan of both (`kfuse plan -o %s TRACE "
                  "TRACE`)",
                  replay.directory, ready, ready == 1 ? "" : "s", replay.directory);
}
