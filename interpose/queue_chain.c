/* SPDX-License-Identifier: Apache-2.0
 * The queue and chains; see queue.h and chain.h. */
#include "interpose/queue_parts.h"

#include "interpose/chain.h"
#include "interpose/shim.h"

#include <string.h>

bool queue_may_chain(const struct record_shape *shape, const struct track_kernel *kernel)
{
    if (queue_has_threads() || (shape->parameters && shape->extra))
        return false; /* the latter the driver refuses */
    if (queue_bars(shape->stream)) return false;
    return chain_on() && kernel && !(shape->flags & ~TRACE_LAUNCH_PER_THREAD) && !shim_is_latched() &&
           !track_is_capturing() && kernel->record.parameter_bytes <= CHAIN_ARGUMENTS &&
           shape->dynamic_shared + (uint64_t)kernel->record.static_shared <= QUEUE_PLAIN_SHARED;
}

static struct chain_launch chain_form(const struct record_shape *shape)
{
    struct chain_launch launch = {
        .function = shape->function, .shared = shape->dynamic_shared, .stream = shape->stream};
    memcpy(launch.grid, shape->grid, sizeof launch.grid);
    memcpy(launch.block, shape->block, sizeof launch.block);
    return launch;
}

bool queue_take_in_chain(const struct record_shape *shape, const struct track_kernel *kernel)
{
    unsigned char arguments[CHAIN_ARGUMENTS];
    struct chain_launch launch = chain_form(shape);
    long size = track_kernel_arguments(kernel, shape->parameters, shape->extra, arguments, sizeof arguments);
    if (size < 0) return false;
    launch.arguments = arguments;
    launch.size = (size_t)size;
    return chain_take(&launch);
}

void queue_note_launch(const struct record_shape *shape, int64_t took_ns)
{
    const struct chain_launch launch = chain_form(shape);
    struct track_kernel *kernel = track_kernel_find(shape->function);
    if (queue_has_lock() || queue_has_threads() || queue_bars(shape->stream) || !kernel ||
        !track_kernel_describe(kernel))
        return;
    queue_enter();
    chain_note(&launch, took_ns);
    queue_leave();
}

void queue_forget_chains(void)
{
    if (queue_has_lock() || !chain_on() || shim_is_latched())
        return; /* no graph is launched any more, as at exit */
    queue_enter();
    chain_submit();
    chain_forget();
    queue_publish();
    queue_leave();
}

void queue_end_chains(const char *reason)
{
    if (queue_has_lock() || !chain_on()) return;
    queue_enter();
    chain_submit();
    chain_forget();
    chain_end(reason);
    queue_publish();
    queue_leave();
}

void queue_chains_end(CUcontext context, CUdevice device)
{
    if (queue_has_lock() || !chain_on()) return;
    queue_enter();
    context ? chain_context_goes(context) : chain_device_gone(device);
    queue_publish();
    queue_leave();
}
