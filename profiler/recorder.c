/* SPDX-License-Identifier: Apache-2.0
 * The recorder. States: recording; draining (launches are no longer recorded, the last ones' activity is
 * awaited); done. It leaves the first by itself when the launch stream has become periodic or is long enough.
 */
#include "profiler/recorder.h"
#include "common/log.h"
#include "common/setting.h"
#include "profiler/period.h"
#include "profiler/source.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_LAUNCHES = 20000, DRAIN_WALLS = 2 };
static const uint64_t DRAIN_NS = 1000000000;

bool recorder_is_active;

static struct {
    pthread_mutex_t lock; /* over writer and period; never held while a source is called */
    struct trace_writer *writer;
    struct period period;
    const struct activity_source *source;
    uint64_t launch_limit; /* 0: the whole run */
    pid_t process;
    uint64_t drain_end_ns;
    /* atomics */
    uint64_t sequence, launches, expected, activities;
    uint32_t drain_walls;
    enum trace_end_reason reason;
    bool draining, finished;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t next_sequence(void)
{
    return __atomic_add_fetch(&recorder.sequence, 1, __ATOMIC_RELAXED);
}

static bool is_draining(void)
{
    return __atomic_load_n(&recorder.draining, __ATOMIC_RELAXED);
}

static bool append(enum trace_kind kind, const void *fixed, const void *payload, size_t size)
{
    pthread_mutex_lock(&recorder.lock);
    bool written = !recorder.writer || trace_write(recorder.writer, kind, fixed, payload, size);
    pthread_mutex_unlock(&recorder.lock);
    return written;
}

/* In a thread of the source. */
static void deliver(const struct trace_activity *activity)
{
    __atomic_add_fetch(&recorder.activities, 1, __ATOMIC_RELAXED);
    append(TRACE_ACTIVITY, activity, NULL, 0); /* a failure shows at the program's next call */
}

/* A signal's handler may end the program while its thread has the lock: then the trace stays without an end.
 */
static bool lock_in_time(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    return pthread_mutex_timedlock(&recorder.lock, &limit) == 0;
}

static void close_file(enum trace_end_reason reason)
{
    if (!lock_in_time()) return;
    struct trace_end end = {.sequence = next_sequence(),
                            .launches = __atomic_load_n(&recorder.launches, __ATOMIC_RELAXED),
                            .activities = __atomic_load_n(&recorder.activities, __ATOMIC_RELAXED),
                            .reason = reason};
    struct trace_writer *writer = recorder.writer;
    recorder.writer = NULL; /* first: a fork may come at any time */
    if (writer) {
        trace_write(writer, TRACE_END, &end, NULL, 0);
        trace_writer_close(writer);
    }
    period_free(&recorder.period);
    pthread_mutex_unlock(&recorder.lock);
    log_write(LOG_INFO, "recorder", "recorded %llu launches, %llu with times",
              (unsigned long long)end.launches, (unsigned long long)end.activities);
}

static void finish(enum trace_end_reason reason)
{
    if (__atomic_exchange_n(&recorder.finished, true, __ATOMIC_ACQ_REL)) return;
    if (recorder.source) recorder.source->stop(reason == TRACE_END_EXIT);
    close_file(reason);
    __atomic_store_n(&recorder_is_active, false, __ATOMIC_RELAXED);
}

/* Appends for the program's threads: a trace that cannot be written ends the recording. */
static void record(enum trace_kind kind, const void *fixed, const void *payload, size_t size)
{
    if (is_draining() || append(kind, fixed, payload, size)) return;
    log_write(LOG_ERROR, "recorder", "the trace cannot be written any further (disk full?); recording ends");
    finish(TRACE_END_ERROR);
}

/* Ends the recording of launches. Their activity is awaited while the program goes on. */
static void start_draining(enum trace_end_reason reason)
{
    if (__atomic_exchange_n(&recorder.draining, true, __ATOMIC_ACQ_REL)) return;
    recorder.reason = reason;
    __atomic_store_n(&recorder.drain_end_ns, now_ns() + DRAIN_NS, __ATOMIC_RELEASE);
    if (!recorder.source) finish(reason);
}

static bool has_all_activity(void)
{
    return __atomic_load_n(&recorder.activities, __ATOMIC_RELAXED) >=
           __atomic_load_n(&recorder.expected, __ATOMIC_RELAXED);
}

/* At a wall: the one after next comes when everything that was launched before has run, whether walls are
 * reported before or after the call that waits. */
static void drain_at_wall(void)
{
    uint32_t walls = __atomic_add_fetch(&recorder.drain_walls, 1, __ATOMIC_RELAXED);
    recorder.source->flush();
    if (walls > DRAIN_WALLS || has_all_activity()) finish(recorder.reason);
}

static void drain_at_launch(void)
{
    uint64_t end = __atomic_load_n(&recorder.drain_end_ns, __ATOMIC_ACQUIRE);
    if (has_all_activity() || (end && now_ns() > end)) finish(recorder.reason);
}

static void note_launch(const struct trace_launch *launch)
{
    const uint32_t parts[] = {launch->kernel,   launch->stream,   launch->grid[0],
                              launch->grid[1],  launch->grid[2],  launch->block[0],
                              launch->block[1], launch->block[2], launch->dynamic_shared};
    uint64_t launches = __atomic_add_fetch(&recorder.launches, 1, __ATOMIC_RELAXED);
    if (!recorder.launch_limit) return;
    pthread_mutex_lock(&recorder.lock);
    uint32_t period = period_note(&recorder.period, hash_check(parts, sizeof parts));
    pthread_mutex_unlock(&recorder.lock);
    if (period) {
        log_write(LOG_INFO, "recorder", "the launches repeat every %u: enough after %llu", period,
                  (unsigned long long)launches);
        start_draining(TRACE_END_PERIODIC);
    } else if (launches >= recorder.launch_limit) {
        log_write(LOG_INFO, "recorder", "enough after %llu launches (KFUSE_RECORD_LAUNCHES)",
                  (unsigned long long)launches);
        start_draining(TRACE_END_LIMIT);
    }
}

/* --- open and close --- */

/* In the child of a fork: the trace belongs to the parent. No lock may be taken. A child that kept the file
 * would keep it locked after the parent's end. */
static void leave_to_parent(void)
{
    recorder_is_active = false;
    if (recorder.writer) trace_writer_abandon(recorder.writer);
}

static void start_source(void *(*real)(const char *name))
{
    const char *error = "no source";
    recorder.source = source_find(real);
    if (recorder.source && recorder.source->start(deliver, &error)) return;
    if (recorder.source) log_write(LOG_WARNING, "recorder", "%s", error);
    recorder.source = NULL;
    log_write(LOG_WARNING, "recorder", "no kernel times are recorded: the planner will estimate them");
}

bool recorder_open(const char *path, void *(*real)(const char *name))
{
    const char *error = NULL;
    recorder.writer = trace_writer_open(path, &error);
    if (!recorder.writer) {
        log_write(LOG_ERROR, "recorder",
                  "%s: cannot be recorded to: %s; name another file with -o or KFUSE_RECORD", path, error);
        return false;
    }
    recorder.process = getpid();
    recorder.launch_limit = (uint64_t)setting_number("KFUSE_RECORD_LAUNCHES", 0, LONG_MAX, DEFAULT_LAUNCHES);
    pthread_atfork(NULL, NULL, leave_to_parent);
    start_source(real);
    __atomic_store_n(&recorder_is_active, true, __ATOMIC_RELEASE);
    return true;
}

void recorder_close(enum trace_end_reason reason)
{
    if (!recorder_is_active || recorder.process != getpid()) return;
    finish(is_draining() ? recorder.reason : reason);
}

/* --- what the hooks report --- */

void recorder_device(const struct trace_device *device)
{
    record(TRACE_DEVICE, device, NULL, 0);
}

/* Records whose payload has two parts. */
static void record_pair(enum trace_kind kind, const void *fixed, const void *first, size_t first_size,
                        const void *second, size_t second_size)
{
    if (!first_size) {
        record(kind, fixed, second, second_size);
        return;
    }
    int saved = errno;
    char *both = malloc(first_size + second_size);
    if (!both) {
        log_write(LOG_ERROR, "recorder", "out of memory; recording ends");
        finish(TRACE_END_ERROR);
        return;
    }
    memcpy(both, first, first_size);
    if (second_size) memcpy(both + first_size, second, second_size);
    record(kind, fixed, both, first_size + second_size);
    free(both);
    errno = saved;
}

void recorder_module(const struct trace_module *module, const void *options, const void *image)
{
    record_pair(TRACE_MODULE, module, options, module->options_size, image, module->stored_size);
}

void recorder_kernel(const struct trace_kernel *kernel, const struct trace_parameter *parameters,
                     const char *name)
{
    record_pair(TRACE_KERNEL, kernel, parameters, kernel->parameter_count * sizeof *parameters, name,
                strlen(name) + 1);
}

void recorder_variable(const struct trace_variable *variable, const char *name)
{
    record(TRACE_VARIABLE, variable, name, strlen(name) + 1);
}

void recorder_contents(struct trace_contents *contents, const void *bytes)
{
    contents->sequence = next_sequence();
    record(TRACE_CONTENTS, contents, bytes, contents->size);
}

void recorder_launch_begin(struct trace_launch *launch)
{
    launch->sequence = next_sequence();
    if (recorder.source && !is_draining()) recorder.source->launch_begin(launch->sequence);
}

void recorder_launch_end(const struct trace_launch *launch, const void *arguments)
{
    if (recorder.source) recorder.source->launch_end();
    if (is_draining()) {
        drain_at_launch();
        return;
    }
    if (launch->result == 0 && !(launch->flags & TRACE_LAUNCH_CAPTURED))
        __atomic_add_fetch(&recorder.expected, 1, __ATOMIC_RELAXED);
    record(TRACE_LAUNCH, launch, arguments, launch->arguments_size);
    note_launch(launch);
}

void recorder_allocate(struct trace_allocate *allocate)
{
    allocate->sequence = next_sequence();
    record(TRACE_ALLOCATE, allocate, NULL, 0);
}

void recorder_free(struct trace_free *release)
{
    release->sequence = next_sequence();
    record(TRACE_FREE, release, NULL, 0);
}

void recorder_copy(struct trace_copy *copy)
{
    copy->sequence = next_sequence();
    record(TRACE_COPY, copy, NULL, 0);
}

void recorder_set(struct trace_set *set)
{
    set->sequence = next_sequence();
    record(TRACE_SET, set, NULL, 0);
}

void recorder_event(struct trace_event *event)
{
    event->sequence = next_sequence();
    record(TRACE_EVENT, event, NULL, 0);
}

void recorder_wall(struct trace_wall *wall, const char *entry_point)
{
    wall->sequence = next_sequence();
    if (is_draining() && recorder.source)
        drain_at_wall();
    else
        record(TRACE_WALL, wall, entry_point, strlen(entry_point) + 1);
}
