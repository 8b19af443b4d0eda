/* SPDX-License-Identifier: Apache-2.0
 * Reads its traces once, in order, keeping the live allocations, so that every pointer of every launch is
 * resolved at the moment of the launch. Windows end wherever replay would have to flush: see end_window. */
#include "fuser/codegen/cubin.h"
#include "fuser/kernel/plain.h"
#include "common/driver_call.h"
#include "fuser/planner/contents.h"
#include "fuser/planner/exactness.h"
#include "fuser/planner/memop.h"
#include "common/image.h"
#include "common/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_range {
    uint64_t start, size;
    uint32_t array;
    bool is_plain, is_private;
};

struct reading { /* what the pass over the trace carries along */
    struct program *program;
    struct live_range *live; /* sorted by start */
    uint32_t live_count, live_capacity;
    uint32_t next_array;
    uint32_t launch_capacity, event_capacity;
    const struct trace_activity **activities; /* joined last: they arrive late */
    uint32_t activity_count, activity_capacity;
    const struct trace_launch *previous; /* launch of the open window, or NULL */
    const struct trace_copy *copy;       /* the record before, or NULL */
    const char *boundary;                /* NULL: what has ended it */
    uint32_t context, thread, stream;    /* of the last launch */
    uint32_t first_thread;               /* that launched or copied; 0: none yet */
    uint64_t passed_ns;                  /* of waits since, which runs pass through */
    uint64_t first_arrival, last_arrival;
    bool has_kernels;            /* launches of some were read, the last one in this stream */
    bool has_launched, is_whole; /* the run; it is, since its recording has ended with the program */
    bool out_of_memory;
};

static uint32_t live_position(const struct reading *reading, uint64_t address)
{
    uint32_t low = 0, high = reading->live_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (reading->live[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* of the first range that starts after address */
}

static const struct live_range *live_find(const struct reading *reading, uint64_t address)
{
    uint32_t position = live_position(reading, address);
    if (position == 0) return NULL;
    const struct live_range *range = &reading->live[position - 1];
    return address - range->start < range->size ? range : NULL;
}

/* items: a pointer to the list's pointer. For one more; false, and noted, when memory is out. */
static bool make_room(struct reading *reading, void *items, uint32_t count, uint32_t *capacity,
                      uint32_t first, size_t size)
{
    void *list;
    if (count < *capacity) return true;
    memcpy(&list, items, sizeof list); /* whatever it points to */
    uint32_t wanted = *capacity ? 2 * *capacity : first;
    void *grown = realloc(list, wanted * size);
    reading->out_of_memory |= !grown;
    if (!grown) return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

static void live_add(struct reading *reading, uint64_t start, uint64_t size, enum trace_memory_kind kind)
{
    if (!make_room(reading, &reading->live, reading->live_count, &reading->live_capacity, 64,
                   sizeof *reading->live))
        return;
    /* Ranges that it overlaps are gone, though their free was not seen. */
    uint32_t position = live_position(reading, start), end = position;
    while (position > 0 && start - reading->live[position - 1].start < reading->live[position - 1].size)
        position--;
    while (end < reading->live_count && reading->live[end].start - start < size) end++;
    memmove(reading->live + position + 1, reading->live + end,
            (reading->live_count - end) * sizeof *reading->live);
    reading->live_count -= end - position;
    reading->live_count++;
    bool is_private = kind == TRACE_MEMORY_DEVICE;
    bool is_plain = is_private || kind == TRACE_MEMORY_MANAGED || kind == TRACE_MEMORY_ASYNC;
    reading->live[position] = (struct live_range){start, size, reading->next_array++, is_plain, is_private};
}

static void live_remove(struct reading *reading, uint64_t start)
{
    uint32_t position = live_position(reading, start);
    if (position == 0 || reading->live[position - 1].start != start) return;
    memmove(reading->live + position - 1, reading->live + position,
            (reading->live_count - position) * sizeof *reading->live);
    reading->live_count--;
}

static void add_event(struct reading *reading, struct program_event event)
{
    struct program *program = reading->program;
    if (!make_room(reading, &program->events, program->event_count, &reading->event_capacity, 1024,
                   sizeof *program->events))
        return;
    event.before = program->launch_count;
    program->events[program->event_count++] = event;
}

/* Memory that is in no allocation is the host's, or not known. */
static void add_touch(struct reading *reading, enum program_event_kind kind, uint64_t address, uint64_t size)
{
    const struct live_range *range = live_find(reading, address);
    if (!range || !size) return;
    int64_t from = (int64_t)(address - range->start);
    bool is_inside = size <= range->size - (uint64_t)from;
    add_event(reading, (struct program_event){.kind = is_inside ? kind : PROGRAM_UNKNOWN,
                                              .array = range->array,
                                              .from = from,
                                              .to = from + (int64_t)size});
}

static void read_free(struct reading *reading, const struct trace_free *free)
{
    const struct live_range *range = live_find(reading, free->address);
    bool is_private = range && range->is_private;
    add_event(reading, (struct program_event){.kind = is_private ? PROGRAM_FREES : PROGRAM_UNKNOWN,
                                              .array = range ? range->array : 0});
    live_remove(reading, free->address);
}

/* Numbers are given in order of first appearance, so a trace of few records holds no large ones. */
static void *table_entry(struct program *program, void **table, uint32_t *count, uint32_t index, size_t size)
{
    enum { MOST = 1 << 24, UNRECORDED = 4096 };
    if (index >= MOST || index > program->record_count + UNRECORDED) return NULL;
    if (index >= *count) {
        uint32_t capacity = *count ? *count : 16;
        while (capacity <= index) capacity *= 2;
        void *grown = arena_grow(program->arena, *table, *count, capacity, size);
        if (!grown) return NULL;
        *table = grown;
        *count = capacity;
    }
    return (char *)*table + (size_t)index * size;
}

static void read_module(struct program *program, const struct trace_view *view)
{
    const struct trace_module *record = view->fixed;
    struct program_module *module = table_entry(program, (void **)&program->modules, &program->module_count,
                                                record->module, sizeof *module);
    if (!module) return;
    module->record = record;
    module->options = view->payload;
    if (record->stored_size) module->image = (const char *)view->payload + record->options_size;
}

static void read_kernel(struct program *program, const struct trace_view *view)
{
    const struct trace_kernel *record = view->fixed;
    struct program_kernel *kernel = table_entry(program, (void **)&program->kernels, &program->kernel_count,
                                                record->kernel, sizeof *kernel);
    if (!kernel) return;
    kernel->record = record;
    kernel->parameters = view->payload;
    kernel->name = (const char *)view->payload + record->parameter_count * sizeof(struct trace_parameter);
}

/* Pointer words stand at multiples of 8 inside parameters of at least 8 bytes. */
static void resolve_pointers(struct reading *reading, struct program_launch *launch)
{
    struct program *program = reading->program;
    const struct trace_launch *record = launch->record;
    if (record->kernel >= program->kernel_count || !program->kernels[record->kernel].record) return;
    const struct program_kernel *kernel = &program->kernels[record->kernel];
    uint32_t capacity = record->arguments_size / 8;
    struct program_pointer *pointers = arena_calloc(program->arena, capacity + 1, sizeof *pointers);
    if (!pointers) {
        reading->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < kernel->record->parameter_count; i++) {
        uint64_t from = kernel->parameters[i].offset, end = from + kernel->parameters[i].size;
        for (uint64_t at = (from + 7) & ~7ull; at + 8 <= end && at + 8 <= record->arguments_size; at += 8) {
            uint64_t value;
            memcpy(&value, launch->arguments + at, sizeof value);
            const struct live_range *range = live_find(reading, value);
            if (!range || launch->pointer_count == capacity) continue;
            pointers[launch->pointer_count++] = (struct program_pointer){
                .offset = (uint32_t)at,
                .array = range->array,
                .array_offset = (int64_t)(value - range->start),
                .array_size = (int64_t)range->size,
                .is_plain = range->is_plain,
                .is_private = range->is_private,
            };
        }
    }
    launch->pointers = pointers;
}

/* Which launches of a thread's own default stream are held (interpose/own_stream.h). */
static const char *own_stream_obstacle(const struct program *program, const struct trace_launch *record)
{
    if (!(record->flags & TRACE_LAUNCH_PER_THREAD)) return NULL;
    if (!(record->flags & TRACE_LAUNCH_OWN_STREAM))
        return "it was launched on a per-thread default stream: record and run with --own-stream";
    return program->has_others
               ? "it was launched on a per-thread default stream, and there are other threads or streams"
               : NULL;
}

const char *program_special_launch(const struct program *program, const struct trace_launch *record)
{
    static const struct {
        uint32_t flag;
        const char *reason;
    } reasons[] = {
        {TRACE_LAUNCH_ATTRIBUTES, "it was launched with attributes (cuLaunchKernelEx)"},
        {TRACE_LAUNCH_COOPERATIVE, "it was launched cooperatively"},
        {TRACE_LAUNCH_CAPTURED, "it was launched into a stream capture"},
        {TRACE_LAUNCH_UNREADABLE, "its arguments could not be read"},
    };
    if (record->result) return "the launch failed";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (record->flags & reasons[i].flag) return reasons[i].reason;
    return own_stream_obstacle(program, record);
}

static void end_window(struct reading *reading, const char *boundary)
{
    reading->previous = NULL;
    if (!reading->boundary) reading->boundary = boundary;
}

/* Why the launch does not continue the window; NULL: it does. */
static const char *why_window_ends(const struct reading *reading, const struct trace_launch *record)
{
    const struct trace_launch *previous = reading->previous;
    if (!previous) return reading->boundary ? reading->boundary : "the program begins";
    if (previous->stream != record->stream) return "they are on two streams";
    bool is_known = previous->context; /* not of what comes before the first launch */
    if (previous->context != record->context)
        return is_known ? "they are in two contexts"
                        : "replay holds no set or copy before the first launch of the program";
    return previous->thread != record->thread ? "two threads make them"
                                              : program_special_launch(reading->program, record);
}

/* Another thread than the first. */
static void note_thread(struct reading *reading, uint32_t thread)
{
    if (!reading->first_thread) reading->first_thread = thread;
    if (thread != reading->first_thread) reading->program->has_others = true;
}

/* Of kernels. Sets and copies of a program that works in a stream of its own are often in the default one. */
static void note_stream(struct reading *reading, const struct trace_launch *record)
{
    reading->program->has_streams |= record->flags & TRACE_LAUNCH_PER_THREAD ||
                                     (reading->has_kernels && record->stream != reading->stream);
    reading->stream = record->stream;
    reading->has_kernels = true;
}

/* The launch's record and arguments are there. */
static void add_launch(struct reading *reading, struct program_launch *launch)
{
    struct program *program = reading->program;
    const struct trace_launch *record = launch->record, *previous = reading->previous;
    const char *special = program_special_launch(program, record);
    if (!make_room(reading, &program->launches, program->launch_count, &reading->launch_capacity, 1024,
                   sizeof *program->launches))
        return;
    launch->boundary = why_window_ends(reading, record);
    launch->is_first = !reading->has_launched;
    reading->has_launched = true;
    if (launch->boundary) program->window_count++;
    launch->window = program->window_count;
    uint64_t before = launch->boundary ? 0 : previous->arrival_ns + previous->host_ns + reading->passed_ns;
    if (!launch->boundary && record->arrival_ns > before)
        launch->gap_ns = (uint32_t)(record->arrival_ns - before);
    launch->is_behind_wait = reading->passed_ns > 0;
    reading->passed_ns = 0;
    reading->boundary = NULL;
    reading->previous = record;
    if (special) end_window(reading, special);
    if (!reading->first_arrival) reading->first_arrival = record->arrival_ns;
    reading->last_arrival = record->arrival_ns;
    program->launches[program->launch_count++] = *launch;
}

static void read_launch(struct reading *reading, const struct trace_view *view)
{
    struct program *program = reading->program;
    const struct trace_launch *record = view->fixed;
    struct program_launch launch = {.record = record, .arguments = view->payload};
    resolve_pointers(reading, &launch);
    contents_expose(program, &launch);
    if (record->kernel < program->kernel_count) program->kernels[record->kernel].launches++;
    reading->context = record->context;
    reading->thread = record->thread;
    note_thread(reading, record->thread);
    note_stream(reading, record);
    if (record->stream && !(record->flags & TRACE_LAUNCH_PER_THREAD)) program->has_others = true;
    add_launch(reading, &launch);
}

/* The bytes lie in a plain allocation. */
static bool find_end(const struct reading *reading, uint64_t address, uint64_t bytes,
                     struct program_pointer *end)
{
    const struct live_range *range = live_find(reading, address);
    if (!range || !range->is_private || bytes > range->start + range->size - address) return false;
    *end = (struct program_pointer){.array = range->array,
                                    .array_offset = (int64_t)(address - range->start),
                                    .array_size = (int64_t)range->size,
                                    .is_plain = true,
                                    .is_private = true};
    return true;
}

/* As a launch; false where it is none, and ends the window. */
static bool read_memop(struct reading *reading, struct memop *memop)
{
    struct program_launch launch;
    if (!memop->bytes || !find_end(reading, memop->to, memop->bytes, &memop->ends[0])) return false;
    if (memop->kind == MEMOP_COPY && (!find_end(reading, memop->from, memop->bytes, &memop->ends[1]) ||
                                      memop_overlaps(memop->to, memop->from, memop->bytes)))
        return false;
    memop->context = reading->context;
    if (memop->kind == MEMOP_SET) memop->thread = reading->thread;
    if (!memop_launch(reading->program, memop, &launch)) return false;
    add_launch(reading, &launch);
    return true;
}

static void read_copy(struct reading *reading, const struct trace_copy *copy)
{
    struct memop memop = {.kind = MEMOP_COPY,
                          .sequence = copy->sequence,
                          .arrival_ns = copy->arrival_ns,
                          .bytes = copy->size,
                          .to = copy->destination,
                          .from = copy->source,
                          .stream = copy->stream,
                          .thread = copy->thread};
    note_thread(reading, copy->thread);
    if (!copy->is_hull && read_memop(reading, &memop)) return;
    reading->copy = copy;
    add_touch(reading, PROGRAM_READS, copy->source, copy->size);
    add_touch(reading, PROGRAM_WRITES, copy->destination, copy->size);
    end_window(reading, "the program copies memory");
}

static void read_set(struct reading *reading, const struct trace_set *set)
{
    struct memop memop = {.kind = MEMOP_SET,
                          .sequence = set->sequence,
                          .arrival_ns = set->arrival_ns,
                          .bytes = set->size,
                          .to = set->address,
                          .from = memop_pattern(set->value, set->width),
                          .stream = set->stream};
    if (!set->is_hull && read_memop(reading, &memop)) return;
    if (!contents_write(reading->program, set->address, set->size, NULL)) reading->out_of_memory = true;
    add_touch(reading, PROGRAM_WRITES, set->address, set->size);
    end_window(reading, "the program sets memory");
}

static int compare_launch_sequence(const void *key, const void *element)
{
    uint64_t sequence = *(const uint64_t *)key;
    uint64_t other = ((const struct program_launch *)element)->record->sequence;
    return sequence < other ? -1 : sequence > other;
}

static void join_activity(struct program *program, const struct trace_activity *activity)
{
    struct program_launch *launch = NULL;
    if (program->launch_count)
        launch = bsearch(&activity->sequence, program->launches, program->launch_count,
                         sizeof *program->launches, compare_launch_sequence);
    if (!launch || activity->end_ns < activity->start_ns) return;
    launch->start_ns = activity->start_ns;
    launch->end_ns = activity->end_ns;
    launch->time_ns = activity->end_ns - activity->start_ns;
    if (launch->record->kernel >= program->kernel_count) return;
    struct program_kernel *kernel = &program->kernels[launch->record->kernel];
    kernel->time_ns += launch->time_ns;
    kernel->timed_launches++;
}

static void keep_activity(struct reading *reading, const struct trace_activity *activity)
{
    if (!make_room(reading, &reading->activities, reading->activity_count, &reading->activity_capacity, 1024,
                   sizeof *reading->activities))
        return;
    reading->activities[reading->activity_count++] = activity;
}

static void read_allocate(struct reading *reading, const struct trace_allocate *allocate)
{
    if (allocate->kind == TRACE_MEMORY_ASYNC)
        add_event(reading, (struct program_event){.kind = PROGRAM_UNKNOWN});
    live_add(reading, allocate->address, allocate->size, allocate->kind);
}

/* A copy from the host that the call waits for: TRACE_CONTENTS follows it. */
static bool is_known_copy(const struct reading *reading, const struct trace_contents *contents)
{
    const struct trace_copy *copy = reading->copy;
    return copy && !copy->is_async && !copy->is_hull && copy->destination == contents->address &&
           copy->size == contents->size;
}

static void read_contents(struct reading *reading, const struct trace_view *view)
{
    const struct trace_contents *contents = view->fixed;
    bool is_known = is_known_copy(reading, contents);
    reading->copy = NULL;
    if (!contents_write(reading->program, contents->address, contents->size, is_known ? view->payload : NULL))
        reading->out_of_memory = true;
    add_touch(reading, PROGRAM_WRITES, contents->address, contents->size);
}

static void read_wall(struct reading *reading, const struct trace_view *view)
{
    const struct trace_wall *wall = view->fixed;
    reading->passed_ns += wall->passable_ns;
    if (wall->passable_ns) return;
    if (!waits_only(view->payload)) add_event(reading, (struct program_event){.kind = PROGRAM_UNKNOWN});
    if (!driver_call_writes_nothing(view->payload) && !contents_forget(reading->program))
        reading->out_of_memory = true;
    end_window(reading, view->payload); /* the entry point's name */
}

/* What it has written is not in the trace. */
static void end_copy(struct reading *reading)
{
    const struct trace_copy *copy = reading->copy;
    reading->copy = NULL;
    if (copy && !contents_write(reading->program, copy->destination, copy->size, NULL))
        reading->out_of_memory = true;
}

static void read_record(struct reading *reading, const struct trace_view *view)
{
    struct program *program = reading->program;
    if (view->kind != TRACE_CONTENTS) end_copy(reading);
    switch (view->kind) {
    case TRACE_DEVICE:
        if (!program->has_device) program->device = *(const struct trace_device *)view->fixed;
        program->has_device = true;
        break;
    case TRACE_MODULE:
        read_module(program, view);
        break;
    case TRACE_KERNEL:
        read_kernel(program, view);
        break;
    case TRACE_VARIABLE: {
        const struct trace_variable *variable = view->fixed;
        live_add(reading, variable->address, variable->size, TRACE_MEMORY_VARIABLE);
        if (!contents_add(program, variable, view->payload)) reading->out_of_memory = true;
        break;
    }
    case TRACE_LAUNCH:
        read_launch(reading, view);
        break;
    case TRACE_ALLOCATE:
        read_allocate(reading, view->fixed);
        break;
    case TRACE_FREE:
        read_free(reading, view->fixed);
        end_window(reading, "the program frees memory");
        break;
    case TRACE_CONTENTS:
        read_contents(reading, view);
        end_window(reading, "the program writes a module variable");
        break;
    case TRACE_COPY:
        read_copy(reading, view->fixed);
        break;
    case TRACE_SET:
        read_set(reading, view->fixed);
        break;
    case TRACE_EVENT:
        end_window(reading, "the program records or awaits an event");
        break;
    case TRACE_WALL:
        read_wall(reading, view);
        break;
    case TRACE_ACTIVITY:
        keep_activity(reading, view->fixed);
        break;
    case TRACE_END:
        reading->is_whole = ((const struct trace_end *)view->fixed)->reason == TRACE_END_EXIT;
        break;
    case TRACE_NONE:
    case TRACE_KINDS:
        break;
    }
}

static int compare_launches(const void *a, const void *b)
{
    uint64_t x = ((const struct program_launch *)a)->record->sequence;
    uint64_t y = ((const struct program_launch *)b)->record->sequence;
    return x < y ? -1 : x > y;
}

struct gaps { /* before launches of one kernel */
    uint64_t sum_ns;
    uint32_t count;
    bool is_loaded;
};

/* Adds up the gaps before launches, but those around a kernel's first launch, in which its code is loaded, or
 * recorded; these are shortened where `shortens` says so. */
static void walk_gaps(struct program *program, struct gaps *gaps, bool shortens)
{
    bool was_first = false;
    for (uint32_t i = 0; i < program->kernel_count; i++) gaps[i].is_loaded = false;
    for (uint32_t i = 0; i < program->launch_count; i++) {
        struct program_launch *launch = &program->launches[i];
        if (launch->record->kernel >= program->kernel_count) continue;
        struct gaps *own = &gaps[launch->record->kernel];
        bool is_loading = !own->is_loaded || was_first;
        was_first = !own->is_loaded;
        own->is_loaded = true;
        if (launch->boundary) continue;
        if (!is_loading && !shortens) {
            own->sum_ns += launch->gap_ns;
            own->count++;
        } else if (is_loading && shortens && own->count && launch->gap_ns > own->sum_ns / own->count) {
            launch->gap_ns = (uint32_t)(own->sum_ns / own->count);
        }
    }
}

/* What happens once is no reason to think that the host takes long. */
static void forget_loading(struct program *program)
{
    struct gaps *gaps = calloc(program->kernel_count + 1, sizeof *gaps);
    if (!gaps) return;
    walk_gaps(program, gaps, false);
    walk_gaps(program, gaps, true);
    free(gaps);
}

static void end_run(struct reading *reading)
{
    struct program *program = reading->program;
    end_copy(reading);
    program->is_whole_run &= reading->is_whole;
    program->seconds += (double)(reading->last_arrival - reading->first_arrival) * 1e-9;
    program->run_count++;
}

/* The memory of the run before went with its process. What the rest of that did, where recording ended
 * earlier, is not known. */
static void begin_run(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->live_count && reading->is_whole; i++)
        if (reading->live[i].is_private)
            add_event(reading,
                      (struct program_event){.kind = PROGRAM_FREES, .array = reading->live[i].array});
    if (!reading->is_whole) add_event(reading, (struct program_event){.kind = PROGRAM_UNKNOWN});
    reading->live_count = 0;
    if (!contents_reset(reading->program)) reading->out_of_memory = true;
    reading->previous = NULL;
    reading->boundary = "another run begins";
    reading->context = reading->thread = reading->first_thread = 0;
    reading->passed_ns = reading->first_arrival = reading->last_arrival = 0;
    reading->has_launched = reading->has_kernels = reading->is_whole = false;
}

/* All that come before this one end; one without a record is a run, too. */
static void begin_runs(struct reading *reading, uint32_t run)
{
    while (reading->program->run_count < run) {
        end_run(reading);
        begin_run(reading);
    }
}

static void read_runs(struct reading *reading, struct runs *runs)
{
    struct program *program = reading->program;
    struct trace_view view;
    uint32_t run;
    program->is_whole_run = true;
    while (runs_next(runs, &view, &run)) {
        begin_runs(reading, run);
        program->record_count++;
        read_record(reading, &view);
    }
    begin_runs(reading, runs_count(runs) - 1);
    end_run(reading);
}

struct program *program_read(struct runs *runs, char *error, size_t error_size)
{
    if (!runs) return NULL;
    struct arena *arena = arena_create();
    struct program *program = arena ? arena_alloc(arena, sizeof *program) : NULL;
    if (!program) {
        arena_free(arena);
        runs_close(runs);
        snprintf(error, error_size, "out of memory for the trace");
        return NULL;
    }
    program->arena = arena;
    program->runs = runs;
    struct reading reading = {.program = program};
    read_runs(&reading, runs);
    if (program->launch_count)
        qsort(program->launches, program->launch_count, sizeof *program->launches, compare_launches);
    reading.out_of_memory |= !memop_end(program);
    forget_loading(program);
    for (uint32_t i = 0; i < reading.activity_count; i++) join_activity(program, reading.activities[i]);
    free(reading.activities);
    free(reading.live);
    if (!reading.out_of_memory && !runs_error(runs)) return program;
    snprintf(error, error_size, "%s",
             reading.out_of_memory ? "out of memory for the trace" : runs_error(runs));
    program_free(program);
    return NULL;
}

void program_free(struct program *program)
{
    if (!program) return;
    for (uint32_t i = 0; i < program->module_count; i++) ptx_module_free(program->modules[i].ptx);
    free(program->launches);
    free(program->events);
    runs_close(program->runs);
    arena_free(program->arena);
}

/* JIT options (CUjit_option) under which the driver may contract otherwise than NVRTC does for a group. */
static bool are_options_special(const struct program_module *module)
{
    enum { OPTIMIZATION_LEVEL = 7, DEBUG_INFO = 11, FAST_COMPILE = 16, LTO = 20, FMA = 24, BEST_LEVEL = 4 };
    for (uint32_t at = 0; at + 16 <= module->record->options_size; at += 16) {
        uint64_t pair[2]; /* option, value */
        memcpy(pair, module->options + at, sizeof pair);
        if (pair[0] == OPTIMIZATION_LEVEL                      ? pair[1] != BEST_LEVEL
            : pair[0] == DEBUG_INFO || pair[0] == FAST_COMPILE ? pair[1] != 0
                                                               : pair[0] >= LTO && pair[0] <= FMA)
            return true;
    }
    return false;
}

/* The machine code that the driver takes: of the device's generation, and the nearest to it. Two of one
 * number (sm_90 and sm_90a) are both kept. NULL, or why the module is left alone. */
static const char *find_loaded(struct program *program, struct program_module *module, uint32_t sm)
{
    struct cubin cubin;
    uint32_t best = 0, count = ptx_machine_code_of_image(program->arena, module->image,
                                                         module->record->stored_size, &module->loaded);
    for (uint32_t i = 0; i < count; i++)
        if (module->loaded[i].sm / 10 == sm / 10 && module->loaded[i].sm <= sm && module->loaded[i].sm > best)
            best = module->loaded[i].sm;
    for (uint32_t i = 0; i < count; i++)
        if (best && module->loaded[i].sm == best) module->loaded[module->loaded_count++] = module->loaded[i];
    for (uint32_t i = 0; i < module->loaded_count; i++)
        if (cubin_open(&cubin, module->loaded[i].bytes, module->loaded[i].size) && cubin_is_debug(&cubin))
            return "its module is debug code (nvcc -G)";
    return NULL;
}

static const char *examine_image(struct program *program, struct program_module *module,
                                 const struct ptx_text **text)
{
    struct arena *arena = program->arena;
    const struct trace_module *record = module->record;
    if (!record) return "its module is missing in the trace";
    if (are_options_special(module))
        return "its module was loaded with JIT options that change how its PTX is compiled";
    if (record->flags & TRACE_MODULE_RELOCATABLE)
        return "its module was linked from relocatable code (nvcc -rdc=true)";
    if (!(record->flags & TRACE_MODULE_HAS_PTX) || !module->image)
        return record->image_kind == IMAGE_ELF
                   ? "its module is machine code without PTX: load PTX, or, where a cache keeps what was "
                     "compiled "
                     "at run time, record with that cache empty (CuPy: CUPY_CACHE_IN_MEMORY=1)"
                   : "its module holds no PTX: build it with -arch=sm_NN (not -arch=native), which embeds "
                     "PTX too";
    uint32_t sm = program->device.compute_major * 10 + program->device.compute_minor;
    struct ptx_text *texts = NULL;
    uint32_t count = ptx_texts_of_image(arena, module->image, record->stored_size, &texts);
    *text = ptx_text_for(texts, count, sm);
    if (!*text) return arena_printf(arena, "its module holds no PTX for sm_%u", sm);
    const char *refusal = program->device.is_emulated ? NULL : find_loaded(program, module, sm);
    module->is_other_architecture = module->loaded_count && module->loaded[0].sm != (*text)->sm;
    return refusal;
}

static void examine_module(struct program *program, struct program_module *module)
{
    const struct ptx_text *text = NULL;
    const char *error = NULL;
    module->is_examined = true;
    module->refusal = examine_image(program, module, &text);
    if (module->refusal) return;
    char name[33];
    hash_text(module->record->hash, name);
    module->ptx =
        ptx_parse(arena_printf(program->arena, "module %.8s", name), text->text, text->length, &error);
    if (!module->ptx)
        module->refusal = "out of memory while reading its PTX";
    else if (error)
        module->refusal = arena_printf(program->arena, "its PTX could not be read: %s", error);
    else if (module->ptx->is_debug)
        module->refusal = "its module is debug code (nvcc -G)";
}

/* Code and PTX of one image may be two programs (__CUDA_ARCH__), and everything that is known of a kernel is
 * known of its PTX: where the architectures differ, only what compiles to the loaded code is taken. To
 * compare results would not do: the other program may write where this one does not. */
static const char *why_another_program(struct program *program, struct program_kernel *kernel)
{
    const struct program_module *module = &program->modules[kernel->record->module];
    if (!module->is_other_architecture) return NULL;
    const struct exactness *exactness = exactness_of(program, kernel);
    if (exactness && exactness->kind == EXACTNESS_SAME_CODE) return NULL;
    return arena_printf(
        program->arena,
        "its module runs machine code of sm_%u but holds PTX of sm_%u, which compiles to other code: "
        "build both alike (nvcc -arch=sm_%u)",
        module->loaded[0].sm, module->ptx->sm, module->loaded[0].sm);
}

static const struct ptx_function *examine_function(struct program *program, struct program_kernel *kernel)
{
    const struct ptx_function *plain = plain_function(program->arena, kernel->original);
    kernel->is_rewritten = plain_is_renumbered(kernel->original, plain);
    return plain;
}

const struct ptx_function *program_function(struct program *program, struct program_kernel *kernel)
{
    if (kernel->is_examined) return kernel->function;
    kernel->is_examined = true;
    if (!kernel->record || kernel->record->module >= program->module_count) {
        kernel->refusal = "its module is missing in the trace";
        return NULL;
    }
    struct program_module *module = &program->modules[kernel->record->module];
    if (!module->is_examined) examine_module(program, module);
    kernel->refusal = module->refusal;
    if (kernel->refusal) return NULL;
    kernel->function = kernel->original = ptx_find_function(module->ptx, kernel->name);
    if (!kernel->function)
        kernel->refusal = "its PTX does not contain it";
    else if (kernel->function->unreadable)
        kernel->refusal = kernel->function->unreadable;
    else
        kernel->function = examine_function(program, kernel);
    if (!kernel->refusal) kernel->refusal = why_another_program(program, kernel);
    if (kernel->refusal) kernel->function = NULL;
    return kernel->function;
}
