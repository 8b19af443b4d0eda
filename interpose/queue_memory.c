/* SPDX-License-Identifier: Apache-2.0
 * The queue, and what comes and goes beside it: the library's own device memory, streams, modules, the context; see queue.h. */
#include "interpose/queue_parts.h"

#include "interpose/chain.h"
#include "interpose/issue.h"
#include "interpose/measure.h"
#include "interpose/shadow.h"
#include "interpose/verify.h"

static bool renames_anything(const struct plan_group *group)
{
    for (uint32_t i = 0; i < group->variant_count; i++)
        if (queue.plan->variants[group->first_variant + i].rename_count) return true;
    return false;
}

static void forget_graphs(void)
{
    bool is_pushed = queue_push_context();
    chain_forget(false);
    queue_pop_context(is_pushed);
}

bool queue_give_back(void)
{
    if (queue_has_lock() || (!shadow_bytes() && !chain_has_graphs()) || track_is_capturing()) return false;
    queue_enter();
    queue_drain_and_materialise(false);
    chain_submit();
    forget_graphs();
    for (uint32_t i = 0; i < queue.plan->header->groups.count; i++) {
        if (!queue.groups[i].is_on || !renames_anything(&queue.plan->groups[i])) continue;
        issue_disable(i, "the program needs the memory of its second buffers");
        verify_forget(i);
    }
    bool is_pushed = queue_push_context();
    shadow_free();
    queue_pop_context(is_pushed);
    queue_publish();
    queue_leave();
    return true;
}

uint64_t queue_own_bytes(void)
{
    return shadow_bytes() && track_current_context() == queue.context ? shadow_bytes() : 0;
}

void queue_stream_gone(CUstream stream)
{
    if (queue_has_lock() || (!shadow_bytes() && !chain_on())) return;
    queue_enter();
    shadow_stream_gone(stream);
    forget_graphs();
    queue_leave();
}

void queue_module_gone(void)
{
    if (queue_has_lock() || !chain_on()) return;
    queue_enter();
    chain_submit();
    forget_graphs();
    queue_publish();
    queue_leave();
}

void queue_context_gone(void)
{
    bool has_any = shadow_bytes() || deferred_is_pending() || measure_has_events() || chain_on();
    if (queue_has_lock() || !has_any) return;
    queue_enter();
    chain_forget(true);
    measure_context_gone();
    rename_forget();
    shadow_forget();
    deferred_forget();
    queue_publish();
    queue_leave();
}

/* An event that the program has recorded before may order the stream behind a use, not behind its
 * rematerialisation. */
void queue_new_stream(CUstream stream)
{
    CUevent event;
    if (queue_has_lock() || REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
    if (REAL(cuEventRecord)(event, NULL) == CUDA_SUCCESS) REAL(cuStreamWaitEvent)(stream, event, 0);
    REAL(cuEventDestroy_v2)(event);
}
