/* SPDX-License-Identifier: Apache-2.0
 * See arrivals.h. */
#include "interpose/arrivals.h"

#include "common/plan.h"

#include <string.h>

static struct {
    CUstream streams[PLAN_ARRIVALS];
    bool is_gone[PLAN_ARRIVALS];
    _Atomic uint32_t count;
} arrivals;

bool arrivals_number(CUstream stream, uint32_t *number)
{
    if (stream == CU_STREAM_PER_THREAD) return false;
    if (stream == CU_STREAM_LEGACY) stream = NULL;
    for (*number = 0; *number < arrivals.count; ++*number)
        if (arrivals.streams[*number] == stream && !arrivals.is_gone[*number]) return true;
    if (arrivals.count == PLAN_ARRIVALS) return false;
    arrivals.streams[arrivals.count++] = stream;
    return true;
}

bool arrivals_has_any(void)
{
    return arrivals.count;
}

void arrivals_stream_gone(CUstream stream)
{
    for (uint32_t i = 0; i < arrivals.count; i++)
        if (stream && arrivals.streams[i] == stream) arrivals.is_gone[i] = true;
}

void arrivals_forget(void)
{
    memset(arrivals.is_gone, 0, sizeof arrivals.is_gone);
    arrivals.count = 0;
}
