/* SPDX-License-Identifier: Apache-2.0
 * Streams' queues. An operation may run when all before it in its stream and all that it waits for are done:
 * an event's record, and the rules of the legacy default stream. Without a seed an operation runs where it is
 * submitted, as if the device were infinitely fast (behind a host function that has not ended: when it has);
 * with one, it waits until something synchronises, and then any operation that may run is taken at random.
 * Sequence numbers are unique over all streams and never reused.
 *
 * Kernels of several streams run side by side, in slices: with a seed, slices of random lengths in a random
 * order. Without one, a kernel runs whole, unless a block of it takes so long that it may wait for something:
 * then it pauses, its stream is behind all others, and the call that it is in returns. What is left is run by
 * calls that wait, and by a thread while there are none (driver_serve.c). The lock is free between slices.
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

/* HELD: it only waits for a value in memory. */
enum readiness { NOT_READY, HELD, READY };

static enum readiness readiness(const struct driver_stream *stream)
{
    struct driver_operation *operation = stream->first;
    if (!operation || stream->is_running) return NOT_READY;
    for (size_t i = 0; i < operation->wait_count; i++)
        if (operation->waits[i].stream->completed < operation->waits[i].sequence) return NOT_READY;
    if (operation->kind != OPERATION_WAIT_VALUE || stream->context->error != CUDA_SUCCESS ||
        driver_value_is_there(&operation->value))
        return READY;
    operation->value.has_waited = true;
    return HELD;
}

/* With a seed any that is ready, else the one that has not paused for longest; *others: there are more. */
static struct driver_stream *choose(bool *others)
{
    uint64_t count = 0;
    struct driver_stream *chosen = NULL;
    for (struct driver_stream *stream = driver.streams; stream; stream = stream->next) {
        if (readiness(stream) != READY) continue;
        count++;
        if (driver.options.seed ? driver_random(count) == 0 : !chosen || stream->rested < chosen->rested)
            chosen = stream;
    }
    *others = count > 1;
    return chosen;
}

void driver_finish(struct driver_stream *stream)
{
    struct driver_operation *operation = stream->first;
    stream->is_running = false;
    stream->rested = 0;
    stream->first = operation->next;
    if (!stream->first) stream->last = NULL;
    stream->completed = operation->sequence;
    driver_operation_free(operation);
    driver_wake(NEWS_DONE);
    if (!stream->first) driver_stream_done(stream);
}

/* Turns of the next slice, 0: as many as its patience allows. */
static uint64_t draw_turns(void)
{
    uint64_t exponent = driver_random(10);
    return exponent < 8 ? 1ull << exponent : 0;
}

/* What run_one did. */
enum outcome { RAN_NOTHING, RAN_SLICE, RAN_OPERATION };

static enum outcome run_one(void)
{
    bool others;
    struct driver_stream *stream = choose(&others);
    if (!stream) return RAN_NOTHING;
    struct driver_operation *operation = stream->first;
    if (!operation->has_begun) operation->start_ns = start_ns(stream, operation);
    operation->has_begun = true;
    if (operation->kind == OPERATION_HOST) {
        stream->is_running = true;
        stream->clock_ns = operation->start_ns;
        driver_host_start(stream);
        return RAN_OPERATION;
    }
    uint64_t end_ns;
    struct driver_slice slice = {.is_alone = !others};
    if (operation->kind == OPERATION_KERNEL && others && driver.options.seed) slice.turns = draw_turns();
    if (!driver_operation_run(stream, operation, slice, &end_ns)) {
        stream->rested = ++driver.pauses;
        return RAN_SLICE;
    }
    stream->clock_ns = end_ns;
    if (driver.latest_ns < end_ns) driver.latest_ns = end_ns;
    driver_finish(stream);
    return RAN_OPERATION;
}

/* Nothing can run: a host function is running, or a stream waits for a value that the host may write. With a
 * limit of steps nobody waits for ever. */
static void rest(void)
{
    enum { NAP = 1, NAPS_MOST = 3000 };
    struct driver_stream *held = driver.streams;
    struct timespec deadline = {0};
    while (held && readiness(held) != HELD) held = held->next;
    if (!held) {
        driver_pause(NEWS_DONE);
    } else if (!driver_pause_for(NEWS_DONE, &deadline, NAP) && driver.options.step_limit &&
               ++driver.naps > NAPS_MOST) {
        driver_say("a stream still waits for a value in memory, and nothing else can run");
        held->context->error = CUDA_ERROR_LAUNCH_TIMEOUT;
    }
}

/* For calls that wait. */
static void advance(void)
{
    switch (run_one()) {
    case RAN_NOTHING:
        rest();
        break;
    case RAN_SLICE:
        driver_let_others();
        break;
    case RAN_OPERATION:
        driver.naps = 0;
        break;
    }
}

void driver_run_ready(void)
{
    enum outcome outcome;
    while ((outcome = run_one()) == RAN_OPERATION) continue;
    if (outcome == RAN_SLICE) driver_serve();
}

bool driver_run_some(void)
{
    return run_one() != RAN_NOTHING;
}

bool driver_is_idle(void)
{
    for (const struct driver_stream *stream = driver.streams; stream; stream = stream->next)
        if (readiness(stream) != NOT_READY) return false;
    return true;
}

/* A call has waited. */
static void host_reaches(uint64_t time_ns)
{
    driver_output_flush();
    if (driver.host_ns < time_ns) driver.host_ns = time_ns;
}

/* A stream that is destroyed meanwhile has completed everything. */
void driver_run_until(const struct driver_stream *stream, uint64_t sequence)
{
    while (stream->completed < sequence) advance();
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
    while (!all_done(context)) advance();
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
    if (operation->kind == OPERATION_KERNEL) driver_output_flush();
    CUresult result = enqueue(stream, operation);
    uint64_t host_ns = driver.host_ns;
    if (result == CUDA_SUCCESS && driver.options.seed == 0)
        while (!is_done(stream) && run_one() == RAN_OPERATION) continue;
    if (result == CUDA_SUCCESS && !is_done(stream)) driver_serve(); /* perhaps nobody will wait for it */
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
