/* SPDX-License-Identifier: Apache-2.0
 * Streams' queues. An operation may run when all before it in its stream and all that it waits for are done:
 * an event's record, and the rules of the legacy default stream. Without a seed an operation runs where it is
 * submitted, as if the device were infinitely fast (behind a host function that has not ended: when it has);
 * with one, it waits until something synchronises, and then any operation that may run is taken at random.
 * Sequence numbers are unique over all streams and never reused.
 *
 * Time: an operation starts when its stream, what it waits for, and the host that submitted it allow. */
#include "emulator/driver.h"

#include "common/log.h"

uint64_t driver_random(uint64_t limit)
{
    uint64_t z = driver.random += 0x9e3779b97f4a7c15; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % limit;
}

static bool is_done(const struct driver_stream *stream)
{
    return stream->completed >= stream->submitted;
}

static bool is_blocking(const struct driver_stream *stream)
{
    return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy default stream waits for all blocking streams of its context, and they for it. */
static bool add_legacy_waits(struct driver_stream *stream, struct driver_operation *operation)
{
    if (is_blocking(stream)) {
        const struct driver_stream *legacy = stream->context->legacy;
        return driver_operation_wait_for(operation, legacy, legacy->submitted);
    }
    if (!stream->is_legacy) return true;
    for (struct driver_stream *other = driver.streams; other; other = other->next)
        if (other->context == stream->context && is_blocking(other) &&
            !driver_operation_wait_for(operation, other, other->submitted))
            return false;
    return true;
}

/* When what stands before it in the rules of the legacy stream has ended. */
static uint64_t legacy_ns(const struct driver_stream *stream)
{
    if (is_blocking(stream)) return stream->context->legacy->clock_ns;
    uint64_t latest = 0;
    for (const struct driver_stream *other = driver.streams; stream->is_legacy && other; other = other->next)
        if (other->context == stream->context && is_blocking(other) && other->clock_ns > latest)
            latest = other->clock_ns;
    return latest;
}

static uint64_t start_ns(const struct driver_stream *stream, const struct driver_operation *operation)
{
    uint64_t start = stream->clock_ns, legacy = legacy_ns(stream);
    if (operation->kind == OPERATION_KERNEL)
        start += operation->is_in_graph ? (uint64_t)emu_clock_device.graph_gap_ns : emu_clock_gap_ns();
    if (start < legacy) start = legacy;
    if (start < operation->not_before_ns) start = operation->not_before_ns;
    for (size_t i = 0; i < operation->wait_count; i++)
        if (start < operation->waits[i].stream->clock_ns) start = operation->waits[i].stream->clock_ns;
    return start;
}

static bool is_ready(const struct driver_stream *stream)
{
    const struct driver_operation *operation = stream->first;
    if (!operation || stream->is_running) return false;
    for (size_t i = 0; i < operation->wait_count; i++)
        if (operation->waits[i].stream->completed < operation->waits[i].sequence) return false;
    return true;
}

static struct driver_stream *choose(void)
{
    uint64_t count = 0;
    struct driver_stream *chosen = NULL;
    for (struct driver_stream *stream = driver.streams; stream; stream = stream->next)
        if (is_ready(stream) && (driver.options.seed ? driver_random(++count) == 0 : !chosen))
            chosen = stream;
    return chosen;
}

void driver_finish(struct driver_stream *stream)
{
    struct driver_operation *operation = stream->first;
    stream->is_running = false;
    stream->first = operation->next;
    if (!stream->first) stream->last = NULL;
    stream->completed = operation->sequence;
    driver_operation_free(operation);
    driver_wake(NEWS_DONE);
}

static bool run_one(void)
{
    struct driver_stream *stream = choose();
    if (!stream) return false;
    struct driver_operation *operation = stream->first;
    stream->is_running = true;
    uint64_t start = start_ns(stream, operation);
    if (operation->kind == OPERATION_HOST) {
        stream->clock_ns = start;
        driver_host_start(stream);
        return true;
    }
    stream->clock_ns = start + driver_operation_run(stream, operation, start);
    driver_finish(stream);
    return true;
}

void driver_run_ready(void)
{
    while (run_one()) continue;
}

void driver_run_some(void)
{
    run_one();
}

static void host_reaches(uint64_t time_ns)
{
    if (driver.host_ns < time_ns) driver.host_ns = time_ns;
}

/* A stream that is destroyed meanwhile has completed everything. */
void driver_run_until(const struct driver_stream *stream, uint64_t sequence)
{
    while (stream->completed < sequence)
        if (!run_one()) driver_pause(NEWS_DONE); /* a host function is running */
    host_reaches(stream->clock_ns);
}

void driver_run_stream(const struct driver_stream *stream)
{
    driver_run_until(stream, stream->submitted);
}

static bool all_done(const struct driver_context *context)
{
    for (const struct driver_stream *stream = driver.streams; stream; stream = stream->next)
        if ((!context || stream->context == context) && !is_done(stream)) return false;
    return true;
}

static void run_context(const struct driver_context *context)
{
    while (!all_done(context))
        if (!run_one()) driver_pause(NEWS_DONE);
    for (const struct driver_stream *stream = driver.streams; stream; stream = stream->next)
        if (!context || stream->context == context) host_reaches(stream->clock_ns);
}

void driver_run_context(const struct driver_context *context)
{
    run_context(context);
}

bool driver_runs_at_once(void)
{
    return driver.options.seed == 0 && all_done(NULL);
}

void driver_run_all(void)
{
    run_context(NULL);
}

static CUresult enqueue(struct driver_stream *stream, struct driver_operation *operation)
{
    CUresult result = driver_capture_legacy(stream);
    if (result == CUDA_SUCCESS && !add_legacy_waits(stream, operation)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        driver_operation_free(operation);
        return result;
    }
    operation->sequence = stream->submitted = ++driver.sequence;
    if (operation->kind == OPERATION_EVENT) {
        operation->record.event->stream = stream;
        operation->record.event->sequence = operation->sequence;
    }
    if (operation->not_before_ns < driver.host_ns) operation->not_before_ns = driver.host_ns;
    if (stream->last)
        stream->last->next = operation;
    else
        stream->first = operation;
    stream->last = operation;
    return CUDA_SUCCESS;
}

CUresult driver_submit(struct driver_stream *stream, struct driver_operation *operation)
{
    if (stream->capture) return driver_capture_add(stream, operation);
    CUresult result = enqueue(stream, operation);
    uint64_t host_ns = driver.host_ns;
    while (result == CUDA_SUCCESS && driver.options.seed == 0 && !is_done(stream))
        if (!run_one()) break; /* behind a host function, which will run it */
    driver.host_ns = host_ns;
    return result;
}

CUresult driver_submit_and_wait(struct driver_stream *stream, struct driver_operation *operation)
{
    CUresult result = stream->capture ? driver_capture_sync(stream) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = enqueue(stream, operation);
    else
        driver_operation_free(operation);
    if (result != CUDA_SUCCESS) return result;
    driver_run_until(stream, stream->submitted);
    return stream->context->error;
}
