/* SPDX-License-Identifier: Apache-2.0
 * See own_stream.h. */
#include "interpose/own_stream.h"

#include "common/log.h"
#include "common/setting.h"
#include "interpose/chain.h"
#include "interpose/queue_parts.h"
#include "interpose/shim.h"

atomic_bool own_stream_is_on, own_stream_is_lent;
__thread bool own_stream_is_here;

void own_stream_start(void)
{
    if (!setting_is_on("KFUSE_OWN_STREAM")) return;
    own_stream_is_on = true;
    shim_attention_set(ATTENTION_QUEUE); /* a second thread's first call must be seen */
}

void own_stream_end(const char *reason)
{
    if (atomic_exchange(&own_stream_is_on, false))
        log_write(LOG_INFO, "queue", "nothing is held in a thread's own default stream any more: %s", reason);
}

CUstream own_stream_lend(void)
{
    atomic_store(&own_stream_is_lent, true);
    shim_attention_set(ATTENTION_QUEUE);
    return CU_STREAM_LEGACY;
}

static bool wait_for_legacy(void)
{
    CUevent event;
    if (REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
    bool is_done = REAL(cuEventRecord)(event, CU_STREAM_LEGACY) == CUDA_SUCCESS &&
                   REAL(cuStreamWaitEvent)(CU_STREAM_PER_THREAD, event, 0) == CUDA_SUCCESS;
    REAL(cuEventDestroy_v2)(event);
    return is_done;
}

/* While a stream is being captured the legacy one may not be used; none begins behind what is lent (hook_stream.c). */
void own_stream_join(void)
{
    if (!own_stream_has_lent() || !own_stream_is_here || track_is_capturing()) return;
    bool is_pushed = queue_push_context();
    chain_submit();
    if (!wait_for_legacy()) shim_remember_error(REAL(cuCtxSynchronize)());
    atomic_store(&own_stream_is_lent, false);
    queue_pop_context(is_pushed);
}
