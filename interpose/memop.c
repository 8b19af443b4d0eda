/* SPDX-License-Identifier: Apache-2.0
 * See memop.h. */
#include "interpose/memop.h"

#include "common/plan.h"
#include "interpose/chain.h"
#include "interpose/own_stream.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <stddef.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1 /* else uthash exits */
#include <uthash.h>

struct memop_key {
    uint64_t kind, bytes;
};
struct known { /* the one shape of its kind and size */
    struct memop_key key;
    uint32_t kernel, width;
    uint32_t grid[3], block[3], extent[3];
    UT_hash_handle hh;
};
static struct known *known_memops; /* not changed after memop_start */
bool memop_is_on;

static struct trace_parameter parameters[MEMOP_ARGUMENT_COUNT] = {
    {offsetof(struct memop_arguments, to), 8},        {offsetof(struct memop_arguments, from), 8},
    {offsetof(struct memop_arguments, extent[0]), 4}, {offsetof(struct memop_arguments, extent[1]), 4},
    {offsetof(struct memop_arguments, extent[2]), 4},
};
/* What the queue asks of a launch's kernel. */
static const struct track_kernel any_memop = {
    .is_described = true,
    .record = {.parameter_count = MEMOP_ARGUMENT_COUNT, .parameter_bytes = MEMOP_ARGUMENT_BYTES},
    .parameters = parameters,
};

/* The extents, where the step has them compared whole. */
static bool extents_of(const struct plan *plan, const struct plan_step *step, uint32_t extent[3])
{
    enum { AT = offsetof(struct memop_arguments, extent), SIZE = 3 * sizeof(uint32_t) };
    static const unsigned char whole[SIZE] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                              0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const unsigned char *mask = plan->masks + step->mask;
    if (step->arguments_size != MEMOP_ARGUMENT_BYTES || memcmp(mask + AT, whole, SIZE)) return false;
    memcpy(extent, mask + step->arguments_size + AT, SIZE);
    return true;
}

static bool add_step(const struct plan *plan, const struct plan_step *step)
{
    const struct plan_kernel *kernel = &plan->kernels[step->kernel];
    uint32_t extent[3];
    if (!kernel->memop || !extents_of(plan, step, extent)) return true;
    struct memop_key key = {kernel->memop, (uint64_t)extent[0] * extent[1] * extent[2] * kernel->memop_width};
    struct known *known;
    HASH_FIND(hh, known_memops, &key, sizeof key, known);
    if (known || !key.bytes) return true;
    known = calloc(1, sizeof *known);
    if (!known) return false;
    *known = (struct known){.key = key, .kernel = step->kernel, .width = kernel->memop_width};
    memcpy(known->grid, step->grid, sizeof known->grid);
    memcpy(known->block, step->block, sizeof known->block);
    memcpy(known->extent, extent, sizeof known->extent);
    HASH_ADD(hh, known_memops, key, sizeof key, known);
    memop_is_on = true;
    return true;
}

bool memop_start(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->header->steps.count; i++)
        if (!add_step(plan, &plan->steps[i])) return false;
    return true;
}

static bool is_plain(uint64_t address, uint64_t bytes)
{
    uint64_t start, size;
    return track_memory_plain(NULL, address, &start, &size) && bytes <= start + size - address;
}

static const struct known *find(const struct memop_call *call)
{
    struct memop_key key = {call->kind, call->bytes};
    struct known *known;
    HASH_FIND(hh, known_memops, &key, sizeof key, known);
    if (!known || !is_plain(call->to, call->bytes)) return NULL;
    if (call->to % known->width) return NULL;
    if (call->kind == MEMOP_SET) return memop_repeats(call->from, known->width) ? known : NULL;
    if (call->from % known->width || !is_plain(call->from, call->bytes)) return NULL;
    return memop_overlaps(call->to, call->from, call->bytes) ? NULL : known;
}

enum memop_outcome memop_take(const struct memop_call *call)
{
    const struct known *known = find(call);
    if (!known) return MEMOP_OTHER;
    struct memop_arguments arguments = {
        .to = call->to, .from = call->from, .extent = {known->extent[0], known->extent[1], known->extent[2]}};
    void *pointers[MEMOP_ARGUMENT_COUNT] = {&arguments.to, &arguments.from, &arguments.extent[0],
                                            &arguments.extent[1], &arguments.extent[2]};
    struct record_shape shape = {.stream = call->stream, .parameters = pointers};
    memcpy(shape.grid, known->grid, sizeof shape.grid);
    memcpy(shape.block, known->block, sizeof shape.block);
    return queue_memop(&shape, &any_memop, (int32_t)known->kernel);
}

/* By elements as wide as all allows: the pattern repeats after 4 bytes at most. */
static CUresult set(const struct memop_arguments *arguments, uint64_t bytes, CUstream stream)
{
    switch (memop_width(arguments->to, 0, bytes, 4)) {
    case 4:
        return REAL(cuMemsetD32Async)(arguments->to, (unsigned)arguments->from, bytes / 4, stream);
    case 2:
        return REAL(cuMemsetD16Async)(arguments->to, (unsigned short)arguments->from, bytes / 2, stream);
    default:
        return REAL(cuMemsetD8Async)(arguments->to, (unsigned char)arguments->from, bytes, stream);
    }
}

CUresult memop_issue(const struct held *held)
{
    struct memop_arguments arguments = {0};
    memcpy(&arguments, held->arguments, MEMOP_ARGUMENT_BYTES);
    uint64_t bytes =
        (uint64_t)arguments.extent[0] * arguments.extent[1] * arguments.extent[2] * held->memop_width;
    shim_count(COUNT_ISSUED);
    chain_cut();
    CUstream stream = own_stream_here(held->stream);
    if (held->memop == MEMOP_SET) return set(&arguments, bytes, stream);
    return REAL(cuMemcpyDtoDAsync_v2)(arguments.to, arguments.from, bytes, stream);
}
