/* SPDX-License-Identifier: Apache-2.0
 * See chain_backlog.h. */
#include "interpose/chain_backlog.h"

#include "interpose/measure.h"
#include "interpose/relaxed.h"
#include "interpose/shim.h"

enum {
    SUBMITS = 128,       /* from one look to the next */
    FAR_NS = 30000,      /* what the device has not done by then it is behind with */
    SLOWER_PERCENT = 150 /* of what a launch costs the host, that the device takes for one */
};

static struct backlog {
    CUevent event;
    bool is_made, is_refused;
    bool is_asked; /* the event lies in a stream */
    bool is_deep;
    uint32_t left;                  /* submits until the next look */
    int64_t recorded_ns, before_ns; /* this event, and the one before */
    uint64_t recorded, before;      /* launches by then */
} backlog = {.left = SUBMITS};

bool chain_backlog_is_deep(void)
{
    return backlog.is_deep;
}

static bool make_event(void)
{
    if (backlog.is_made || backlog.is_refused) return backlog.is_made;
    CUstreamCaptureMode mode = relaxed_begin();
    backlog.is_made = REAL(cuEventCreate)(&backlog.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
    relaxed_end(mode);
    backlog.is_refused = !backlog.is_made;
    return backlog.is_made;
}

static void record(CUstream stream, uint64_t launches)
{
    if (!measure_may_mark(stream) || !make_event()) return;
    if (REAL(cuEventRecord)(backlog.event, stream) != CUDA_SUCCESS) return;
    backlog.before_ns = backlog.recorded_ns;
    backlog.before = backlog.recorded;
    backlog.recorded_ns = shim_now_ns();
    backlog.recorded = launches;
    backlog.is_asked = true;
}

/* Launches have taken longer than the host would by itself. */
static bool is_paced_by_device(int64_t direct_ns)
{
    int64_t took_ns = backlog.recorded_ns - backlog.before_ns;
    uint64_t launches = backlog.recorded - backlog.before;
    return backlog.before_ns && launches && took_ns / (int64_t)launches * 100 > direct_ns * SLOWER_PERCENT;
}

static void ask(int64_t direct_ns)
{
    if (shim_now_ns() - backlog.recorded_ns < FAR_NS) return;
    CUstreamCaptureMode mode = relaxed_begin();
    CUresult result = REAL(cuEventQuery)(backlog.event);
    relaxed_end(mode);
    backlog.is_asked = false;
    backlog.is_deep = result == CUDA_ERROR_NOT_READY && is_paced_by_device(direct_ns);
    backlog.left = SUBMITS;
}

void chain_backlog_look(CUstream stream, uint64_t launches, int64_t direct_ns)
{
    if (backlog.is_asked)
        ask(direct_ns);
    else if (!backlog.left || !--backlog.left) /* where it could not be recorded, at the next */
        record(stream, launches);
}

void chain_backlog_forget(bool is_context_gone)
{
    if (backlog.is_made && !is_context_gone) REAL(cuEventDestroy_v2)(backlog.event);
    backlog = (struct backlog){.left = SUBMITS};
}
