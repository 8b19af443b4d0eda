/* SPDX-License-Identifier: Apache-2.0
 * The queue, what its groups need, and streams that come and go; see queue.h. */
#include "interpose/queue_parts.h"

#include "interpose/arrivals.h"
#include "interpose/chain.h"
#include "interpose/issue.h"
#include "interpose/measure.h"
#include "interpose/screen.h"
#include "interpose/shadow.h"
#include "interpose/starts.h"
#include "interpose/verify.h"

#include <stdlib.h>

bool queue_reserve(const struct plan *plan)
{
    uint32_t steps = 0, groups = plan->header->groups.count;
    for (uint32_t i = 0; i < groups; i++)
        if (plan->groups[i].step_count > steps) steps = plan->groups[i].step_count;
    for (uint32_t i = 0; i < plan->header->steps.count; i++)
        if (plan_words_size(plan, &plan->steps[i]) > queue.buffer_size)
            queue.buffer_size = plan_words_size(plan, &plan->steps[i]);
    for (uint32_t i = 0; i < plan->header->variants.count; i++)
        if (plan->variants[i].parameter_bytes > queue.parameters_size)
            queue.parameters_size = plan->variants[i].parameter_bytes;
    queue.capacity = steps + 2;
    queue.held = calloc(queue.capacity, sizeof *queue.held);
    queue.arguments = calloc(queue.capacity, sizeof *queue.arguments);
    queue.sizes = calloc(queue.capacity, sizeof *queue.sizes);
    queue.groups = calloc((size_t)groups + 1, sizeof *queue.groups);
    queue.parameters = malloc(queue.parameters_size + 1);
    unsigned char *buffers = malloc((size_t)queue.capacity * (queue.buffer_size + 8));
    if (!queue.held || !queue.arguments || !queue.sizes || !queue.groups || !queue.parameters || !buffers)
        return false;
    for (uint32_t i = 0; i < queue.capacity; i++)
        queue.held[i].arguments = buffers + (size_t)i * ((queue.buffer_size + 7) & ~7u);
    return true;
}

bool queue_enable(uint32_t group, CUcontext context, const CUfunction *code)
{
    uint32_t variants = queue.plan->groups[group].variant_count;
    CUfunction *copy = calloc(variants + 1, sizeof *copy);
    if (!copy) return false;
    memcpy(copy, code, variants * sizeof *copy);
    queue_enter();
    queue_drain_and_materialise(false); /* states count paths of groups that were on */
    queue_publish();
    queue.context = context;
    queue.groups[group].code = copy;
    queue.groups[group].passes_over = false;
    for (uint32_t i = 0; i < queue.plan->groups[group].step_count; i++)
        if (queue.plan->steps[queue.plan->groups[group].first_step + i].role != PLAN_MEMBER)
            queue.groups[group].passes_over = true;
    queue.groups[group].is_on = true;
    deferred_look_around();
    if (deferred_is_forbidden()) queue_settle();
    match_enable(queue.match, group, true);
    if (!queue_is_bystander(group))
        starts_switch(group, true); /* one matters only where a store is pending */
    atomic_fetch_add(&queue.groups_on, 1);
    queue_leave();
    return true;
}

uint64_t queue_group_uses(uint32_t group)
{
    return queue.groups ? atomic_load(&queue.groups[group].uses) : 0;
}

static bool renames_anything(const struct plan_group *group)
{
    for (uint32_t i = 0; i < group->variant_count; i++)
        if (queue.plan->variants[group->first_variant + i].rename_count) return true;
    return false;
}

static void give_back_buffers(void)
{
    for (uint32_t i = 0; i < queue.plan->header->groups.count; i++) {
        if (!queue.groups[i].is_on || !renames_anything(&queue.plan->groups[i])) continue;
        issue_disable(i, "the program needs the memory of its second buffers");
        verify_forget(i);
    }
    bool is_pushed = queue_push_context();
    shadow_free();
    queue_pop_context(is_pushed);
}

bool queue_give_back(void)
{
    if (queue_has_lock() || (!shadow_bytes() && !chain_has_graphs()) || track_is_capturing()) return false;
    queue_enter();
    queue_drain_and_materialise(false);
    chain_submit();
    chain_forget();
    if (shadow_bytes()) give_back_buffers();
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
    if (queue_has_lock() || (!shadow_bytes() && !chain_on() && !home_on() && !arrivals_has_any())) return;
    queue_enter();
    if (home_on()) queue_drain_and_materialise(true);
    chain_submit();
    if (home_on()) home_stream_gone(stream);
    shadow_stream_gone(stream);
    arrivals_stream_gone(stream);
    chain_forget_stream(stream);
    queue_publish();
    queue_leave();
}

void queue_context_gone(void)
{
    bool has_any = shadow_bytes() || deferred_is_pending() || measure_has_events() || screen_has_events() ||
                   home_on() || arrivals_has_any();
    if (queue_has_lock() || !has_any) return;
    queue_enter();
    measure_context_gone();
    screen_forget();
    rename_forget();
    shadow_forget();
    arrivals_forget();
    deferred_forget();
    home_forget();
    queue_publish();
    queue_leave();
}
