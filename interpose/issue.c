/* SPDX-License-Identifier: Apache-2.0
 * How launches that were held go to the driver; see issue.h. */
#include "interpose/issue.h"

#include "common/log.h"
#include "interpose/arrivals.h"
#include "interpose/chain.h"
#include "interpose/home_stream.h"
#include "interpose/measure.h"
#include "interpose/queue_parts.h"
#include "interpose/screen.h"
#include "interpose/shim.h"
#include "interpose/starts.h"
#include "interpose/verify.h"

#include <stdio.h>
#include <string.h>

enum { USES_A_LOOK = 256 };

/* A deferred store may need what is in the second buffer, which others get, or what the array had before it is copied back. */
static void end_range(uint32_t range)
{
    const struct rename_place place = rename_place(range);
    const struct deferred_touch buffer = {.address = place.shadow, .bytes = place.bytes, .is_written = true},
                                array = {.address = place.address, .bytes = place.bytes, .is_written = true};
    deferred_resolve_touch(&buffer, true);
    if (place.is_away) deferred_resolve_touch(&array, true);
    queue_account(-(int32_t)rename_end_range(range));
}

void issue_restore_now(void)
{
    bool is_pushed = queue_push_context();
    while (rename_ranges) end_range(rename_ranges - 1);
    queue_pop_context(is_pushed);
}

/* What it touches is not known. */
void issue_original(const struct held *held)
{
    issue_restore();
    deferred_materialise_all();
    home_meet(held->stream);
    held_launch(held);
}

/* Of the launches whose pattern is complete; the first error. */
static CUresult issue_role(enum plan_step_role role)
{
    const struct plan_group *group = &queue.plan->groups[queue.state.group];
    CUresult first = CUDA_SUCCESS;
    for (uint32_t i = 0; i < group->step_count; i++) {
        if (queue.plan->steps[group->first_step + i].role != role) continue;
        CUresult result = held_launch(&queue.held[i]);
        if (first == CUDA_SUCCESS) first = result;
    }
    return first;
}

static const struct plan_variant *matched_variant(void)
{
    return &queue.plan->variants[queue.plan->groups[queue.state.group].first_variant + queue.state.variant];
}

/* False: it needs a counter, and the stream has none (arrivals.h). */
static bool pack_parameters(void)
{
    const struct plan_variant *variant = matched_variant();
    uint32_t number = 0;
    if (variant->arrivals_end && !arrivals_number(queue.held[0].stream, &number)) return false;
    memset(queue.parameters, 0, variant->parameter_bytes);
    for (uint32_t i = 0; i < variant->parameter_count; i++) {
        const struct plan_parameter *piece = &queue.plan->parameters[variant->first_parameter + i];
        track_copy_argument(queue.parameters + piece->destination_offset,
                            queue.held[piece->step].arguments + piece->source_offset, piece->size);
    }
    if (variant->arrivals_end)
        memcpy(queue.parameters + variant->arrivals_end - sizeof number, &number, sizeof number);
    return true;
}

static CUresult issue_members(void)
{
    issue_restore();
    return issue_role(PLAN_MEMBER);
}

static CUresult issue_fused(void)
{
    const struct plan_variant *variant = matched_variant();
    CUfunction code = queue.groups[queue.state.group].code[queue.state.variant];
    CUstream stream = queue.held[0].stream;
    bool is_looked_at = screen_is_on() && screen_begin((uint32_t)queue.state.group, stream);
    CUresult result = held_launch_packed(code, variant->grid, variant->block, variant->dynamic_shared, stream,
                                         queue.parameters, variant->parameter_bytes);
    if (is_looked_at) screen_end(stream);
    return result;
}

/* Of the launches whose pattern is complete. */
static struct rename_use matched_use(void)
{
    CUstream stream = queue.held[0].stream;
    uint32_t group = (uint32_t)queue.state.group;
    return (struct rename_use){.plan = queue.plan,
                               .group = group,
                               .variant = queue_is_bystander(group) ? NULL : matched_variant(),
                               .held = queue.held,
                               .stream = queue_same_stream(stream, NULL) ? NULL : stream,
                               .is_alone = queue_is_alone()};
}

/* From here on the launches can go to the driver as far as renamed ranges go. */
static void meet_ranges(bool is_behind)
{
    if (!rename_is_on()) return;
    struct rename_use use = matched_use();
    use.is_behind = is_behind;
    bool is_pushed = queue_push_context();
    for (uint32_t range; (range = rename_in_the_way(&use)) != RENAME_NONE;) end_range(range);
    queue_pop_context(is_pushed);
    rename_move(&use);
}

static bool is_fit(void)
{
    if (!matched_variant()->rename_count) return true;
    const struct rename_use use = matched_use();
    return rename_fits(&use);
}

static struct deferred_use deferred_of_matched(void)
{
    return (struct deferred_use){
        .group = (uint32_t)queue.state.group, .held = queue.held, .arguments = queue.arguments};
}

/* Leaves what it does not store stale. */
static void defer(const struct rename_use *use)
{
    const struct deferred_use deferring = deferred_of_matched();
    if (!matched_variant()->stale_count) return;
    if (!deferred_is_pending()) queue.has_waited = false;
    rename_move_members(use, matched_variant()->rematerialisation);
    deferred_add(&deferring);
}

/* Before ranges are copied from buffer to buffer, wholly at the beginning, and then what others have written of them. */
static void resolve_copies(const struct rename_use *use)
{
    struct rename_place place;
    uint32_t range;
    for (uint32_t i = 0; deferred_is_pending() && rename_own_place(use, i, &place, &range); i++) {
        uint64_t from = place.is_away ? place.shadow : place.address;
        struct deferred_touch copied = {.address = from, .bytes = place.bytes};
        deferred_resolve_touch(&copied, true);
        if (range == RENAME_NONE || !rename_has_mirrors(range)) continue;
        copied.address = place.is_away ? place.address : place.shadow;
        copied.is_written = true;
        deferred_resolve_touch(&copied, true);
    }
}

/* Where there is no room for its ranges, those of others are given up. */
static bool begin(const struct rename_use *use)
{
    resolve_copies(use);
    if (rename_begin(use, queue.parameters)) return true;
    if (!rename_is_on()) return false;
    while (rename_ranges) end_range(rename_ranges - 1);
    pack_parameters(); /* words are where they were */
    return rename_begin(use, queue.parameters);
}

/* Leaves what it has renamed away. When it fails, the arrays must still be restored. */
static CUresult issue_renamed(void)
{
    static uint32_t uses;
    const struct rename_use use = matched_use();
    bool has_ranges = matched_variant()->rename_count;
    if (has_ranges) {
        bool is_pushed = queue_push_context();
        bool has_begun = begin(&use);
        queue_pop_context(is_pushed);
        if (!has_begun) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = issue_fused();
    if (result != CUDA_SUCCESS) return result;
    defer(&use);
    if (has_ranges) {
        rename_done(&use, deferred_is_pending());
        queue.renamed = ++queue.tickets;
        if (++uses % USES_A_LOOK == 0) deferred_look_at_news();
    }
    return CUDA_SUCCESS;
}

/* Memory is compared afterwards. Nothing else is deferred. */
static CUresult issue_restored(void)
{
    CUresult result = issue_renamed();
    if (deferred_is_pending()) deferred_rematerialise_last();
    if (rename_is_on()) deferred_forget(); /* what it would be made of is about to be overwritten */
    issue_restore();
    return result;
}

static void switch_off(uint32_t group)
{
    match_enable(queue.match, group, false);
    starts_switch(group, false);
    queue.groups[group].is_on = false;
    atomic_fetch_sub(&queue.groups_on, 1);
}

void issue_disable_losers(void)
{
    for (uint32_t group; (group = measure_next_loser()) != MEASURE_NONE;) {
        switch_off(group);
        shim_count(COUNT_LOSERS);
    }
}

static void suspect_slow_groups(void)
{
    double longer_ns;
    uint32_t group;
    while (screen_next_suspect(&group, &longer_ns)) measure_suspect(group, longer_ns);
}

void issue_disable(uint32_t group, const char *reason)
{
    switch_off(group);
    shim_count(COUNT_REFUSED);
    log_write(LOG_WARNING, "queue", "group %s is off: %s; the originals ran",
              queue.plan->strings + queue.plan->groups[group].name, reason);
}

/* What is pending stays so: a reader that would not be seen shows in the program's results. */
static void spoil_last(void)
{
    bool is_pushed = queue_push_context();
    deferred_spoil_last();
    queue_pop_context(is_pushed);
}

/* True when the fused kernel is what has run. */
static bool issue_verified(uint32_t index)
{
    const struct verify_use use = {.group = index,
                                   .variant = queue.state.variant,
                                   .context = queue.context,
                                   .arguments = queue.arguments,
                                   .parameters = queue.parameters,
                                   .parameters_size = matched_variant()->parameter_bytes,
                                   .run_members = issue_members,
                                   .run_fused = issue_restored};
    issue_restore();
    pack_parameters();          /* words are where they were */
    deferred_materialise_all(); /* not between two looks at memory */
    home_meet(queue.held[0].stream);
    enum verify_outcome outcome = verify_run(&use);
    if (deferred_is_pending() && outcome == VERIFY_SAME) spoil_last();
    if (outcome != VERIFY_SAME) deferred_forget();
    if (outcome == VERIFY_IMPOSSIBLE) issue_disable(index, verify_reason(index));
    return outcome == VERIFY_SAME;
}

/* True when the fused kernel has run; one that fails is replaced by its members. */
static bool issue_unverified(uint32_t index)
{
    char reason[64];
    CUresult result = issue_renamed();
    if (result == CUDA_SUCCESS) return true;
    issue_members();
    if (result == CUDA_ERROR_OUT_OF_MEMORY && matched_variant()->rename_count)
        snprintf(reason, sizeof reason, "no device memory for second buffers (KFUSE_SHADOW_MB)");
    else
        snprintf(reason, sizeof reason, "its launch failed with CUDA error %d", (int)result);
    issue_disable(index, reason);
    verify_forget(index);
    return false;
}

/* Of the form that leaves ranges stale the next one stores them. */
static void choose_form(const struct deferred_use *use)
{
    const struct plan_variant *variant = matched_variant();
    bool is_large =
        variant->rename_count && queue.plan->groups[queue.state.group].effect_count > RENAME_EFFECTS_MOST;
    if (variant->stale_count && (is_large || !deferred_fits(use))) queue.state.variant++;
}

/* The group whose pattern the first launches complete. */
void issue_group(void)
{
    uint32_t index = (uint32_t)queue.state.group;
    const struct deferred_use use = deferred_of_matched();
    choose_form(&use);
    meet_ranges(false);
    deferred_resolve(&use);
    deferred_drop(&use);
    home_meet(queue.held[0].stream);
    if (queue.groups[index].passes_over) issue_role(PLAN_BEFORE);
    if (!pack_parameters() || !is_fit()) {
        issue_members();
    } else if (verify_wants(index, queue.state.variant) ? issue_verified(index) : issue_unverified(index)) {
        shim_count(COUNT_FUSED);
        queue_account((int32_t)queue.plan->groups[index].step_count);
        atomic_fetch_add_explicit(&queue.groups[index].uses, 1, memory_order_relaxed);
    }
    if (queue.groups[index].passes_over) {
        meet_ranges(true);
        issue_role(PLAN_AFTER);
    }
    rename_settle();
    if (screen_is_on()) suspect_slow_groups();
    if (measure_is_due(index)) {
        measure_used(index, atomic_load_explicit(&queue.groups[index].uses, memory_order_relaxed),
                     queue.held[0].stream);
        issue_disable_losers();
    }
}

/* The same, as it would be without the group. Chains begin with it, as where launches go ahead. */
void issue_apart(void)
{
    uint32_t index = (uint32_t)queue.state.group;
    chain_cut();
    deferred_spare(true);
    for (uint32_t i = 0; i < queue.plan->groups[index].step_count; i++) issue_original(&queue.held[i]);
    deferred_spare(false);
    measure_kept_apart(index, atomic_load_explicit(&queue.groups[index].uses, memory_order_relaxed),
                       queue.held[0].stream);
    issue_disable_losers();
}

/* --- bystanders --- */

/* The first launch goes to the driver, by itself. */
void issue_meet_alone(bool is_known)
{
    const struct deferred_use use = deferred_of_matched();
    is_known ? meet_ranges(false) : issue_restore();
    if (is_known)
        deferred_resolve(&use);
    else if (!queue.is_memop)
        deferred_materialise_all();
    home_meet(queue.held[0].stream);
}

void issue_bystander(void)
{
    const struct deferred_use use = deferred_of_matched();
    issue_meet_alone(true);
    if (held_launch(&queue.held[0]) == CUDA_SUCCESS) deferred_drop(&use);
    rename_settle();
    shim_count(COUNT_DRAINED);
}
