/* SPDX-License-Identifier: Apache-2.0
 * Barriers of a block -- ISA 9.7.13.1. Lanes arrive one by one; without a count a barrier waits for every
 * thread that has not exited. */
#include "emulator/machine.h"

static void barrier_release_group(struct worker *worker, struct warp *warp, struct group *group,
                                  const struct barrier *barrier)
{
    const struct step *step = &worker->code->steps[group->pc - 1];
    group->state = GROUP_READY;
    if (step->barrier->kind != BARRIER_REDUCE) return;
    uint32_t values[LANE_COUNT];
    uint32_t result = step->barrier->operation == PTX_MOD_POPC  ? barrier->count
                      : step->barrier->operation == PTX_MOD_AND ? barrier->count == barrier->arrived
                                                                : barrier->count != 0;
    if (step->width == 0) result = result ? ALL_LANES : 0;
    for (uint32_t i = 0; i < LANE_COUNT; i++) values[i] = result;
    worker->lanes->blend(warp->frame + step->d, values, group->mask, step->width);
}

static void barrier_try(struct worker *worker, uint32_t id)
{
    struct barrier *barrier = &worker->barriers[id];
    uint32_t expected = barrier->expected ? barrier->expected : worker->live_threads;
    if (!barrier->is_used || barrier->arrived < expected) return;
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        struct warp *warp = &worker->warps[w];
        for (uint32_t i = 0; i < warp->group_count; i++) {
            struct group *group = &warp->groups[i];
            if (group->state == GROUP_AT_BARRIER && group->barrier == id)
                barrier_release_group(worker, warp, group, barrier);
        }
    }
    if (worker->races != NULL) races_barrier(worker, id);
    *barrier = (struct barrier){0};
}

bool barrier_arrive(struct worker *worker, struct warp *warp, const struct step *step, struct group *group,
                    uint32_t mask)
{
    uint32_t lane = (uint32_t)__builtin_ctz(mask);
    uint32_t id = ((const uint32_t *)(warp->frame + step->barrier->id))[lane], count = 0;
    if (step->barrier->count != UINT32_MAX)
        count = ((const uint32_t *)(warp->frame + step->barrier->count))[lane];
    if (id >= BARRIER_COUNT) {
        machine_fault(worker, warp, lane, step, EMU_FAULT_BARRIER, 0, "barrier %u does not exist", id);
        return false;
    }
    struct barrier *barrier = &worker->barriers[id];
    if (barrier->is_used && barrier->expected != count) {
        machine_fault(worker, warp, lane, step, EMU_FAULT_BARRIER, 0,
                      "barrier %u is waited for with different thread counts (%u and %u)", id,
                      barrier->expected, count);
        return false;
    }
    barrier->is_used = true;
    barrier->expected = count;
    barrier->arrived += (uint32_t)__builtin_popcount(mask);
    worker->barrier_count += (uint32_t)__builtin_popcount(mask);
    if (step->barrier->kind == BARRIER_REDUCE)
        barrier->count +=
            (uint32_t)__builtin_popcount(*(const uint32_t *)(warp->frame + step->barrier->predicate) & mask);
    if (step->barrier->kind != BARRIER_ARRIVE) {
        group->state = GROUP_AT_BARRIER;
        group->barrier = id;
    }
    if (worker->races != NULL) races_arrive(worker, warp, id, mask, step->barrier->kind != BARRIER_ARRIVE);
    barrier_try(worker, id);
    return true;
}

void barrier_check(struct worker *worker)
{
    for (uint32_t id = 0; id < BARRIER_COUNT; id++) {
        if (worker->barriers[id].is_used && worker->barriers[id].expected == 0 && worker->live_threads > 0)
            barrier_try(worker, id);
    }
}
