/* SPDX-License-Identifier: Apache-2.0
 * See runs.h. Records of the first trace are handed out as they are, of later ones as copies. */
#include "fuser/planner/runs.h"

#include "common/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 24 }; /* as a program has at most */

struct known_kernel {
    struct trace_kernel record;
    const char *name;
};
struct numbers { /* by number in the trace that is read: the number for all, or 0 */
    uint32_t *items, count;
};
struct runs {
    struct arena *arena;
    const char *const *paths;
    struct trace_reader **readers;
    uint32_t count, at;
    struct trace_device device; /* of the first trace that names one */
    bool has_device, out_of_memory;
    struct trace_module *modules; /* in all so far */
    uint32_t module_count, module_capacity, last_module;
    struct known_kernel *kernels;
    uint32_t kernel_count, kernel_capacity, last_kernel;
    struct numbers module_numbers, kernel_numbers;
    uint64_t before, last; /* sequence numbers: of earlier traces, so far */
    const char *error;
};

struct runs *runs_open(const char *const *paths, uint32_t count, bool are_trusted, char *error,
                       size_t error_size)
{
    struct trace_reader *(*open)(const char *, char *, size_t) =
        are_trusted ? trace_reader_open_trusted : trace_reader_open;
    struct arena *arena = arena_create();
    struct runs *runs = arena ? arena_calloc(arena, 1, sizeof *runs) : NULL;
    if (runs) runs->readers = arena_calloc(arena, count, sizeof *runs->readers);
    if (!runs || !runs->readers) {
        if (arena) arena_free(arena);
        snprintf(error, error_size, "%s: out of memory for the trace", paths[0]);
        return NULL;
    }
    runs->arena = arena;
    runs->paths = paths;
    for (; runs->count < count; runs->count++) {
        runs->readers[runs->count] = open(paths[runs->count], error, error_size);
        if (runs->readers[runs->count]) continue;
        runs_close(runs);
        return NULL;
    }
    return runs;
}

void runs_close(struct runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) trace_reader_close(runs->readers[i]);
    arena_free(runs->arena);
}

uint32_t runs_count(const struct runs *runs)
{
    return runs->count;
}

const char *runs_error(const struct runs *runs)
{
    return runs->out_of_memory ? "out of memory for the trace" : runs->error;
}

uint64_t runs_damaged_bytes(const struct runs *runs, const char **path)
{
    uint64_t bytes = 0;
    *path = NULL;
    for (uint32_t i = 0; i < runs->count; i++) {
        uint64_t more = trace_damaged_bytes(runs->readers[i]);
        if (more && !bytes) *path = runs->paths[i];
        bytes += more;
    }
    return bytes;
}

/* One more of a list; NULL when memory is out. */
static void *append(struct runs *runs, void **list, uint32_t *count, uint32_t *capacity, size_t size)
{
    if (*count == *capacity) {
        uint32_t wanted = *capacity ? 2 * *capacity : 64;
        void *grown = arena_grow(runs->arena, *list, *count, wanted, size);
        runs->out_of_memory |= !grown;
        if (!grown) return NULL;
        *list = grown;
        *capacity = wanted;
    }
    return (char *)*list + (size_t)(*count)++ * size;
}

/* --- numbers of one trace and of all --- */

static uint32_t number_for(const struct numbers *numbers, uint32_t number)
{
    return number < numbers->count ? numbers->items[number] : 0;
}

static void set_number(struct runs *runs, struct numbers *numbers, uint32_t number, uint32_t for_all)
{
    if (number >= MOST_NUMBERS) return;
    if (number >= numbers->count) {
        uint32_t count = number < 64 ? 64 : 2 * number;
        uint32_t *grown = arena_grow(runs->arena, numbers->items, numbers->count, count, sizeof *grown);
        runs->out_of_memory |= !grown;
        if (!grown) return;
        numbers->items = grown;
        numbers->count = count;
    }
    numbers->items[number] = for_all;
}

static struct trace_module *find_module(const struct runs *runs, const struct trace_module *module)
{
    for (uint32_t i = 0; i < runs->module_count; i++)
        if (!memcmp(&runs->modules[i].hash, &module->hash, sizeof module->hash)) return &runs->modules[i];
    return NULL;
}

static void keep_module(struct runs *runs, const struct trace_module *module)
{
    struct trace_module *kept = append(runs, (void **)&runs->modules, &runs->module_count,
                                       &runs->module_capacity, sizeof *runs->modules);
    if (kept) *kept = *module;
    if (module->module > runs->last_module) runs->last_module = module->module;
}

static uint32_t find_kernel(const struct runs *runs, uint32_t module, const char *name)
{
    for (uint32_t i = 0; module && i < runs->kernel_count; i++)
        if (runs->kernels[i].record.module == module && !strcmp(runs->kernels[i].name, name))
            return runs->kernels[i].record.kernel;
    return 0;
}

static void keep_kernel(struct runs *runs, const struct trace_kernel *kernel, const char *name)
{
    struct known_kernel *kept = append(runs, (void **)&runs->kernels, &runs->kernel_count,
                                       &runs->kernel_capacity, sizeof *runs->kernels);
    if (kept) *kept = (struct known_kernel){*kernel, name};
    if (kernel->kernel > runs->last_kernel) runs->last_kernel = kernel->kernel;
}

static const char *name_of_kernel(const struct trace_view *view)
{
    const struct trace_kernel *kernel = view->fixed;
    return (const char *)view->payload + kernel->parameter_count * sizeof(struct trace_parameter);
}

/* --- records of later traces, which are copies: false where the record says nothing new --- */

static bool renumber_module(struct runs *runs, struct trace_module *module)
{
    struct trace_module *known = find_module(runs, module);
    uint32_t number = known ? known->module : runs->last_module + 1;
    bool has_more = known && !known->stored_size && module->stored_size; /* the image, this time */
    set_number(runs, &runs->module_numbers, module->module, number);
    module->module = number;
    if (has_more) *known = *module;
    if (known) return has_more;
    keep_module(runs, module);
    return true;
}

static bool renumber_kernel(struct runs *runs, struct trace_kernel *kernel, const char *name)
{
    uint32_t number = kernel->kernel;
    kernel->module = number_for(&runs->module_numbers, kernel->module);
    uint32_t known = find_kernel(runs, kernel->module, name);
    set_number(runs, &runs->kernel_numbers, number, known ? known : runs->last_kernel + 1);
    if (known) return false;
    kernel->kernel = runs->last_kernel + 1;
    keep_kernel(runs, kernel, name);
    return true;
}

static bool is_same_device(const struct trace_device *a, const struct trace_device *b)
{
    return !strcmp(a->name, b->name) && a->compute_major == b->compute_major &&
           a->compute_minor == b->compute_minor && a->multiprocessors == b->multiprocessors &&
           a->is_emulated == b->is_emulated && a->driver_version == b->driver_version;
}

static void check_device(struct runs *runs, const struct trace_device *device)
{
    if (is_same_device(device, &runs->device)) return;
    runs->error =
        arena_printf(runs->arena,
                     "%s: recorded on %s, driver %u, where an earlier trace was recorded on %s, driver "
                     "%u: record all runs on one device",
                     runs->paths[runs->at], device->name, device->driver_version, runs->device.name,
                     runs->device.driver_version);
    runs->out_of_memory |= !runs->error;
}

static bool renumber(struct runs *runs, enum trace_kind kind, void *fixed, const struct trace_view *view)
{
    struct trace_launch *launch = fixed;
    struct trace_variable *variable = fixed;
    switch (kind) {
    case TRACE_MODULE:
        return renumber_module(runs, fixed);
    case TRACE_KERNEL:
        return renumber_kernel(runs, fixed, name_of_kernel(view));
    case TRACE_VARIABLE:
        variable->module = number_for(&runs->module_numbers, variable->module);
        break;
    case TRACE_LAUNCH:
        launch->kernel = number_for(&runs->kernel_numbers, launch->kernel);
        break;
    default:
        break;
    }
    return true;
}

/* The sequence number of a record that has one, or NULL. */
static uint64_t *sequence_of(enum trace_kind kind, void *fixed)
{
#define AT_START(type) _Static_assert(offsetof(struct type, sequence) == 0, "sequence numbers stand first")
    AT_START(trace_contents);
    AT_START(trace_launch);
    AT_START(trace_allocate);
    AT_START(trace_free);
    AT_START(trace_copy);
    AT_START(trace_set);
    AT_START(trace_event);
    AT_START(trace_wall);
    AT_START(trace_activity);
    AT_START(trace_end);
#undef AT_START
    bool has_none =
        kind == TRACE_DEVICE || kind == TRACE_MODULE || kind == TRACE_KERNEL || kind == TRACE_VARIABLE;
    return has_none ? NULL : fixed;
}

static void note_first(struct runs *runs, const struct trace_view *view)
{
    if (view->kind == TRACE_MODULE) keep_module(runs, view->fixed);
    if (view->kind == TRACE_KERNEL) keep_kernel(runs, view->fixed, name_of_kernel(view));
    if (view->kind != TRACE_LAUNCH) return;
    const struct trace_launch *launch = view->fixed; /* of a kernel that no record explains, perhaps */
    if (launch->kernel > runs->last_kernel && launch->kernel < MOST_NUMBERS)
        runs->last_kernel = launch->kernel;
}

static void note_device(struct runs *runs, const struct trace_device *device)
{
    if (runs->has_device)
        check_device(runs, device);
    else
        runs->device = *device;
    runs->has_device = true;
}

static void begin_next(struct runs *runs)
{
    runs->at++;
    runs->before = runs->last;
    if (runs->module_numbers.count)
        memset(runs->module_numbers.items, 0, runs->module_numbers.count * sizeof(uint32_t));
    if (runs->kernel_numbers.count)
        memset(runs->kernel_numbers.items, 0, runs->kernel_numbers.count * sizeof(uint32_t));
}

/* The record as all runs number it. False: it says nothing new, or memory is out. */
static bool take(struct runs *runs, struct trace_view *view)
{
    if (view->kind == TRACE_DEVICE) note_device(runs, view->fixed);
    if (!runs->at) {
        note_first(runs, view);
    } else {
        void *fixed = arena_alloc(runs->arena, trace_fixed_size(view->kind));
        runs->out_of_memory |= !fixed;
        if (!fixed) return false;
        memcpy(fixed, view->fixed, trace_fixed_size(view->kind));
        view->fixed = fixed;
        uint64_t *sequence = sequence_of(view->kind, fixed);
        if (sequence) *sequence += runs->before;
        if (!renumber(runs, view->kind, fixed, view)) return false;
    }
    const uint64_t *sequence = sequence_of(view->kind, (void *)view->fixed);
    if (sequence && *sequence > runs->last) runs->last = *sequence;
    return true;
}

bool runs_next(struct runs *runs, struct trace_view *view, uint32_t *run)
{
    for (;;) {
        while (trace_next(runs->readers[runs->at], view)) {
            bool is_new = take(runs, view);
            if (runs_error(runs)) return false;
            *run = runs->at;
            if (is_new) return true;
        }
        if (runs->at + 1 == runs->count) return false;
        begin_next(runs);
    }
}
