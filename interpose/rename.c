/* SPDX-License-Identifier: Apache-2.0
 * Renamed arrays; see rename.h. */
#include "interpose/rename.h"

#include "interpose/chain.h"
#include "interpose/own_stream.h"
#include "interpose/shadow.h"
#include "interpose/shim.h"
#include "interpose/track.h"

#include <string.h>

struct range {
    CUdeviceptr address, shadow; /* shadow: where it begins in its second buffer */
    uint64_t bytes;
    const struct plan_rename *rename;
};

static struct {
    enum { NONE, AWAY, HERE } state;
    struct range ranges[PLAN_RENAMES_LIMIT]; /* with their buffers */
    bool is_partial;                         /* one of them */
    CUstream stream;
    const struct plan_variant *variant; /* of the last use */
} renames;

uint32_t rename_ranges;

CUstream rename_stream(void)
{
    return renames.stream;
}

static CUstream stream_here(void)
{
    return own_stream_here(renames.stream);
}

/* --- ranges --- */

static void resolve(const struct rename_use *use, struct range ranges[PLAN_RENAMES_LIMIT])
{
    for (uint32_t i = 0; i < use->variant->rename_count; i++) {
        const struct plan_rename *rename = &use->plan->renames[use->variant->first_rename + i];
        uint64_t pointer;
        memcpy(&pointer, use->arguments[rename->step] + rename->offset, sizeof pointer);
        ranges[i] = (struct range){
            .address = pointer + (uint64_t)rename->from, .bytes = rename->bytes, .rename = rename};
    }
}

static bool is_plain(const struct range *range)
{
    uint64_t start, size;
    return track_memory_plain(NULL, range->address, &start, &size) &&
           range->bytes <= size - (range->address - start);
}

static bool are_apart(const struct range *a, const struct range *b)
{
    return a->address + a->bytes <= b->address || b->address + b->bytes <= a->address;
}

static bool is_partial(const struct range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ranges[i].rename->flags & PLAN_RENAME_PARTIAL) return true;
    return false;
}

bool rename_fits(const struct rename_use *use)
{
    struct range ranges[PLAN_RENAMES_LIMIT];
    resolve(use, ranges);
    for (uint32_t i = 0; i < use->variant->rename_count; i++) {
        if (!is_plain(&ranges[i])) return false;
        for (uint32_t j = 0; j < i; j++)
            if (!are_apart(&ranges[i], &ranges[j])) return false;
    }
    return true;
}

bool rename_continues(const struct rename_use *use)
{
    struct range ranges[PLAN_RENAMES_LIMIT];
    if (renames.state == NONE || use->stream != renames.stream || use->variant->rename_count != rename_ranges)
        return false;
    resolve(use, ranges);
    for (uint32_t i = 0; i < rename_ranges; i++)
        if (ranges[i].address != renames.ranges[i].address || ranges[i].bytes != renames.ranges[i].bytes)
            return false;
    return use->variant == renames.variant || (!renames.is_partial && !is_partial(ranges, rename_ranges));
}

/* --- a use --- */

static void put_buffers(void)
{
    for (uint32_t i = 0; i < rename_ranges; i++) shadow_put(renames.ranges[i].shadow);
    rename_ranges = 0;
    renames.state = NONE;
}

/* Bytes that a use does not write are read in both buffers. */
static bool make_equal(const struct range *range)
{
    if (!(range->rename->flags & PLAN_RENAME_PARTIAL)) return true;
    chain_cut();
    return REAL(cuMemcpyDtoDAsync_v2)(range->shadow, range->address, range->bytes, stream_here()) ==
           CUDA_SUCCESS;
}

static bool start(const struct rename_use *use)
{
    uint32_t count = use->variant->rename_count;
    resolve(use, renames.ranges);
    renames.stream = use->stream;
    renames.is_partial = is_partial(renames.ranges, count);
    while (rename_ranges < count) {
        struct range *range = &renames.ranges[rename_ranges];
        range->shadow = shadow_take(range->address, range->bytes, use->stream);
        if (!range->shadow) break;
        rename_ranges++;
        if (!make_equal(range)) break;
        if (rename_ranges == count) return true;
    }
    put_buffers();
    return false;
}

bool rename_begin(const struct rename_use *use, unsigned char *parameters)
{
    if (!rename_continues(use) && !start(use)) return false;
    for (uint32_t i = 0; i < rename_ranges; i++) {
        const struct range *range = &renames.ranges[i];
        const uint64_t here = 0, away = range->shadow - range->address;
        unsigned char *distances = parameters + range->rename->destination_offset;
        bool is_away = renames.state == AWAY;
        memcpy(distances, is_away ? &away : &here, sizeof away);
        memcpy(distances + 8, is_away ? &here : &away, sizeof away);
    }
    return true;
}

void rename_done(const struct rename_use *use)
{
    shim_count(COUNT_RENAMED);
    renames.variant = use->variant;
    renames.state = renames.state == AWAY ? HERE : AWAY;
    if (renames.state == HERE && !renames.is_partial) put_buffers();
}

/* --- the end --- */

static CUresult copy_rows(const struct plan_box *box, CUdeviceptr to, CUdeviceptr from)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t layer = 0; layer < box->layers; layer++)
        for (uint32_t row = 0; row < box->rows && result == CUDA_SUCCESS; row++) {
            uint64_t at = ((uint64_t)layer * box->layer_rows + row) * box->row_pitch;
            result = REAL(cuMemcpyDtoDAsync_v2)(to + at, from + at, box->width, stream_here());
        }
    return result;
}

/* Drivers may refuse a pitch that is not their own. */
static CUresult copy_box(const struct plan_box *box, CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from,
                                .srcPitch = box->row_pitch,
                                .srcHeight = box->layers > 1 ? box->layer_rows : box->rows,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = to,
                                .dstPitch = box->row_pitch,
                                .dstHeight = box->layers > 1 ? box->layer_rows : box->rows,
                                .WidthInBytes = box->width,
                                .Height = box->rows,
                                .Depth = box->layers};
    bool is_one = box->rows == 1 && box->layers == 1;
    if (!is_one && REAL(cuMemcpy3DAsync_v2)(&copy, stream_here()) == CUDA_SUCCESS) return CUDA_SUCCESS;
    return copy_rows(box, to, from);
}

static void copy_back(const struct range *range)
{
    const struct plan_box *box = &range->rename->written;
    CUresult result;
    chain_cut();
    if (range->rename->flags & PLAN_RENAME_PARTIAL)
        result = copy_box(box, range->address + box->from, range->shadow + box->from);
    else
        result = REAL(cuMemcpyDtoDAsync_v2)(range->address, range->shadow, range->bytes, stream_here());
    shim_count(COUNT_RESTORES);
    shim_remember_error(result);
    if (result != CUDA_SUCCESS) shim_latch("a renamed array could not be copied back");
}

unsigned rename_end(void)
{
    unsigned copies = renames.state == AWAY ? rename_ranges : 0;
    for (uint32_t i = 0; i < copies; i++) copy_back(&renames.ranges[i]);
    put_buffers();
    return copies;
}

void rename_forget(void)
{
    rename_ranges = 0;
    renames.state = NONE;
}
