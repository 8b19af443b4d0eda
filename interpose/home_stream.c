/* SPDX-License-Identifier: Apache-2.0
 * See home_stream.h. */
#include "interpose/home_stream.h"

#include "interpose/chain.h"
#include "interpose/queue_parts.h"
#include "interpose/shim.h"

enum {
    STREAMS_MOST = 32,
    USES_A_LOOK = 64, /* that find the device not clean, in the end */
    WAITS_FREE = 8,   /* of the host; beyond, one of so many deferred stores may bring one */
    USES_A_WAIT = 16
};

struct known {
    CUstream stream;
    CUevent behind; /* all that may wait there, where is_marked */
    bool is_dirty, is_marked;
    bool is_gone; /* the program has destroyed it */
};

atomic_bool home_is_on, home_is_unsettled;
static struct {
    CUstream stream;        /* of what is pending or unsettled */
    CUevent behind;         /* the last rematerialisation */
    uint32_t waits, stores; /* that the host has made for it, that were deferred */
    uint32_t uses;          /* that found the device not clean, since it was */
    struct known known[STREAMS_MOST];
    uint32_t count, dirty_count;
    bool is_lost;    /* not all is known */
    bool has_legacy; /* rematerialisations, since before the first stream */
} home;

static void set_dirty(struct known *known, bool is)
{
    home.dirty_count += is - known->is_dirty;
    known->is_dirty = is;
    known->is_marked = false;
}

void home_start(void)
{
    home_add_stream(NULL);
    home_add_stream(CU_STREAM_PER_THREAD);
    /* what there is of the one is before what comes to the other */
    if (REAL(cuStreamQuery)(NULL) != CUDA_SUCCESS) set_dirty(&home.known[0], true);
    home_is_on = true;
    shim_attention_set(ATTENTION_QUEUE);
}

void home_end(void)
{
    home_is_on = false;
}

void home_lose(void)
{
    home.is_lost = true;
}

static struct known *find(CUstream stream)
{
    for (uint32_t i = 0; i < home.count; i++)
        if (!home.known[i].is_gone && queue_same_stream(home.known[i].stream, stream)) return &home.known[i];
    return NULL;
}

void home_add_stream(CUstream stream)
{
    uint32_t i = 0;
    while (i < home.count && (!home.known[i].is_gone || home.known[i].is_dirty)) i++;
    if (i == STREAMS_MOST) {
        home_lose();
        return;
    }
    if (i == home.count) home.count++;
    home.known[i].stream = stream;
    home.known[i].is_gone = false;
}

static bool make_event(CUevent *event)
{
    return *event || REAL(cuEventCreate)(event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
}

static void mark(struct known *known)
{
    chain_submit();
    known->is_marked =
        make_event(&known->behind) && REAL(cuEventRecord)(known->behind, known->stream) == CUDA_SUCCESS;
}

void home_stream_gone(CUstream stream)
{
    struct known *known = find(stream);
    home_settle();
    if (!known) return;
    if (known->is_dirty && !known->is_marked) mark(known);
    if (known->is_dirty && !known->is_marked) home_lose();
    known->is_gone = true;
}

/* Asks the driver now and then, in the thread whose own default stream is among them. */
static bool is_clean(void)
{
    if (!home.dirty_count) return true;
    if (!own_stream_is_here) return false;
    uint32_t uses = home.uses++;
    if (uses & (uses - 1) && uses % USES_A_LOOK) return false;
    for (uint32_t i = 0; i < home.count; i++) {
        struct known *known = &home.known[i];
        if (!known->is_dirty) continue;
        if (!known->is_marked) mark(known);
        if (known->is_marked && REAL(cuEventQuery)(known->behind) == CUDA_SUCCESS) set_dirty(known, false);
    }
    return !home.dirty_count;
}

bool home_fits(CUstream stream, bool is_pending)
{
    if (!home_on()) return !queue.has_streams && queue_same_stream(stream, NULL);
    if (home.is_lost || stream == CU_STREAM_PER_THREAD || !find(stream) || !make_event(&home.behind))
        return false;
    if ((is_pending || home_unsettled()) && !queue_same_stream(stream, home.stream)) return false;
    if (home.waits > WAITS_FREE && home.waits * USES_A_WAIT > home.stores) return false;
    return is_clean();
}

void home_take(CUstream stream)
{
    home.stream = stream;
    home.stores++;
    home.uses = 0;
}

static void mark_behind(void)
{
    chain_submit();
    if (make_event(&home.behind) && REAL(cuEventRecord)(home.behind, home.stream) == CUDA_SUCCESS)
        home_is_unsettled = true;
    else
        shim_latch("what comes behind an array that was made again cannot be ordered");
}

void home_materialised(void)
{
    if (home_on())
        mark_behind();
    else
        home.has_legacy = true;
}

void home_look_back(void)
{
    home.stream = NULL;
    if (home.has_legacy) mark_behind();
}

bool home_looks_settled(void)
{
    if (home_unsettled() && REAL(cuEventQuery)(home.behind) == CUDA_SUCCESS) home_is_unsettled = false;
    return !home_unsettled();
}

void home_settle(void)
{
    if (home_looks_settled()) return;
    home.waits++;
    CUresult result = REAL(cuEventSynchronize)(home.behind);
    shim_remember_error(result);
    if (result == CUDA_SUCCESS) home_is_unsettled = false;
}

void home_settle_on_device(CUstream stream)
{
    if (!home_looks_settled()) shim_remember_error(REAL(cuStreamWaitEvent)(stream, home.behind, 0));
}

void home_meet(CUstream stream)
{
    if (home_on() && home_unsettled() && !queue_same_stream(stream, home.stream)) home_settle();
}

void home_meet_unknown(CUstream stream)
{
    struct known *known = stream == HOME_ANY ? NULL : find(stream);
    if (known) {
        set_dirty(known, true);
        return;
    }
    if (stream != HOME_ANY) home_lose();
    for (uint32_t i = 0; i < home.count; i++)
        if (!home.known[i].is_gone) set_dirty(&home.known[i], true);
}

void home_waited(CUstream stream, bool for_all)
{
    if (for_all || queue_same_stream(stream, home.stream)) home_is_unsettled = false;
    for (uint32_t i = 0; i < home.count; i++)
        if (for_all || (!home.known[i].is_gone && queue_same_stream(stream, home.known[i].stream)))
            set_dirty(&home.known[i], false);
}

/* Its events are gone with it. */
void home_forget(void)
{
    home_is_unsettled = false;
    home.behind = NULL;
    for (uint32_t i = 0; i < STREAMS_MOST; i++) home.known[i].behind = NULL;
    home_lose();
}
