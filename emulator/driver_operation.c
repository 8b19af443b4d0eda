/* SPDX-License-Identifier: Apache-2.0
 * One operation of a stream: made, copied (for graphs), and run. What a kernel does wrong becomes the error
 * of its context and a message. */
#include "emulator/driver.h"

#include "common/log.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct driver_operation *driver_operation_create(enum driver_operation_kind kind)
{
    struct driver_operation *operation = calloc(1, sizeof *operation);
    if (operation) operation->kind = kind;
    return operation;
}

struct driver_operation *driver_operation_clone(const struct driver_operation *operation)
{
    struct driver_operation *clone = driver_operation_create(operation->kind);
    if (!clone) return NULL;
    *clone = *operation;
    clone->next = NULL;
    clone->has_begun = false;
    clone->waits = NULL;
    clone->wait_count = 0;
    clone->bytes = operation->bytes ? malloc(operation->byte_count + 1) : NULL;
    if (operation->bytes && !clone->bytes) {
        free(clone);
        return NULL;
    }
    if (clone->bytes) memcpy(clone->bytes, operation->bytes, operation->byte_count);
    return clone;
}

void driver_operation_free(struct driver_operation *operation)
{
    if (!operation) return;
    free(operation->waits);
    free(operation->bytes);
    free(operation);
}

bool driver_operation_wait_for(struct driver_operation *operation, const struct driver_stream *stream,
                               uint64_t sequence)
{
    if (stream->completed >= sequence) return true;
    struct driver_wait *waits = realloc(operation->waits, (operation->wait_count + 1) * sizeof *waits);
    if (!waits) return false;
    operation->waits = waits;
    waits[operation->wait_count++] = (struct driver_wait){stream, sequence};
    return true;
}

/* --- kernels --- */

static CUresult fault_result(enum emu_fault_kind kind)
{
    switch (kind) {
    case EMU_FAULT_NONE:
        return CUDA_SUCCESS;
    case EMU_FAULT_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EMU_FAULT_ALIGNMENT:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EMU_FAULT_OPCODE:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case EMU_FAULT_HUNG:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case EMU_FAULT_RESOURCES:
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case EMU_FAULT_ASSERT:
        return CUDA_ERROR_ASSERT;
    case EMU_FAULT_TRAP:
    case EMU_FAULT_BARRIER:
        return CUDA_ERROR_LAUNCH_FAILED;
    case EMU_FAULT_RACE:
        return driver.options.races_are_errors ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
    }
    return CUDA_ERROR_UNKNOWN;
}

static void operation_fault(struct driver_context *context, const struct emu_fault *fault)
{
    driver_output_flush();
    driver_say("%s%s", fault->kind == EMU_FAULT_RACE ? "race: " : "", fault->message);
    CUresult result = fault_result(fault->kind);
    if (result != CUDA_SUCCESS) context->error = result;
    if (driver.options.traps_on_fault) raise(SIGTRAP);
}

static uint64_t operation_seed(void)
{
    uint64_t seed = driver.options.seed;
    if (seed == 0) return 0;
    seed += driver.launches * 0x9e3779b97f4a7c15;
    return seed ? seed : 1;
}

static void operation_report(const struct driver_operation *operation, uint64_t start_ns, uint64_t end_ns)
{
    const struct emu_kernel_info *info = &operation->launch.function->info;
    driver_activity_add(&(struct emu_activity){.start_ns = start_ns,
                                               .end_ns = end_ns,
                                               .registers = info->registers,
                                               .static_shared = info->static_shared,
                                               .dynamic_shared = operation->launch.dynamic_shared,
                                               .local_per_thread = info->local_bytes,
                                               .tag = operation->launch.tag});
}

/* A launch with blocks for every multiprocessor leaves no room for another. */
static bool fills_device(const struct driver_operation *operation)
{
    const struct driver_launch *launch = &operation->launch;
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    return blocks >= emu_clock_device.multiprocessors;
}

enum { PATIENCE = 1 << 20 }; /* turns of a launch's first slice */

static bool kernel_begin(struct driver_stream *stream, struct driver_operation *operation)
{
    struct driver_launch *launch = &operation->launch;
    driver.launches++;
    if (fills_device(operation) && operation->start_ns < driver.device_ns)
        operation->start_ns = driver.device_ns;
    struct emu_settings settings = {.seed = operation_seed(),
                                    .report_races = driver.options.report_races,
                                    .workers = driver.options.workers,
                                    .step_limit = driver.options.step_limit,
                                    .print = driver_output_print,
                                    .print_context = stream->context};
    struct emu_launch run = {.kernel = launch->function->kernel,
                             .dynamic_shared = launch->dynamic_shared,
                             .parameters = operation->bytes,
                             .clock_ns = operation->start_ns};
    memcpy(run.grid, launch->grid, sizeof run.grid);
    memcpy(run.block, launch->block, sizeof run.block);
    struct emu_fault fault;
    launch->patience = PATIENCE;
    launch->run = driver_watch_open(&settings, &run, &fault, &launch->is_watched);
    if (!launch->run) operation_fault(stream->context, &fault);
    return launch->run;
}

static uint64_t kernel_end(struct driver_stream *stream, struct driver_operation *operation)
{
    struct driver_launch *launch = &operation->launch;
    struct emu_launch shape = {.kernel = launch->function->kernel, .dynamic_shared = launch->dynamic_shared};
    memcpy(shape.grid, launch->grid, sizeof shape.grid);
    memcpy(shape.block, launch->block, sizeof shape.block);
    struct emu_counts counts;
    struct emu_fault fault;
    if (!driver_watch_close(launch->run, &counts, &fault, launch->is_watched))
        operation_fault(stream->context, &fault);
    launch->run = NULL;
    uint64_t start_ns = operation->start_ns;
    uint64_t end_ns = start_ns + emu_clock_kernel_ns(&counts, &shape, &launch->function->info);
    if (launch->has_paused && end_ns < driver.latest_ns) end_ns = driver.latest_ns; /* it waited for it */
    if (fills_device(operation) && driver.device_ns < end_ns) driver.device_ns = end_ns;
    operation_report(operation, start_ns, end_ns);
    if (log_enabled(LOG_DEBUG))
        log_write(LOG_DEBUG, "emulator", "%s: %llu instructions, %llu bytes loaded, %llu stored, %llu ns",
                  launch->function->info.name, (unsigned long long)counts.instructions,
                  (unsigned long long)counts.load_bytes, (unsigned long long)counts.store_bytes,
                  (unsigned long long)(end_ns - start_ns));
    return end_ns;
}

/* A slice that was not enough makes the next one shorter, so that kernels that wait for each other do so in
 * short turns, but not much where there is no other: it may just take long. A fault in another stream ends
 * all of the context. */
static bool operation_kernel(struct driver_stream *stream, struct driver_operation *operation,
                             struct driver_slice slice, uint64_t *end_ns)
{
    enum { PATIENCE_LEAST = 1 << 10, PATIENCE_ALONE = 1 << 16 };
    struct driver_launch *launch = &operation->launch;
    bool is_sound = stream->context->error == CUDA_SUCCESS;
    *end_ns = operation->start_ns;
    if (!launch->run && (!is_sound || !kernel_begin(stream, operation))) return true;
    uint64_t turns = launch->patience;
    if (slice.is_alone && turns < PATIENCE_ALONE) turns = PATIENCE_ALONE;
    bool is_short = slice.turns && slice.turns < turns;
    if (is_sound && !emu_run_go(launch->run, is_short ? slice.turns : turns)) {
        launch->has_paused |= !is_short;
        if (!is_short && launch->patience > PATIENCE_LEAST) launch->patience /= 2;
        return false;
    }
    *end_ns = kernel_end(stream, operation);
    return true;
}

/* --- the others --- */

static uint64_t operation_copy(const struct driver_operation *operation)
{
    const struct driver_copy *copy = &operation->copy;
    const unsigned char *source = operation->bytes ? operation->bytes : (const unsigned char *)copy->source;
    size_t source_pitch = operation->bytes ? copy->width : copy->source_pitch;
    size_t source_slice = operation->bytes ? copy->width * copy->height : copy->source_slice;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memmove((unsigned char *)copy->destination + z * copy->destination_slice +
                        y * copy->destination_pitch,
                    source + z * source_slice + y * source_pitch, copy->width);
    return emu_clock_copy_ns((uint64_t)copy->width * copy->height * copy->depth, copy->kind);
}

static uint64_t operation_fill(const struct driver_fill *fill)
{
    for (size_t y = 0; y < fill->height; y++) {
        unsigned char *row = (unsigned char *)fill->destination + y * fill->pitch;
        if (fill->element == 1)
            memset(row, (int)fill->value, fill->width);
        else
            for (size_t x = 0; x < fill->width; x++)
                memcpy(row + x * fill->element, &fill->value, fill->element);
    }
    return emu_clock_copy_ns((uint64_t)fill->width * fill->height * fill->element, EMU_COPY_SET);
}

static void operation_event(const struct driver_operation *operation)
{
    struct driver_event *event = operation->record.event;
    if (!driver_object_is(event, DRIVER_EVENT) || event->id != operation->record.id)
        return; /* destroyed meanwhile */
    if (event->done < operation->sequence) {
        event->done = operation->sequence;
        event->time_ns = operation->start_ns;
    }
}

static void operation_value(struct driver_stream *stream, const struct driver_operation *operation,
                            uint64_t *end_ns)
{
    CUresult result = driver_value_run(&operation->value, operation->kind == OPERATION_WRITE_VALUE);
    if (result != CUDA_SUCCESS) stream->context->error = result;
    if (operation->value.has_waited && *end_ns < driver.latest_ns) *end_ns = driver.latest_ns;
}

bool driver_operation_run(struct driver_stream *stream, struct driver_operation *operation,
                          struct driver_slice slice, uint64_t *end_ns)
{
    bool is_sound = stream->context->error == CUDA_SUCCESS;
    *end_ns = operation->start_ns;
    switch (operation->kind) {
    case OPERATION_KERNEL:
        return operation_kernel(stream, operation, slice, end_ns);
    case OPERATION_COPY:
        if (is_sound) *end_ns += operation_copy(operation);
        break;
    case OPERATION_FILL:
        if (is_sound) *end_ns += operation_fill(&operation->fill);
        break;
    case OPERATION_EVENT:
        operation_event(operation);
        break;
    case OPERATION_FREE:
        if (is_sound) driver_memory_free(operation->address);
        break;
    case OPERATION_WRITE_VALUE:
    case OPERATION_WAIT_VALUE:
        if (is_sound) operation_value(stream, operation, end_ns);
        break;
    case OPERATION_HOST: /* driver_host.c */
    case OPERATION_EMPTY:
        break;
    }
    return true;
}
