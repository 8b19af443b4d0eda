/* SPDX-License-Identifier: Apache-2.0
 * What blocks of a launch do: the order of their warps, and faults. */
#include "emulator/machine.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t machine_random(struct worker *worker)
{
    uint64_t z = worker->random += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void block_thread(const struct machine *machine, uint32_t linear, uint32_t thread[3])
{
    const uint32_t *block = machine->launch->block;
    thread[0] = linear % block[0];
    thread[1] = linear / block[0] % block[1];
    thread[2] = linear / block[0] / block[1];
}

void machine_fault(struct worker *worker, const struct warp *warp, uint32_t lane, const struct step *step,
                   enum emu_fault_kind kind, uint64_t address, const char *format, ...)
{
    struct machine *machine = worker->machine;
    uint32_t thread[3];
    char what[200];
    va_list arguments;
    if (kind == EMU_FAULT_RACE && atomic_load(&machine->is_stopped)) return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&machine->lock);
    struct emu_fault *fault = machine->fault;
    if (fault->kind == EMU_FAULT_NONE || (fault->kind == EMU_FAULT_RACE && kind != EMU_FAULT_RACE)) {
        while (!step->source) step++; /* the first steps of some kernels are of no instruction */
        const struct ptx_instruction *source = step->source;
        block_thread(machine, warp->index * LANE_COUNT + lane, thread);
        fault->kind = kind;
        fault->line = source->line;
        fault->address = address;
        char where[32] = "";
        if (kind == EMU_FAULT_ADDRESS || kind == EMU_FAULT_ALIGNMENT || kind == EMU_FAULT_RACE)
            snprintf(where, sizeof where, " at 0x%llx", (unsigned long long)address);
        snprintf(fault->message, sizeof fault->message,
                 "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %s%s: %.*s", machine->name,
                 worker->block[0], worker->block[1], worker->block[2], thread[0], thread[1], thread[2],
                 source->line, what, where, (int)(source->text.length < 150 ? source->text.length : 150),
                 source->text.text);
    }
    pthread_mutex_unlock(&machine->lock);
    if (kind != EMU_FAULT_RACE) atomic_store(&machine->is_stopped, true);
}

/* --- blocks --- */

static void block_place(struct worker *worker, uint64_t number)
{
    const uint32_t *grid = worker->machine->launch->grid;
    worker->block_number = number;
    worker->block[0] = (uint32_t)(number % grid[0]);
    worker->block[1] = (uint32_t)(number / grid[0] % grid[1]);
    worker->block[2] = (uint32_t)(number / grid[0] / grid[1]);
}

/* With a low limit of steps it is looked at more often. */
static uint32_t block_turns(const struct worker *worker)
{
    uint64_t limit = worker->machine->settings->step_limit;
    return limit != 0 && limit < (uint64_t)TURNS_MOST * LANE_COUNT ? 256 : TURNS_MOST;
}

static void warp_start(struct worker *worker, struct warp *warp, uint32_t index)
{
    uint32_t threads = worker->machine->threads - index * LANE_COUNT;
    warp->exited = threads >= LANE_COUNT ? 0 : ALL_LANES << threads;
    warp->steps = 0;
    warp->patience = PATIENCE_MOST;
    warp->turns = block_turns(worker);
    warp->index = index;
    frame_fill_block(worker, warp);
    warp->groups[0] = (struct group){.mask = ~warp->exited};
    warp->group_count = 1;
}

static bool machine_is_over_limit(struct worker *worker, const struct warp *warp)
{
    struct machine *machine = worker->machine;
    uint64_t limit = machine->settings->step_limit, fresh = worker->instructions - worker->reported;
    worker->reported = worker->instructions;
    uint64_t total = atomic_fetch_add(&machine->instructions, fresh) + fresh;
    if (limit == 0 || total <= limit) return false;
    const struct group *group = &warp->groups[0];
    uint32_t lane = warp->group_count ? (uint32_t)__builtin_ctz(group->mask) : 0;
    uint32_t pc = warp->group_count ? group->pc : 0;
    while (pc && !worker->code->steps[pc].source) pc--; /* behind the end */
    machine_fault(worker, warp, lane, &worker->code->steps[pc], EMU_FAULT_HUNG, 0,
                  "still running after %llu instructions", (unsigned long long)limit);
    return true;
}

static bool block_is_over(struct worker *worker, const struct warp *warp)
{
    return machine_is_over_limit(worker, warp) || atomic_load(&worker->machine->is_stopped);
}

/* Warps one after the other in one frame: nothing in the kernel lets them meet. */
static enum run_result block_go_apart(struct worker *worker)
{
    struct warp *warp = &worker->warps[0];
    for (; worker->next_warp < worker->warp_count; worker->next_warp++) {
        enum run_result result;
        if (worker->spent >= worker->allowance) return RUN_AGAIN;
        if (!worker->has_warp) {
            warp_start(worker, warp, worker->next_warp);
            if (worker->warp_count > 1) frame_fill_warp(worker, warp);
            worker->has_warp = true;
        }
        while ((result = warp_run(worker, warp)) == RUN_AGAIN) {
            if (block_is_over(worker, warp)) return RUN_FAULT;
            if (worker->spent >= worker->allowance) return RUN_AGAIN;
        }
        if (result == RUN_FAULT) return RUN_FAULT;
        worker->has_warp = false;
    }
    return RUN_DONE;
}

static void block_report_stuck(struct worker *worker)
{
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        const struct warp *warp = &worker->warps[w];
        if (warp->group_count == 0) continue;
        const struct group *group = &warp->groups[0];
        const struct barrier *barrier = &worker->barriers[group->barrier];
        machine_fault(worker, warp, (uint32_t)__builtin_ctz(group->mask), &worker->code->steps[group->pc - 1],
                      EMU_FAULT_BARRIER, 0, "barrier %u is never completed: %u of %u threads arrived",
                      group->barrier, barrier->arrived,
                      barrier->expected ? barrier->expected : worker->live_threads);
        return;
    }
}

/* Whether some warp of the block can go on. */
static bool block_is_alive(const struct worker *worker)
{
    for (uint32_t w = 0; w < worker->warp_count; w++) {
        for (uint32_t i = 0; i < worker->warps[w].group_count; i++) {
            if (worker->warps[w].groups[i].state != GROUP_AT_BARRIER) return true;
        }
    }
    return false;
}

static enum run_result block_go_together(struct worker *worker)
{
    bool is_random = worker->machine->settings->seed != 0;
    uint32_t *next = &worker->next_warp;
    for (; worker->live_threads > 0; *next = (*next + 1) % worker->warp_count) {
        if (worker->spent >= worker->allowance) return RUN_AGAIN;
        struct warp *warp = &worker->warps[is_random ? machine_random(worker) % worker->warp_count : *next];
        if (warp->group_count == 0) continue;
        enum run_result result = warp_run(worker, warp);
        if (result == RUN_FAULT || (result == RUN_AGAIN && block_is_over(worker, warp))) return RUN_FAULT;
        if (result == RUN_BLOCKED && !block_is_alive(worker)) {
            block_report_stuck(worker);
            return RUN_FAULT;
        }
    }
    return RUN_DONE;
}

/* What shared memory holds before it is written: anything, so under a seed never 0. */
static int block_garbage(struct worker *worker)
{
    return worker->machine->settings->seed == 0 ? 0 : (int)(machine_random(worker) & 0xff) | 1;
}

void block_begin(struct worker *worker, uint64_t block_number)
{
    const struct machine *machine = worker->machine;
    block_place(worker, block_number);
    worker->live_threads = machine->threads;
    worker->next_warp = 0;
    worker->has_warp = false;
    worker->lasting = 0;
    memset(worker->barriers, 0, sizeof worker->barriers);
    if (machine->shared_bytes > 0) memset(worker->shared, block_garbage(worker), machine->shared_bytes);
    if (worker->races != NULL) races_block(worker);
    if (machine->frames == 1) return;
    for (uint32_t w = 0; w < worker->warp_count; w++) warp_start(worker, &worker->warps[w], w);
}

enum run_result block_go(struct worker *worker)
{
    uint64_t before = worker->spent;
    enum run_result result =
        worker->machine->frames == 1 ? block_go_apart(worker) : block_go_together(worker);
    worker->lasting += worker->spent - before;
    if (result == RUN_DONE && machine_is_over_limit(worker, &worker->warps[0])) return RUN_FAULT;
    return result;
}
