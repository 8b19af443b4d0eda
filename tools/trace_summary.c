/* SPDX-License-Identifier: Apache-2.0
 * Counts a trace in one pass; then joins launches with their activity, both sorted by sequence number. */
#include "tools/trace_summary.h"
#include "tools/trace_text.h"

#include <stdlib.h>
#include <string.h>

struct launch {
    uint64_t sequence;
    uint32_t kernel; /* index in kernels, or UINT32_MAX */
};

struct pass {
    struct trace_summary *summary;
    struct launch *launches;
    uint64_t *windows; /* launches of each */
    struct trace_activity *activities;
    uint32_t launch_count, launch_capacity, window_count, window_capacity, activity_count, activity_capacity;
    uint32_t module_capacity, kernel_capacity, ender_capacity, copy_capacity;
    uint64_t open; /* launches since the last end of a window */
    uint64_t first_ns, last_ns;
    bool failed;
};

/* Room for one more element; the array, or NULL (and the pass failed). */
static void *room(struct pass *pass, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    *capacity = *capacity * 2 + 64;
    void *grown = arena_grow(pass->summary->arena, array, count, *capacity, size);
    if (!grown) pass->failed = true;
    return grown;
}

#define ADD(pass, array, count, capacity, element)                                                           \
    do {                                                                                                     \
        void *place = room(pass, array, count, &(capacity), sizeof *(array));                                \
        if (place) {                                                                                         \
            (array) = place;                                                                                 \
            (array)[(count)++] = (element);                                                                  \
        }                                                                                                    \
    } while (0)

static void count_name(struct pass *pass, struct summary_count **counts, uint32_t *count, uint32_t *capacity,
                       const char *name, uint64_t bytes)
{
    uint32_t at = 0;
    while (at < *count && strcmp((*counts)[at].name, name)) at++;
    if (at == *count) {
        struct summary_count new = {.name = arena_strdup(pass->summary->arena, name)};
        if (new.name) ADD(pass, *counts, *count, *capacity, new);
        if (at == *count) return; /* out of memory */
    }
    (*counts)[at].count++;
    (*counts)[at].bytes += bytes;
}

static void end_window(struct pass *pass, const char *name)
{
    struct trace_summary *summary = pass->summary;
    if (!pass->open) return;
    ADD(pass, pass->windows, pass->window_count, pass->window_capacity, pass->open);
    if (name) count_name(pass, &summary->enders, &summary->ender_count, &pass->ender_capacity, name, 0);
    pass->open = 0;
}

static void add_kernel(struct pass *pass, const struct trace_view *view)
{
    struct trace_summary *summary = pass->summary;
    const struct trace_kernel *record = view->fixed;
    const char *name = (const char *)view->payload + record->parameter_count * sizeof(struct trace_parameter);
    struct summary_kernel kernel = {.record = *record, .name = arena_strdup(summary->arena, name)};
    ADD(pass, summary->kernels, summary->kernel_count, pass->kernel_capacity, kernel);
}

/* Kernels are numbered from 1 in order of first appearance, so the guess is nearly always right. */
static uint32_t find_kernel(const struct trace_summary *summary, uint32_t kernel)
{
    if (kernel && kernel <= summary->kernel_count && summary->kernels[kernel - 1].record.kernel == kernel)
        return kernel - 1;
    for (uint32_t i = 0; i < summary->kernel_count; i++)
        if (summary->kernels[i].record.kernel == kernel) return i;
    return UINT32_MAX;
}

static void add_launch(struct pass *pass, const struct trace_launch *record)
{
    struct trace_summary *summary = pass->summary;
    struct launch launch = {.sequence = record->sequence, .kernel = find_kernel(summary, record->kernel)};
    ADD(pass, pass->launches, pass->launch_count, pass->launch_capacity, launch);
    summary->launches++;
    summary->failed += record->result != 0;
    summary->captured += (record->flags & TRACE_LAUNCH_CAPTURED) != 0;
    summary->host_ns += record->host_ns;
    if (!pass->first_ns || record->arrival_ns < pass->first_ns) pass->first_ns = record->arrival_ns;
    if (record->arrival_ns > pass->last_ns) pass->last_ns = record->arrival_ns;
    pass->open++;
    if (launch.kernel == UINT32_MAX) return;
    struct summary_kernel *kernel = &summary->kernels[launch.kernel];
    kernel->launches++;
    if (record->dynamic_shared > kernel->max_dynamic_shared)
        kernel->max_dynamic_shared = record->dynamic_shared;
}

static bool is_host(uint32_t kind)
{
    return kind == TRACE_MEMORY_HOST || kind == TRACE_MEMORY_PAGEABLE;
}

static void add_copy(struct pass *pass, const struct trace_copy *copy)
{
    struct trace_summary *summary = pass->summary;
    char direction[64];
    snprintf(direction, sizeof direction, "%s to %s", trace_text_memory(copy->source_kind),
             trace_text_memory(copy->destination_kind));
    count_name(pass, &summary->copies, &summary->copy_count, &pass->copy_capacity, direction, copy->size);
    if (is_host(copy->destination_kind) && !copy->is_async) end_window(pass, "a copy to the host");
}

static void add_record(struct pass *pass, const struct trace_view *view)
{
    struct trace_summary *summary = pass->summary;
    switch (view->kind) {
    case TRACE_DEVICE:
        summary->device = *(const struct trace_device *)view->fixed;
        summary->has_device = true;
        break;
    case TRACE_MODULE:
        ADD(pass, summary->modules, summary->module_count, pass->module_capacity,
            *(const struct trace_module *)view->fixed);
        break;
    case TRACE_KERNEL:
        add_kernel(pass, view);
        break;
    case TRACE_LAUNCH:
        add_launch(pass, view->fixed);
        break;
    case TRACE_ALLOCATE:
        summary->allocations++;
        summary->allocated_bytes += ((const struct trace_allocate *)view->fixed)->size;
        break;
    case TRACE_COPY:
        add_copy(pass, view->fixed);
        break;
    case TRACE_WALL:
        end_window(pass, view->payload);
        break;
    case TRACE_ACTIVITY:
        ADD(pass, pass->activities, pass->activity_count, pass->activity_capacity,
            *(const struct trace_activity *)view->fixed);
        break;
    case TRACE_END:
        summary->end = *(const struct trace_end *)view->fixed;
        summary->has_end = true;
        break;
    case TRACE_VARIABLE:
    case TRACE_CONTENTS:
    case TRACE_FREE:
    case TRACE_SET:
    case TRACE_EVENT:
    case TRACE_NONE:
    case TRACE_KINDS:
        break;
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_launches(const void *a, const void *b)
{
    return compare(((const struct launch *)a)->sequence, ((const struct launch *)b)->sequence);
}

static int compare_activities(const void *a, const void *b)
{
    return compare(((const struct trace_activity *)a)->sequence,
                   ((const struct trace_activity *)b)->sequence);
}

static int compare_windows(const void *a, const void *b)
{
    return compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_kernels(const void *a, const void *b)
{
    const struct summary_kernel *first = a, *second = b;
    int by_time = compare(second->time_ns, first->time_ns),
        by_count = compare(second->launches, first->launches);
    return by_time ? by_time : by_count ? by_count : compare(first->record.kernel, second->record.kernel);
}

static int compare_counts(const void *a, const void *b)
{
    const struct summary_count *first = a, *second = b;
    int by_bytes = compare(second->bytes, first->bytes), by_count = compare(second->count, first->count);
    return by_bytes ? by_bytes : by_count ? by_count : strcmp(first->name, second->name);
}

static void sort(void *array, uint32_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count) qsort(array, count, size, order);
}

static void join_times(struct pass *pass)
{
    struct trace_summary *summary = pass->summary;
    sort(pass->launches, pass->launch_count, sizeof *pass->launches, compare_launches);
    sort(pass->activities, pass->activity_count, sizeof *pass->activities, compare_activities);
    for (uint32_t l = 0, a = 0; l < pass->launch_count; l++) {
        while (a < pass->activity_count && pass->activities[a].sequence < pass->launches[l].sequence) a++;
        if (a == pass->activity_count || pass->activities[a].sequence != pass->launches[l].sequence) continue;
        const struct trace_activity *activity = &pass->activities[a++];
        uint64_t time = activity->end_ns > activity->start_ns ? activity->end_ns - activity->start_ns : 0;
        summary->timed++;
        summary->time_ns += time;
        if (pass->launches[l].kernel == UINT32_MAX) continue;
        summary->kernels[pass->launches[l].kernel].timed++;
        summary->kernels[pass->launches[l].kernel].time_ns += time;
    }
}

bool trace_summarise(struct arena *arena, struct trace_reader *reader, struct trace_summary *summary)
{
    *summary = (struct trace_summary){.arena = arena};
    struct pass pass = {.summary = summary};
    struct trace_view view;
    while (trace_next(reader, &view)) add_record(&pass, &view);
    summary->damaged_bytes = trace_damaged_bytes(reader);
    end_window(&pass, NULL);
    if (pass.failed) return false;
    join_times(&pass);
    sort(summary->kernels, summary->kernel_count, sizeof *summary->kernels, compare_kernels);
    sort(summary->enders, summary->ender_count, sizeof *summary->enders, compare_counts);
    sort(summary->copies, summary->copy_count, sizeof *summary->copies, compare_counts);
    sort(pass.windows, pass.window_count, sizeof *pass.windows, compare_windows);
    summary->windows = pass.window_count;
    if (pass.window_count) {
        summary->window_median = pass.windows[pass.window_count / 2];
        summary->window_max = pass.windows[pass.window_count - 1];
    }
    summary->span_ns = pass.last_ns - pass.first_ns;
    return true;
}
