/* SPDX-License-Identifier: Apache-2.0
 * The queue and the library's own device memory; see queue.h. */
#include "interpose/queue_parts.h"

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

bool queue_give_back(void)
{
    if (queue_has_lock() || !shadow_bytes() || track_is_capturing()) return false;
    queue_enter();
    queue_drain_and_materialise(false);
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
    if (queue_has_lock() || !shadow_bytes()) return;
    queue_enter();
    shadow_stream_gone(stream);
    queue_leave();
}

void queue_context_gone(void)
{
    if (queue_has_lock() || (!shadow_bytes() && !deferred_is_pending() && !measure_has_events())) return;
    queue_enter();
    measure_context_gone();
    rename_forget();
    shadow_forget();
    deferred_forget();
    queue_publish();
    queue_leave();
}
