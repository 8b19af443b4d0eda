/* SPDX-License-Identifier: Apache-2.0
 * What a worker of a launch needs: frames, local and shared memory, and the maps of what it touched. It is
 * kept from launch to launch, because mapping it costs far more than a small launch. */
#include "emulator/machine.h"

#include <stdlib.h>

enum { WORKERS_KEPT = 4, BYTES_KEPT = 64 << 20 };

static struct {
    pthread_mutex_t lock;
    struct worker *workers;
    uint32_t count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct worker *worker_take(void)
{
    pthread_mutex_lock(&kept.lock);
    struct worker *worker = kept.workers;
    if (worker != NULL) {
        kept.workers = worker->next;
        kept.count--;
    }
    pthread_mutex_unlock(&kept.lock);
    return worker != NULL ? worker : calloc(1, sizeof *worker);
}

static void worker_free(struct worker *worker)
{
    free(worker->frames.start);
    free(worker->local.start);
    free(worker->shared_memory.start);
    free(worker->range_memory.start);
    traffic_close(&worker->loads);
    traffic_close(&worker->stores);
    free(worker);
}

void worker_close(struct worker *worker)
{
    races_close(worker->races);
    worker->races = NULL;
    pthread_mutex_lock(&kept.lock);
    bool is_kept = kept.count < WORKERS_KEPT &&
                   worker->frames.bytes + worker->local.bytes + worker->range_memory.bytes < BYTES_KEPT;
    if (is_kept) {
        worker->next = kept.workers;
        kept.workers = worker;
        kept.count++;
    }
    pthread_mutex_unlock(&kept.lock);
    if (!is_kept) worker_free(worker);
}

/* Zeroed, and readable a little beyond its end. */
static bool worker_memory(struct worker_memory *memory, uint64_t bytes)
{
    bytes = (bytes + 127) / 64 * 64;
    if (bytes > memory->bytes) {
        void *fresh = NULL;
        if (posix_memalign(&fresh, 64, bytes) != 0) return false;
        free(memory->start);
        *memory = (struct worker_memory){fresh, bytes};
    }
    memset(memory->start, 0, bytes);
    return true;
}

static void worker_reset(struct worker *worker, struct machine *machine, uint32_t index)
{
    worker->machine = machine;
    worker->code = machine->code;
    worker->lanes = lanes_best();
    worker->warp_count = machine->warps;
    worker->random = machine->settings->seed * 0x9e3779b97f4a7c15 + index;
    worker->instructions = worker->warp_instructions = worker->float_operations = worker->barrier_count = 0;
    worker->reported = worker->host_bytes_read = worker->host_bytes_written = 0;
    worker->has_block = false;
    worker->spent = worker->lasting = 0;
    worker->is_observed = machine->settings->report_races || machine->watch != NULL;
}

static bool worker_memories(struct worker *worker, const struct machine *machine)
{
    const struct code *code = machine->code;
    bool is_done =
        worker_memory(&worker->frames, (uint64_t)code->frame_bytes * machine->frames) &&
        worker_memory(&worker->local, (uint64_t)code->local_bytes * LANE_COUNT * machine->frames) &&
        worker_memory(&worker->shared_memory, machine->shared_bytes) &&
        worker_memory(&worker->range_memory, (code->count + 1) * sizeof *worker->ranges) &&
        traffic_open(&worker->loads, machine) && traffic_open(&worker->stores, machine);
    if (is_done && machine->settings->report_races) worker->races = races_open(machine);
    worker->shared = worker->shared_memory.start;
    worker->ranges = worker->range_memory.start;
    return is_done && (!machine->settings->report_races || worker->races != NULL);
}

struct worker *worker_open(struct machine *machine, uint32_t index)
{
    struct worker *worker = worker_take();
    if (worker == NULL) return NULL;
    worker_reset(worker, machine, index);
    if (!worker_memories(worker, machine)) {
        races_close(worker->races);
        worker_free(worker);
        return NULL;
    }
    for (uint32_t w = 0; w < machine->frames; w++) {
        struct warp *warp = &worker->warps[w];
        warp->frame = (unsigned char *)worker->frames.start + (uint64_t)machine->code->frame_bytes * w;
        warp->local =
            (unsigned char *)worker->local.start + (uint64_t)machine->code->local_bytes * LANE_COUNT * w;
        warp->index = w;
        frame_fill_launch(worker, warp);
        frame_fill_warp(worker, warp);
    }
    return worker;
}
