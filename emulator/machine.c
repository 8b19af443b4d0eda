/* SPDX-License-Identifier: Apache-2.0
 * A launch: its workers, the order of blocks and warps, faults and counts. */
#include "emulator/machine.h"
#include "emulator/memory.h"

#include <fenv.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SMALL_LAUNCH = 1 << 14, /* threads: fewer are not worth a second worker */
    MEMORY_SHARED_MOST = 227 * 1024,
    WORKERS_MOST = 64,
};

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

/* Warps one after the other in one frame: nothing in the kernel lets them meet. */
static bool block_run_apart(struct worker *worker)
{
    struct warp *warp = &worker->warps[0];
    for (uint32_t i = 0; i < worker->warp_count; i++) {
        enum run_result result;
        warp_start(worker, warp, i);
        if (worker->warp_count > 1) frame_fill_warp(worker, warp);
        while ((result = warp_run(worker, warp)) == RUN_AGAIN) {
            if (machine_is_over_limit(worker, warp) || atomic_load(&worker->machine->is_stopped))
                return false;
        }
        if (result == RUN_FAULT) return false;
    }
    return true;
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

static bool block_run_together(struct worker *worker)
{
    bool is_random = worker->machine->settings->seed != 0;
    for (uint32_t w = 0; w < worker->warp_count; w++) warp_start(worker, &worker->warps[w], w);
    for (uint32_t next = 0; worker->live_threads > 0; next = (next + 1) % worker->warp_count) {
        struct warp *warp = &worker->warps[is_random ? machine_random(worker) % worker->warp_count : next];
        if (warp->group_count == 0) continue;
        enum run_result result = warp_run(worker, warp);
        if (result == RUN_FAULT) return false;
        if (result == RUN_AGAIN &&
            (machine_is_over_limit(worker, warp) || atomic_load(&worker->machine->is_stopped)))
            return false;
        if (result == RUN_BLOCKED && !block_is_alive(worker)) {
            block_report_stuck(worker);
            return false;
        }
    }
    return true;
}

/* What shared memory holds before it is written: anything, so under a seed never 0. */
static int block_garbage(struct worker *worker)
{
    return worker->machine->settings->seed == 0 ? 0 : (int)(machine_random(worker) & 0xff) | 1;
}

bool block_run(struct worker *worker, uint64_t block_number)
{
    const struct machine *machine = worker->machine;
    block_place(worker, block_number);
    worker->live_threads = machine->threads;
    memset(worker->barriers, 0, sizeof worker->barriers);
    if (machine->shared_bytes > 0) memset(worker->shared, block_garbage(worker), machine->shared_bytes);
    if (worker->races != NULL) races_block(worker);
    bool is_good = machine->frames == 1 ? block_run_apart(worker) : block_run_together(worker);
    return is_good && !machine_is_over_limit(worker, &worker->warps[0]);
}

/* The i-th block in the order of the seed: a permutation of the smallest power of four, walked until inside.
 */
static uint64_t machine_shuffle(const struct machine *machine, uint64_t number)
{
    if (machine->settings->seed == 0) return number;
    unsigned half = 1;
    while (half < 32 && 1ull << 2 * half < machine->blocks) half++;
    uint64_t low_mask = (1ull << half) - 1;
    do {
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t high = number >> half, low = number & low_mask;
            struct worker mixer = {.random = machine->settings->seed ^ (low << 8 | round)};
            number = low << half | ((high ^ machine_random(&mixer)) & low_mask);
        }
    } while (number >= machine->blocks);
    return number;
}

/* --- workers --- */

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    struct machine *machine = worker->machine;
    while (!atomic_load(&machine->is_stopped)) {
        uint64_t block = atomic_fetch_add(&machine->next_block, 1);
        if (block >= machine->blocks || !block_run(worker, machine_shuffle(machine, block))) break;
    }
    return NULL;
}

static uint32_t machine_worker_count(const struct machine *machine)
{
    const struct emu_settings *settings = machine->settings;
    uint32_t count = settings->workers;
    if (settings->seed != 0 || settings->report_races || machine->watch != NULL ||
        machine->code->is_order_sensitive || machine->blocks * machine->threads < SMALL_LAUNCH)
        return 1;
    if (count == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        count = processors > 1 ? (uint32_t)processors : 1;
    }
    count = count > WORKERS_MOST ? WORKERS_MOST : count;
    return count < machine->blocks ? count : (uint32_t)machine->blocks;
}

static void machine_count(struct worker *const *workers, uint32_t count, struct emu_counts *counts)
{
    struct traffic *loads[WORKERS_MOST], *stores[WORKERS_MOST];
    for (uint32_t i = 0; i < count; i++) {
        counts->instructions += workers[i]->instructions;
        counts->warp_instructions += workers[i]->warp_instructions;
        counts->float_operations += workers[i]->float_operations;
        counts->barriers += workers[i]->barrier_count;
        counts->load_bytes += workers[i]->host_bytes_read;
        counts->store_bytes += workers[i]->host_bytes_written;
        loads[i] = &workers[i]->loads;
        stores[i] = &workers[i]->stores;
    }
    counts->load_bytes += SECTOR_BYTES * traffic_sectors(loads, count);
    counts->store_bytes += SECTOR_BYTES * traffic_sectors(stores, count);
}

static void machine_run_together(struct worker *const *workers, uint32_t count)
{
    pthread_t threads[WORKERS_MOST];
    bool has_thread[WORKERS_MOST] = {false};
    sigset_t all, before; /* the program's signals are not for these threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < count; i++)
        has_thread[i] = pthread_create(&threads[i], NULL, worker_run, workers[i]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    worker_run(workers[0]);
    for (uint32_t i = 1; i < count; i++) {
        if (has_thread[i]) pthread_join(threads[i], NULL);
    }
}

static bool machine_run(struct machine *machine, struct emu_counts *counts)
{
    struct worker *workers[WORKERS_MOST];
    uint32_t wanted = machine_worker_count(machine), count = 0;
    while (count < wanted && (workers[count] = worker_open(machine, count)) != NULL) count++;
    if (count == 0) {
        machine->fault->kind = EMU_FAULT_RESOURCES;
        snprintf(machine->fault->message, sizeof machine->fault->message, "kernel %s: out of host memory",
                 machine->name);
        return false;
    }
    if (count > 1)
        machine_run_together(workers, count);
    else
        worker_run(workers[0]);
    machine_count(workers, count, counts);
    for (uint32_t i = 0; i < count; i++) worker_close(workers[i]);
    return machine->fault->kind == EMU_FAULT_NONE;
}

/* In the default floating-point environment: the program's own may flush subnormals or round otherwise.
 * Setting all of it is slow beside a small launch; mostly only the flags that arithmetic raises must be put
 * back. */
static bool machine_run_alike(struct machine *machine, struct emu_counts *counts)
{
    enum { FLAGS = 0x3f, DEFAULT_MXCSR = 0x1f80, DEFAULT_X87 = 0x37f };
    fenv_t environment;
    uint16_t x87;
    uint32_t mxcsr = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    bool is_default = (mxcsr & ~(uint32_t)FLAGS) == DEFAULT_MXCSR && x87 == DEFAULT_X87;
    if (!is_default) {
        fegetenv(&environment);
        fesetenv(FE_DFL_ENV);
    }
    bool is_good = machine_run(machine, counts);
    if (is_default)
        __builtin_ia32_ldmxcsr(mxcsr);
    else
        fesetenv(&environment);
    return is_good;
}

static bool machine_refuse(struct emu_fault *fault, enum emu_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool machine_refuse(struct emu_fault *fault, enum emu_fault_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->kind = kind;
    vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return false;
}

static bool machine_check(const struct machine *machine, struct emu_fault *fault)
{
    struct emu_kernel_info info;
    emu_kernel_info(machine->launch->kernel, &info);
    if (machine->threads == 0 || machine->blocks == 0)
        return machine_refuse(fault, EMU_FAULT_RESOURCES, "kernel %s: an empty grid or block", machine->name);
    if (machine->threads > info.max_threads || machine->threads > THREADS_MOST)
        return machine_refuse(fault, EMU_FAULT_RESOURCES, "kernel %s: %u threads a block, at most %u",
                              machine->name, machine->threads, info.max_threads);
    if (machine->shared_bytes > MEMORY_SHARED_MOST)
        return machine_refuse(fault, EMU_FAULT_RESOURCES, "kernel %s: %u bytes of shared memory, at most %u",
                              machine->name, machine->shared_bytes, MEMORY_SHARED_MOST);
    return true;
}

bool emu_run(const struct emu_settings *settings, const struct emu_launch *launch, struct emu_counts *counts,
             struct emu_fault *fault, emu_watch watch, void *watch_context)
{
    *counts = (struct emu_counts){0};
    *fault = (struct emu_fault){0};
    const struct code *code = emu_kernel_code(launch->kernel);
    const char *name = launch->kernel->function->name;
    if (code == NULL)
        return machine_refuse(fault, EMU_FAULT_RESOURCES, "kernel %s: out of host memory", name);
    if (code->fault != NULL) {
        fault->line = code->fault_line;
        return machine_refuse(fault, EMU_FAULT_OPCODE, "%s", code->fault);
    }
    struct machine machine = {.settings = settings,
                              .launch = launch,
                              .code = code,
                              .name = name,
                              .fault = fault,
                              .watch = watch,
                              .watch_context = watch_context,
                              .window = emu_memory_window()};
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    emu_memory_reserved(&machine.memory_start, &machine.memory_end);
    machine.threads = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
    machine.warps = (machine.threads + LANE_COUNT - 1) / LANE_COUNT;
    bool is_apart = !code->needs_all_warps && settings->seed == 0 && !settings->report_races;
    machine.frames = is_apart ? 1 : machine.warps;
    machine.blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint32_t alignment = code->dynamic_alignment;
    uint64_t shared =
        launch->dynamic_shared == 0
            ? code->shared_bytes
            : ((uint64_t)code->shared_bytes + alignment - 1) / alignment * alignment + launch->dynamic_shared;
    machine.shared_bytes = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared;
    if (!machine_check(&machine, fault)) return false;
    pthread_mutex_init(&machine.lock, NULL);
    bool is_good = machine_run_alike(&machine, counts);
    pthread_mutex_destroy(&machine.lock);
    return is_good;
}
