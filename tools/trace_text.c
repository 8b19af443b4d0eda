/* SPDX-License-Identifier: Apache-2.0
 * Prints trace records, one function a kind. The reader has checked every size and enumeration. */
#include "tools/trace_text.h"
#include "common/image.h"

#include <inttypes.h>

const char *trace_text_memory(uint32_t kind)
{
    static const char *const names[] = {
        [TRACE_MEMORY_UNKNOWN] = "unknown memory", [TRACE_MEMORY_DEVICE] = "device",
        [TRACE_MEMORY_ASYNC] = "device pool",      [TRACE_MEMORY_MANAGED] = "managed",
        [TRACE_MEMORY_HOST] = "pinned host",       [TRACE_MEMORY_PAGEABLE] = "pageable host",
        [TRACE_MEMORY_MAPPED] = "mapped",          [TRACE_MEMORY_VARIABLE] = "module variable",
    };
    return kind < sizeof names / sizeof *names ? names[kind] : "?";
}

const char *trace_text_reason(uint32_t reason)
{
    static const char *const texts[] = {
        [TRACE_END_EXIT] = "the program ended",
        [TRACE_END_PERIODIC] = "the launches had become periodic",
        [TRACE_END_LIMIT] = "the set number of launches was reached (KFUSE_RECORD_LAUNCHES)",
        [TRACE_END_ERROR] = "of an error, which the log names (KFUSE_LOG)",
    };
    return reason < sizeof texts / sizeof *texts ? texts[reason] : "?";
}

static void print_flags(FILE *out, uint32_t flags, const char *const names[], int count)
{
    for (int i = 0; i < count; i++)
        if (flags >> i & 1) fprintf(out, " %s", names[i]);
}

static void print_bytes(FILE *out, const unsigned char *bytes, size_t size)
{
    enum { SHOWN = 256 };
    for (size_t i = 0; i < size && i < SHOWN; i++) fprintf(out, "%s%02x", i % 8 ? "" : " ", bytes[i]);
    if (size > SHOWN) fprintf(out, " ... %zu bytes", size);
}

static void print_device(FILE *out, const struct trace_view *view)
{
    const struct trace_device *device = view->fixed;
    fprintf(out, "%s%s, compute %u.%u, driver %u.%u", device->name, device->is_emulated ? " (emulated)" : "",
            device->compute_major, device->compute_minor, device->driver_version / 1000,
            device->driver_version % 1000 / 10);
    fprintf(out, ", %u multiprocessors with %u threads, %u registers, %u bytes of shared memory each",
            device->multiprocessors, device->threads_per_multiprocessor, device->registers_per_multiprocessor,
            device->shared_per_multiprocessor);
    fprintf(out, ", L2 %u bytes, memory %" PRIu64 " bytes at %u kHz x %u bits", device->l2_bytes,
            device->memory_bytes, device->memory_clock_khz, device->bus_width_bits);
}

static void print_module(FILE *out, const struct trace_view *view)
{
    static const char *const kinds[] = {
        [IMAGE_UNKNOWN] = "unknown", [IMAGE_PTX] = "PTX", [IMAGE_ELF] = "cubin", [IMAGE_FATBIN] = "fatbin"};
    static const char *const flags[] = {"has-ptx", "relocatable", "from-nvrtc", "linked"};
    const struct trace_module *module = view->fixed;
    char hash[33];
    hash_text(module->hash, hash);
    fprintf(out, "%u %s %s %" PRIu64 " bytes, %" PRIu64 " stored, options %u", module->module, hash,
            module->image_kind <= IMAGE_FATBIN ? kinds[module->image_kind] : "?", module->image_size,
            module->stored_size, module->options_size);
    print_flags(out, module->flags, flags, 4);
}

static void print_kernel(FILE *out, const struct trace_view *view)
{
    const struct trace_kernel *kernel = view->fixed;
    const struct trace_parameter *parameters = view->payload;
    fprintf(out, "%u module %u %s registers %u shared %u local %u constant %u max-threads %u parameters",
            kernel->kernel, kernel->module, (const char *)(parameters + kernel->parameter_count),
            kernel->registers, kernel->static_shared, kernel->local_bytes, kernel->constant_bytes,
            kernel->max_threads);
    for (uint32_t i = 0; i < kernel->parameter_count; i++)
        fprintf(out, " %u:%u", parameters[i].offset, parameters[i].size);
    fprintf(out, " (%u bytes)", kernel->parameter_bytes);
}

static void print_variable(FILE *out, const struct trace_view *view)
{
    const struct trace_variable *variable = view->fixed;
    fprintf(out, "module %u %s at %#" PRIx64 " size %" PRIu64 "%s", variable->module,
            (const char *)view->payload, variable->address, variable->size,
            variable->is_managed ? " managed" : "");
}

static void print_contents(FILE *out, const struct trace_view *view)
{
    const struct trace_contents *contents = view->fixed;
    fprintf(out, "#%" PRIu64 " at %#" PRIx64 " size %" PRIu64, contents->sequence, contents->address,
            contents->size);
    print_bytes(out, view->payload, contents->size);
}

static void print_launch(FILE *out, const struct trace_view *view)
{
    static const char *const flags[] = {"attributes", "cooperative", "captured",  "per-thread",
                                        "packed",     "unreadable",  "own-stream"};
    const struct trace_launch *launch = view->fixed;
    fprintf(out,
            "#%" PRIu64 " at %" PRIu64
            " ns, %u ns in the driver, kernel %u grid %ux%ux%u block %ux%ux%u shared %u",
            launch->sequence, launch->arrival_ns, launch->host_ns, launch->kernel, launch->grid[0],
            launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
            launch->dynamic_shared);
    fprintf(out, " context %u stream %u thread %u", launch->context, launch->stream, launch->thread);
    if (launch->capture_id) fprintf(out, " capture %" PRIu64, launch->capture_id);
    if (launch->result) fprintf(out, " failed with %d", launch->result);
    print_flags(out, launch->flags, flags, 7);
    fprintf(out, " arguments");
    print_bytes(out, view->payload, launch->arguments_size);
}

static void print_allocate(FILE *out, const struct trace_view *view)
{
    const struct trace_allocate *allocate = view->fixed;
    fprintf(out, "#%" PRIu64 " %#" PRIx64 " size %" PRIu64 " %s stream %u", allocate->sequence,
            allocate->address, allocate->size, trace_text_memory(allocate->kind), allocate->stream);
}

static void print_free(FILE *out, const struct trace_view *view)
{
    const struct trace_free *release = view->fixed;
    fprintf(out, "#%" PRIu64 " %#" PRIx64 " stream %u", release->sequence, release->address, release->stream);
}

static void print_copy(FILE *out, const struct trace_view *view)
{
    const struct trace_copy *copy = view->fixed;
    fprintf(out,
            "#%" PRIu64 " at %" PRIu64 " ns, %" PRIu64 " bytes from %#" PRIx64 " (%s) to %#" PRIx64 " (%s)",
            copy->sequence, copy->arrival_ns, copy->size, copy->source, trace_text_memory(copy->source_kind),
            copy->destination, trace_text_memory(copy->destination_kind));
    fprintf(out, " stream %u thread %u%s%s", copy->stream, copy->thread, copy->is_async ? " async" : "",
            copy->is_hull ? " hull" : "");
}

static void print_set(FILE *out, const struct trace_view *view)
{
    const struct trace_set *set = view->fixed;
    fprintf(out, "#%" PRIu64 " at %" PRIu64 " ns, %#" PRIx64 " size %" PRIu64 " to %#x width %u stream %u%s",
            set->sequence, set->arrival_ns, set->address, set->size, set->value, set->width, set->stream,
            set->is_hull ? " hull" : "");
}

static void print_event(FILE *out, const struct trace_view *view)
{
    const struct trace_event *event = view->fixed;
    fprintf(out, "#%" PRIu64 " at %" PRIu64 " ns, %s event %u stream %u", event->sequence, event->arrival_ns,
            event->kind == TRACE_EVENT_WAIT ? "wait for" : "record", event->event, event->stream);
}

static void print_wall(FILE *out, const struct trace_view *view)
{
    const struct trace_wall *wall = view->fixed;
    fprintf(out, "#%" PRIu64 " at %" PRIu64 " ns, %s stream %u thread %u%s", wall->sequence, wall->arrival_ns,
            (const char *)view->payload, wall->stream, wall->thread,
            wall->is_whole_context ? " whole context" : "");
}

static void print_activity(FILE *out, const struct trace_view *view)
{
    const struct trace_activity *activity = view->fixed;
    fprintf(out,
            "of #%" PRIu64 ": %" PRIu64 " ns from %" PRIu64 ", registers %u shared %u+%u local %u (%u KiB)",
            activity->sequence, activity->end_ns - activity->start_ns, activity->start_ns,
            activity->registers, activity->static_shared, activity->dynamic_shared,
            activity->local_per_thread, activity->local_total_kib);
}

static void print_end(FILE *out, const struct trace_view *view)
{
    const struct trace_end *end = view->fixed;
    fprintf(out, "#%" PRIu64 " %" PRIu64 " launches, %" PRIu64 " with times, because %s", end->sequence,
            end->launches, end->activities, trace_text_reason(end->reason));
}

void trace_text_print(FILE *out, const struct trace_view *view)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const struct trace_view *view);
    } kinds[TRACE_KINDS] = {
        [TRACE_DEVICE] = {"device", print_device},
        [TRACE_MODULE] = {"module", print_module},
        [TRACE_KERNEL] = {"kernel", print_kernel},
        [TRACE_VARIABLE] = {"variable", print_variable},
        [TRACE_CONTENTS] = {"contents", print_contents},
        [TRACE_LAUNCH] = {"launch", print_launch},
        [TRACE_ALLOCATE] = {"allocate", print_allocate},
        [TRACE_FREE] = {"free", print_free},
        [TRACE_COPY] = {"copy", print_copy},
        [TRACE_SET] = {"set", print_set},
        [TRACE_EVENT] = {"event", print_event},
        [TRACE_WALL] = {"wall", print_wall},
        [TRACE_ACTIVITY] = {"activity", print_activity},
        [TRACE_END] = {"end", print_end},
    };
    fprintf(out, "%-8s ", kinds[view->kind].name);
    kinds[view->kind].print(out, view);
    fputc('\n', out);
}
