/* SPDX-License-Identifier: Apache-2.0
 * Sets, and copies within the device, that the plan knows as launches (common/memop.h).
 *
 * A call is one of these where a step of the plan has its kind and its bytes, all bytes lie in one plain allocation at
 * each end, these do not overlap, elements are aligned, and a set has one value for all of them. Then the queue takes
 * it as any launch: it is held, or is the caller's to make. Whatever else it is (rows with gaps, other memory, a capture) is a copy or a set as before. One that was held, and is issued by itself, is made by
 * the driver's call for it, not by a kernel.
 *
 * Who could tell? A set or a copy of plain device memory returns before it is done, as a launch does (CUDA Runtime
 * API, "API synchronization behavior": copies from device to device, sets of device memory); so also those whose name
 * does not say so. Its errors are of its arguments, which have been looked at. */
#ifndef KFUSE_INTERPOSE_MEMOP_H
#define KFUSE_INTERPOSE_MEMOP_H

#include "common/memop.h"
#include "interpose/held.h"

struct plan;

struct memop_call {
    enum memop_kind kind;
    uint64_t to, from, bytes; /* from: as in memop_arguments */
    CUstream stream;
};
enum memop_outcome {
    MEMOP_OTHER, /* not the plan's, or nothing it goes on with: a copy or a set as any */
    MEMOP_READY, /* the caller's to make, and all before it that must be is with the driver */
    MEMOP_TAKEN  /* held, or issued */
};

/* Called once, before others. False when memory is out; the plan must stay. */
bool memop_start(const struct plan *plan);
extern bool memop_is_on; /* the plan has any */
enum memop_outcome memop_take(const struct memop_call *call);
/* Makes one that was held. */
CUresult memop_issue(const struct held *held);

#endif
