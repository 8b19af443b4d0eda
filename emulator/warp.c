/* SPDX-License-Identifier: Apache-2.0
 * The interpreter loop: one warp, step after step. */
#include "emulator/machine.h"

#include <fenv.h>

static uint32_t warp_lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

/* Groups at one place become one: those that are ready, or wait there for each other. */
static void warp_merge(struct warp *warp)
{
    for (uint32_t i = 0; i < warp->group_count; i++) {
        for (uint32_t k = i + 1; k < warp->group_count;) {
            struct group *one = &warp->groups[i], *other = &warp->groups[k];
            if (one->pc != other->pc || one->state == GROUP_AT_BARRIER || other->state == GROUP_AT_BARRIER) {
                k++;
                continue;
            }
            one->mask |= other->mask;
            one->state = GROUP_READY;
            one->is_forced = false;
            *other = warp->groups[--warp->group_count];
        }
    }
}

/* The group to run: the one with the smallest pc, or any (seed). Lanes that wait for others that cannot come
 * are let go. NULL: all wait at barriers. */
static struct group *warp_select(struct worker *worker, struct warp *warp, bool is_last)
{
    warp_merge(warp);
    struct group *best = NULL, *parked = NULL;
    uint32_t ready = 0;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct group *group = &warp->groups[i];
        if (group->state == GROUP_AT_WARP_SYNC && (parked == NULL || group->pc < parked->pc)) parked = group;
        if (group->state != GROUP_READY) continue;
        ready++;
        bool is_better = best == NULL || (is_last ? group->pc > best->pc : group->pc < best->pc);
        if (worker->machine->settings->seed != 0 ? machine_random(worker) % ready == 0 : is_better)
            best = group;
    }
    if (best == NULL && parked != NULL) {
        parked->state = GROUP_READY;
        parked->is_forced = true;
        best = parked;
    }
    return best;
}

/* Where the running group must look whether it has met another one. */
static uint32_t warp_meeting(const struct worker *worker, const struct warp *warp, const struct group *group)
{
    uint32_t meeting = UINT32_MAX;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        const struct group *other = &warp->groups[i];
        if (other != group && other->state != GROUP_AT_BARRIER && other->pc < meeting &&
            (other->pc > group->pc || worker->machine->settings->seed == 0))
            meeting = other->pc;
    }
    return meeting;
}

static void warp_add_group(struct warp *warp, uint32_t pc, uint32_t mask)
{
    warp->groups[warp->group_count++] = (struct group){.pc = pc, .mask = mask};
}

static void warp_remove_group(struct warp *warp, struct group *group)
{
    *group = warp->groups[--warp->group_count];
}

static void warp_exit(struct worker *worker, struct warp *warp, uint32_t mask)
{
    warp->exited |= mask;
    worker->live_threads -= (uint32_t)__builtin_popcount(mask);
}

static void warp_branch_table(struct warp *warp, struct group *group, const struct step *step, uint32_t mask)
{
    const uint32_t *indices = (const uint32_t *)(warp->frame + step->a);
    uint32_t rest = mask;
    while (rest != 0) {
        uint32_t index = indices[warp_lowest(rest)], same = 0;
        for (uint32_t left = rest; left != 0; left &= left - 1)
            same |= indices[warp_lowest(left)] == index ? 1u << warp_lowest(left) : 0;
        rest &= ~same;
        warp_add_group(warp, index < step->extra ? step->targets[index] : group->pc + 1, same);
    }
    group->mask &= ~mask;
    group->pc++;
}

static void warp_lanes(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    unsigned char *frame = warp->frame;
    if ((mask | warp->exited) == ALL_LANES) {
        step->run(frame + step->d, frame + step->a, frame + step->b, frame + step->c, frame + step->e,
                  step->extra);
        return;
    }
    unsigned char values[16 * LANE_COUNT] __attribute__((aligned(64)));
    step->run(values, frame + step->a, frame + step->b, frame + step->c, frame + step->e, step->extra);
    worker->lanes->blend(frame + step->d, values, mask, step->width);
}

/* Instructions other than plain arithmetic and branches. Returns true when the group goes on with the next
 * step, else *result says what happened; the group may be gone. */
static bool warp_special(struct worker *worker, struct warp *warp, struct group *group,
                         const struct step *step, uint32_t mask, enum run_result *result)
{
    bool is_good = true;
    *result = RUN_AGAIN;
    switch ((enum step_kind)step->kind) {
    case STEP_LOAD:
        is_good = access_load(worker, warp, step, mask);
        break;
    case STEP_STORE:
        is_good = access_store(worker, warp, step, mask);
        break;
    case STEP_ATOMIC:
        is_good = access_atomic(worker, warp, step, mask);
        break;
    case STEP_CLOCK:
        frame_clock(worker, warp, step, mask);
        break;
    case STEP_LANES_ROUNDED:
        fesetround(step->rounding);
        warp_lanes(worker, warp, step, mask);
        fesetround(FE_TONEAREST);
        break;
    case STEP_WARP:
        if (!group->is_forced && collective_missing(warp, step, group->mask) != 0) {
            group->state = GROUP_AT_WARP_SYNC;
            return false;
        }
        group->is_forced = false;
        is_good = collective_run(worker, warp, step, mask);
        break;
    case STEP_BARRIER:
        group->mask &= ~mask;
        if (group->mask != 0) {
            warp_add_group(warp, group->pc, mask);
            group->pc++;
            group = &warp->groups[warp->group_count - 1];
        } else {
            group->mask = mask;
        }
        group->pc++;
        *result = barrier_arrive(worker, warp, step, group, mask) ? RUN_AGAIN : RUN_FAULT;
        return false;
    case STEP_EXIT:
        warp_exit(worker, warp, mask);
        group->mask &= ~mask;
        group->pc++;
        if (group->mask == 0) warp_remove_group(warp, group);
        barrier_check(worker);
        return false;
    case STEP_BRANCH_TABLE:
        warp_branch_table(warp, group, step, mask);
        if (group->mask == 0) warp_remove_group(warp, group);
        return false;
    case STEP_CALL:
        is_good = output_call(worker, warp, step, mask);
        break;
    case STEP_TRAP:
        machine_fault(worker, warp, warp_lowest(mask), step, EMU_FAULT_TRAP, 0, "%s",
                      step->extra ? (const char *)(uintptr_t)step->extra : "trap");
        is_good = false;
        break;
    case STEP_FENCE:
        if (worker->races != NULL) races_fence(worker, warp, mask);
        break;
    case STEP_LANES:
    case STEP_BRANCH:
        break;
    }
    *result = is_good ? RUN_AGAIN : RUN_FAULT;
    return is_good;
}

struct warp_count { /* since the group's mask last changed */
    uint64_t issued, float_operations;
};

static void warp_settle(struct worker *worker, struct warp *warp, struct warp_count *count, uint32_t mask)
{
    uint32_t lanes = (uint32_t)__builtin_popcount(mask);
    warp->steps += count->issued;
    worker->warp_instructions += count->issued;
    worker->instructions += count->issued * lanes;
    worker->float_operations += count->float_operations * lanes;
    *count = (struct warp_count){0, 0};
}

/* A branch of some of the group's lanes: two groups, the group keeps the smaller pc. */
static void warp_split(struct warp *warp, struct group *group, uint32_t pc, uint32_t target, uint32_t taken)
{
    uint32_t rest = group->mask & ~taken;
    bool is_backward = target < pc;
    warp_add_group(warp, is_backward ? pc + 1 : target, is_backward ? rest : taken);
    group->mask = is_backward ? taken : rest;
    group->pc = is_backward ? target : pc + 1;
}

/* Runs one group until it meets another, waits, ends, or has used its turns. */
static enum run_result warp_run_group(struct worker *worker, struct warp *warp, struct group *group,
                                      uint32_t *turns)
{
    const struct step *steps = worker->code->steps;
    unsigned char *frame = warp->frame;
    uint32_t pc = group->pc, meeting = warp_meeting(worker, warp, group);
    struct warp_count count = {0, 0};
    uint32_t fuel =
        worker->machine->settings->seed ? 1 + (uint32_t)(machine_random(worker) % 64) : UINT32_MAX;
    enum run_result result = RUN_AGAIN;
    do {
        const struct step *step = &steps[pc];
        uint32_t mask = group->mask & (*(const uint32_t *)(frame + step->guard) ^ step->guard_flip);
        count.issued += step->issues;
        count.float_operations += step->float_operations;
        if (step->kind == STEP_LANES) {
            if (mask != 0) warp_lanes(worker, warp, step, mask);
            pc++;
            continue;
        }
        if (step->kind == STEP_BRANCH) {
            uint32_t target = step->target;
            if (target <= pc && mask != 0 && --*turns == 0) {
                count.issued -= step->issues;
                break;
            }
            if (mask == 0) {
                pc++;
            } else if (mask == group->mask) {
                pc = target;
            } else {
                warp_settle(worker, warp, &count, group->mask);
                warp_split(warp, group, pc, target, mask);
                pc = group->pc;
                meeting = warp_meeting(worker, warp, group);
            }
            continue;
        }
        if (mask == 0) {
            pc++;
            continue;
        }
        uint32_t before = group->mask;
        group->pc = pc;
        if (!warp_special(worker, warp, group, step, mask, &result)) {
            warp_settle(worker, warp, &count, before);
            return result;
        }
        pc++;
    } while (pc < meeting && --fuel > 0);
    warp_settle(worker, warp, &count, group->mask);
    group->pc = pc;
    return result;
}

static enum run_result warp_go(struct worker *worker, struct warp *warp, uint32_t *left_turns)
{
    bool is_last = false;
    uint32_t turns = *left_turns;
    while (warp->group_count > 0) {
        struct group *group = warp_select(worker, warp, is_last);
        if (group == NULL) return RUN_BLOCKED;
        uint32_t part = warp->patience < turns ? warp->patience : turns, left = part;
        if (warp_run_group(worker, warp, group, &left) == RUN_FAULT) return RUN_FAULT;
        turns -= part - left;
        *left_turns = turns;
        if (left == 0 && warp->group_count > 1 && warp->patience > PATIENCE_LEAST) warp->patience /= 2;
        if (turns == 0 && warp->turns > TURNS_LEAST) warp->turns /= 2;
        if (turns == 0 || (worker->machine->settings->seed != 0 && warp->group_count > 0)) return RUN_AGAIN;
        is_last = left == 0 && !is_last; /* a group that spins lets the others go on */
    }
    return RUN_DONE;
}

enum run_result warp_run(struct worker *worker, struct warp *warp)
{
    uint32_t turns = warp->turns, left = turns;
    enum run_result result = warp_go(worker, warp, &left);
    worker->spent += 1 + turns - left;
    return result;
}
