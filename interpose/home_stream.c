/* SPDX-License-Identifier: Apache-2.0
 * See home_stream.h. */
#include "interpose/home_stream.h"

#include "interpose/chain.h"
#include "interpose/queue_parts.h"
#include "interpose/shim.h"

enum { USES_A_LOOK = 64 /* that find the stream not clean, in the end */ };

atomic_bool home_is_on, home_is_unsettled;
static struct {
    CUstream stream; /* of what is pending or unsettled */
    CUevent behind;  /* the last rematerialisation */
    bool is_all_clean, is_one_clean;
    CUstream clean; /* where is_one_clean */
    uint32_t uses;  /* that found theirs not clean, since it was */
} home;

static inline bool is_legacy(CUstream stream)
{
    return queue_same_stream(stream, NULL);
}

void home_start(void)
{
    home.is_all_clean = home.is_one_clean = false; /* what came before */
    home_is_on = true;
    shim_attention_set(ATTENTION_QUEUE);
}

void home_end(void)
{
    home_is_on = false;
}

static void set_clean(CUstream stream)
{
    home.is_one_clean = true;
    home.clean = stream;
    home.uses = 0;
}

static bool is_empty(CUstream stream)
{
    return REAL(cuStreamQuery)(stream) == CUDA_SUCCESS;
}

/* Asks the driver now and then. */
static bool is_clean(CUstream stream)
{
    if (home.is_all_clean || (home.is_one_clean && home.clean == stream)) return true;
    uint32_t uses = home.uses++;
    if (is_legacy(stream) || (uses & (uses - 1) && uses % USES_A_LOOK)) return false;
    chain_submit();
    if (!is_empty(stream) || !is_empty(NULL)) return false;
    set_clean(stream);
    return true;
}

bool home_fits(CUstream stream, bool is_pending)
{
    if (!home_on()) return is_legacy(stream);
    if (stream == CU_STREAM_PER_THREAD) return false;
    if ((is_pending || home_unsettled()) && !queue_same_stream(stream, home.stream)) return false;
    if (!home.behind && REAL(cuEventCreate)(&home.behind, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return false;
    return is_clean(stream);
}

void home_take(CUstream stream)
{
    home.stream = stream;
}

void home_materialised(void)
{
    if (!home_on()) return;
    chain_submit();
    shim_remember_error(REAL(cuEventRecord)(home.behind, home.stream));
    home_is_unsettled = true;
}

void home_settle(void)
{
    if (!home_unsettled()) return;
    shim_remember_error(REAL(cuEventSynchronize)(home.behind));
    home_is_unsettled = false;
}

void home_meet(CUstream stream, bool is_done)
{
    if (!home_on()) return;
    if (home_unsettled() && !queue_same_stream(stream, home.stream)) home_settle();
    if ((is_legacy(stream) || stream == HOME_ANY) && !is_done) home.is_one_clean = false;
}

void home_meet_unknown(void)
{
    home.is_all_clean = home.is_one_clean = false;
}

bool home_may_wait(CUstream stream)
{
    return home.is_one_clean && !home.is_all_clean && queue_same_stream(stream, home.clean);
}

void home_waited(CUstream stream, bool for_all)
{
    if (for_all || queue_same_stream(stream, home.stream)) home_is_unsettled = false;
    if (for_all) {
        home.is_all_clean = true;
    } else if (!home.is_all_clean && !is_legacy(stream) && is_empty(NULL)) {
        set_clean(stream);
    }
}

void home_forget(void)
{
    home_is_unsettled = false;
    home.behind = NULL;
    home_meet_unknown();
}
