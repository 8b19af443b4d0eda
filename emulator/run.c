/* SPDX-License-Identifier: Apache-2.0
 * A launch under way: its workers, the order of blocks, slices and counts. */
#include "emulator/machine.h"
#include "emulator/memory.h"

#include <fenv.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SMALL_LAUNCH = 1 << 14, /* threads: fewer are not worth a second worker */
    MEMORY_SHARED_MOST = 227 * 1024,
    WORKERS_MOST = 64,
    LASTING = 1 << 16, /* turns after which a block seems to wait for another one */
};

struct emu_run {
    struct machine machine;
    struct emu_settings settings;
    struct emu_launch launch;
    uint32_t worker_count;
    bool is_parallel; /* each worker has a thread */
    struct emu_fault fault;
    struct worker *workers[WORKERS_MOST];
};

/* Without what is only read after it has been written: most launches are small. */
static struct emu_run *run_create(void)
{
    struct emu_run *run = malloc(sizeof *run);
    if (run == NULL) return NULL;
    memset(run, 0, offsetof(struct emu_run, fault));
    run->fault.kind = EMU_FAULT_NONE;
    run->fault.line = 0;
    run->fault.address = 0;
    return run;
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
    while (!atomic_load(&machine->is_stopped) && worker->spent < worker->allowance) {
        if (!worker->has_block) {
            uint64_t block = atomic_fetch_add(&machine->next_block, 1);
            if (block >= machine->blocks) break;
            block_begin(worker, machine_shuffle(machine, block));
            worker->has_block = true;
        }
        enum run_result result = block_go(worker);
        if (result == RUN_AGAIN) break;
        worker->has_block = false;
        if (result == RUN_FAULT) break;
        if (machine->settings->seed == 0) worker->spent = 0;
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

static bool run_has_blocks(struct emu_run *run)
{
    return atomic_load(&run->machine.next_block) < run->machine.blocks;
}

static bool run_is_over(struct emu_run *run)
{
    bool is_over = !run_has_blocks(run);
    for (uint32_t i = 0; i < run->worker_count; i++) is_over &= !run->workers[i]->has_block;
    return is_over || atomic_load(&run->machine.is_stopped);
}

static void run_add_worker(struct emu_run *run)
{
    struct worker *worker = worker_open(&run->machine, run->worker_count);
    if (worker != NULL) run->workers[run->worker_count++] = worker;
}

/* Whether all blocks that have begun seem to wait. */
static bool run_is_waiting(const struct emu_run *run)
{
    for (uint32_t i = 0; i < run->worker_count; i++)
        if (!run->workers[i]->has_block || run->workers[i]->lasting < LASTING) return false;
    return true;
}

static void run_workers(struct emu_run *run, uint64_t turns)
{
    bool is_observed = run->settings.report_races || run->machine.watch != NULL;
    if (!is_observed && run->worker_count < WORKERS_MOST && run_has_blocks(run) && run_is_waiting(run))
        run_add_worker(run);
    uint32_t count = run->worker_count, first = 0;
    for (uint32_t i = 0; i < count; i++) {
        run->workers[i]->spent = 0;
        run->workers[i]->allowance = turns;
    }
    if (run->is_parallel) {
        machine_run_together(run->workers, count);
        return;
    }
    if (count > 1 && run->settings.seed != 0) first = (uint32_t)(machine_random(run->workers[0]) % count);
    for (uint32_t i = 0; i < count; i++) worker_run(run->workers[(first + i) % count]);
}

/* In the default floating-point environment: the program's own may flush subnormals or round otherwise.
 * Setting all of it is slow beside a small launch; mostly only the flags that arithmetic raises must be put
 * back. */
static void run_alike(struct emu_run *run, uint64_t turns)
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
    run_workers(run, turns);
    if (is_default)
        __builtin_ia32_ldmxcsr(mxcsr);
    else
        fesetenv(&environment);
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

static uint32_t machine_shared_bytes(const struct code *code, const struct emu_launch *launch)
{
    uint64_t bytes = code->shared_bytes, alignment = code->dynamic_alignment;
    if (launch->dynamic_shared != 0)
        bytes = (bytes + alignment - 1) / alignment * alignment + launch->dynamic_shared;
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

static void machine_open(struct machine *machine, struct emu_run *run, const struct code *code)
{
    const struct emu_launch *launch = &run->launch;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    bool is_apart = !code->needs_all_warps && run->settings.seed == 0 && !run->settings.report_races;
    machine->settings = &run->settings;
    machine->launch = launch;
    machine->code = code;
    machine->name = launch->kernel->function->name;
    machine->fault = &run->fault;
    machine->window = emu_memory_window();
    emu_memory_reserved(&machine->memory_start, &machine->memory_end);
    machine->threads = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
    machine->warps = (machine->threads + LANE_COUNT - 1) / LANE_COUNT;
    machine->frames = is_apart ? 1 : machine->warps;
    machine->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    machine->shared_bytes = machine_shared_bytes(code, launch);
    pthread_mutex_init(&machine->lock, NULL);
}

static bool run_open_workers(struct emu_run *run)
{
    uint32_t wanted = machine_worker_count(&run->machine), before;
    do {
        before = run->worker_count;
        run_add_worker(run);
    } while (run->worker_count > before && run->worker_count < wanted);
    run->is_parallel = run->worker_count > 1;
    return run->worker_count > 0 || machine_refuse(&run->fault, EMU_FAULT_RESOURCES,
                                                   "kernel %s: out of host memory", run->machine.name);
}

struct emu_run *emu_run_open(const struct emu_settings *settings, const struct emu_launch *launch,
                             struct emu_fault *fault, emu_watch watch, void *watch_context)
{
    fault->kind = EMU_FAULT_NONE;
    const struct code *code = emu_kernel_code(launch->kernel);
    struct emu_run *run = code != NULL ? run_create() : NULL;
    if (run == NULL) {
        machine_refuse(fault, EMU_FAULT_RESOURCES, "kernel %s: out of host memory",
                       launch->kernel->function->name);
        return NULL;
    }
    run->settings = *settings;
    run->launch = *launch;
    machine_open(&run->machine, run, code);
    run->machine.watch = watch;
    run->machine.watch_context = watch_context;
    if (code->fault != NULL) {
        run->fault.line = code->fault_line;
        machine_refuse(&run->fault, EMU_FAULT_OPCODE, "%s", code->fault);
    } else if (machine_check(&run->machine, &run->fault) && run_open_workers(run)) {
        return run;
    }
    struct emu_counts counts;
    emu_run_close(run, &counts, fault);
    return NULL;
}

bool emu_run_go(struct emu_run *run, uint64_t turns)
{
    run_alike(run, turns);
    return run_is_over(run);
}

bool emu_run_close(struct emu_run *run, struct emu_counts *counts, struct emu_fault *fault)
{
    bool is_good = run->fault.kind == EMU_FAULT_NONE;
    *counts = (struct emu_counts){0};
    fault->kind = EMU_FAULT_NONE;
    if (!is_good) *fault = run->fault;
    machine_count(run->workers, run->worker_count, counts);
    for (uint32_t i = 0; i < run->worker_count; i++) worker_close(run->workers[i]);
    pthread_mutex_destroy(&run->machine.lock);
    free(run);
    return is_good;
}

/* A block that waits for a later one lets it go on. */
bool emu_run(const struct emu_settings *settings, const struct emu_launch *launch, struct emu_counts *counts,
             struct emu_fault *fault, emu_watch watch, void *watch_context)
{
    *counts = (struct emu_counts){0};
    struct emu_run *run = emu_run_open(settings, launch, fault, watch, watch_context);
    if (run == NULL) return false;
    while (!emu_run_go(run, LASTING)) continue;
    return emu_run_close(run, counts, fault);
}
