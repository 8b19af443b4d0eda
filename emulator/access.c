/* SPDX-License-Identifier: Apache-2.0
 * Loads and stores of a warp -- ISA 9.7.9.8 to 9.7.9.13. Every address is checked: its space, its alignment,
 * and that it lies inside one allocation. All 32 lanes go at once where they touch one allocation, else lane
 * by lane. */
#include "emulator/machine.h"
#include "emulator/memory.h"

#include <string.h>

static uint64_t access_address(const struct warp *warp, const struct step_memory *memory, uint32_t lane)
{
    if (memory->base_width == 8)
        return ((const uint64_t *)(warp->frame + memory->base))[lane] + memory->offset;
    if (memory->base_width == 4)
        return (uint32_t)(((const uint32_t *)(warp->frame + memory->base))[lane] + memory->offset);
    return memory->offset;
}

/* Whether [address, address + bytes) lies in the allocation that the step touched last, or in another one. */
static bool access_is_inside(struct worker *worker, const struct step *step, uint64_t address, uint64_t bytes)
{
    struct address_range *range = &worker->ranges[step - worker->code->steps];
    if (address - range->start < range->size && range->size - (address - range->start) >= bytes) return true;
    struct emu_allocation allocation;
    if (!emu_memory_find(address, &allocation)) return false;
    if (allocation.is_read_only && step->kind != STEP_LOAD && step->kind != STEP_CALL) return false;
    *range = (struct address_range){allocation.start, allocation.size};
    return range->size - (address - range->start) >= bytes;
}

static void access_count(struct worker *worker, uint64_t address, uint64_t bytes, enum access_kind kind)
{
    const struct machine *machine = worker->machine;
    bool is_device = address >= machine->memory_start && address < machine->memory_end;
    if (kind != ACCESS_WRITE) {
        if (is_device)
            traffic_mark(&worker->loads, machine, address, bytes);
        else
            worker->host_bytes_read += bytes;
    }
    if (kind != ACCESS_READ) {
        if (is_device)
            traffic_mark(&worker->stores, machine, address, bytes);
        else
            worker->host_bytes_written += bytes;
    }
}

/* A generic address: its space, and the address in it -- ISA 5.2 */
static enum ptx_space access_resolve(const struct machine *machine, enum ptx_space space, uint64_t *address)
{
    uint64_t offset = *address - machine->window;
    if (space != PTX_GENERIC || offset >= 3 * (uint64_t)WINDOW_BYTES)
        return space == PTX_GENERIC ? PTX_GLOBAL : space;
    *address = offset % WINDOW_BYTES;
    return offset < WINDOW_LOCAL ? PTX_SHARED : offset < WINDOW_PARAM ? PTX_LOCAL : PTX_PARAM;
}

/* For spaces that begin at 0; address + bytes may wrap. */
static bool access_fits(uint64_t address, uint64_t bytes, uint64_t size)
{
    return address < size && size - address >= bytes;
}

static void *access_bounds(struct worker *worker, struct warp *warp, uint32_t lane, const struct step *step,
                           enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind)
{
    const struct machine *machine = worker->machine;
    switch (space) {
    case PTX_SHARED:
        if (access_fits(address, bytes, machine->shared_bytes)) return worker->shared + address;
        break;
    case PTX_LOCAL:
        if (access_fits(address, bytes, worker->code->local_bytes))
            return warp->local + (uint64_t)lane * worker->code->local_bytes + address;
        break;
    case PTX_PARAM:
        if (kind == ACCESS_READ &&
            access_fits(address, bytes, machine->launch->kernel->function->parameter_bytes))
            return (unsigned char *)(uintptr_t)machine->launch->parameters + address;
        break;
    case PTX_GENERIC:
    case PTX_GLOBAL:
    case PTX_CONST:
    case PTX_SPACE_COUNT:
        if (access_is_inside(worker, step, address, bytes)) return (void *)(uintptr_t)address;
        break;
    }
    return NULL;
}

static const char *access_space_name(enum ptx_space space)
{
    static const char *const names[PTX_SPACE_COUNT] = {"global", "global",    "shared",
                                                       "local",  "parameter", "constant"};
    return names[space];
}

static void access_watch(struct worker *worker, const struct warp *warp, uint32_t lane,
                         const struct step *step, uint64_t address, uint32_t bytes, enum access_kind kind)
{
    uint32_t thread[3];
    const struct machine *machine = worker->machine;
    block_thread(machine, warp->index * LANE_COUNT + lane, thread);
    if (kind != ACCESS_WRITE)
        machine->watch(machine->watch_context, step->source, worker->block, thread, address, bytes, false);
    if (kind != ACCESS_READ)
        machine->watch(machine->watch_context, step->source, worker->block, thread, address, bytes, true);
}

void *access_lane(struct worker *worker, struct warp *warp, uint32_t lane, const struct step *step,
                  enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind)
{
    static const char *const verbs[] = {"read", "write", "atomic access"};
    uint64_t given = address;
    space = access_resolve(worker->machine, space, &address);
    if (address & (bytes - 1)) {
        machine_fault(worker, warp, lane, step, EMU_FAULT_ALIGNMENT, given,
                      "%s of %u bytes of %s memory is misaligned", verbs[kind], bytes,
                      access_space_name(space));
        return NULL;
    }
    void *place = access_bounds(worker, warp, lane, step, space, address, bytes, kind);
    if (place == NULL) {
        machine_fault(worker, warp, lane, step, EMU_FAULT_ADDRESS, given,
                      "%s of %u bytes of %s memory out of bounds", verbs[kind], bytes,
                      access_space_name(space));
        return NULL;
    }
    bool is_global = space == PTX_GLOBAL || space == PTX_CONST;
    if (is_global) access_count(worker, address, bytes, kind);
    if (worker->is_observed) {
        if (is_global && worker->machine->watch != NULL)
            access_watch(worker, warp, lane, step, address, bytes, kind);
        if (worker->races != NULL && (is_global || space == PTX_SHARED))
            races_access(worker, warp, lane, step, space, address, bytes, kind);
    }
    return place;
}

/* Puts one element, extended to the register's width, into the lane of values. */
static void access_extend(void *values, uint32_t lane, const struct step_memory *memory, const void *place)
{
    uint64_t bits = 0;
    memcpy(&bits, place, memory->bytes);
    if (memory->is_signed && memory->bytes < 8)
        bits = (uint64_t)((int64_t)(bits << (64 - 8 * memory->bytes)) >> (64 - 8 * memory->bytes));
    memcpy((unsigned char *)values + lane * memory->value_width, &bits, memory->value_width);
}

/* The 32 host addresses of a full warp's access, or false when it must go lane by lane. */
static bool access_all(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask,
                       uint64_t *addresses, struct lane_span *span, enum access_kind kind)
{
    const struct step_memory *memory = step->memory;
    uint32_t bytes = (uint32_t)memory->bytes * memory->count;
    if (mask != ALL_LANES || worker->is_observed || memory->base_width == 0 || memory->space == PTX_PARAM)
        return false;
    worker->lanes->addresses(addresses, warp->frame + memory->base, memory->base_width, memory->offset);
    *span = worker->lanes->span(addresses, bytes);
    if ((span->bits & (bytes - 1)) != 0 || span->high < span->low) return false;
    if (memory->space == PTX_SHARED) {
        if (!access_fits(span->high, bytes, worker->machine->shared_bytes)) return false;
        for (uint32_t i = 0; i < LANE_COUNT; i++) addresses[i] += (uint64_t)(uintptr_t)worker->shared;
        return true;
    }
    if (memory->space == PTX_LOCAL) {
        if (!access_fits(span->high, bytes, worker->code->local_bytes)) return false;
        for (uint64_t i = 0; i < LANE_COUNT; i++)
            addresses[i] += (uint64_t)(uintptr_t)warp->local + i * worker->code->local_bytes;
        span->is_contiguous = false;
        return true;
    }
    if (!access_is_inside(worker, step, span->low, span->high - span->low + bytes)) return false;
    if (span->is_contiguous) {
        access_count(worker, span->low, (uint64_t)bytes * LANE_COUNT, kind);
    } else {
        uint64_t last = ~0ull;
        for (uint32_t i = 0; i < LANE_COUNT; i++) {
            if (addresses[i] / SECTOR_BYTES != last) access_count(worker, addresses[i], bytes, kind);
            last = addresses[i] / SECTOR_BYTES;
        }
    }
    return true;
}

static void access_load_all(struct worker *worker, struct warp *warp, const struct step_memory *memory,
                            uint64_t *addresses, bool is_contiguous)
{
    for (uint32_t k = 0; k < memory->count; k++) {
        unsigned char *values = warp->frame + memory->values[k];
        if (memory->values[k] == UINT32_MAX) {
        } else if (is_contiguous && memory->count == 1 && memory->bytes == memory->value_width) {
            memcpy(values, (const void *)(uintptr_t)addresses[0], (size_t)memory->bytes * LANE_COUNT);
        } else if (memory->bytes != memory->value_width ||
                   !worker->lanes->gather(values, addresses, memory->bytes)) {
            for (uint32_t i = 0; i < LANE_COUNT; i++)
                access_extend(values, i, memory, (const void *)(uintptr_t)addresses[i]);
        }
        for (uint32_t i = 0; i < LANE_COUNT; i++) addresses[i] += memory->bytes;
    }
}

bool access_load(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    const struct step_memory *memory = step->memory;
    uint64_t addresses[LANE_COUNT] __attribute__((aligned(64)));
    struct lane_span span;
    if (access_all(worker, warp, step, mask, addresses, &span, ACCESS_READ)) {
        access_load_all(worker, warp, memory, addresses, span.is_contiguous);
        return true;
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        const unsigned char *place =
            access_lane(worker, warp, lane, step, memory->space, access_address(warp, memory, lane),
                        (uint32_t)memory->bytes * memory->count, ACCESS_READ);
        if (place == NULL) return false;
        for (uint32_t k = 0; k < memory->count; k++) {
            if (memory->values[k] != UINT32_MAX)
                access_extend(warp->frame + memory->values[k], lane, memory,
                              place + (size_t)k * memory->bytes);
        }
    }
    return true;
}

static void access_store_all(struct warp *warp, const struct step_memory *memory, const uint64_t *addresses,
                             bool is_contiguous)
{
    const unsigned char *values = warp->frame + memory->values[0];
    if (is_contiguous && memory->count == 1 && memory->bytes == memory->value_width) {
        memcpy((void *)(uintptr_t)addresses[0], values, (size_t)memory->bytes * LANE_COUNT);
        return;
    }
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        for (uint32_t k = 0; k < memory->count; k++)
            memcpy((unsigned char *)(uintptr_t)addresses[i] + (size_t)k * memory->bytes,
                   warp->frame + memory->values[k] + (size_t)i * memory->value_width, memory->bytes);
    }
}

bool access_store(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    const struct step_memory *memory = step->memory;
    uint64_t addresses[LANE_COUNT] __attribute__((aligned(64)));
    struct lane_span span;
    if (memory->space != PTX_CONST && access_all(worker, warp, step, mask, addresses, &span, ACCESS_WRITE)) {
        access_store_all(warp, memory, addresses, span.is_contiguous);
        return true;
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        unsigned char *place =
            access_lane(worker, warp, lane, step, memory->space, access_address(warp, memory, lane),
                        (uint32_t)memory->bytes * memory->count, ACCESS_WRITE);
        if (place == NULL) return false;
        for (uint32_t k = 0; k < memory->count; k++)
            memcpy(place + (size_t)k * memory->bytes,
                   warp->frame + memory->values[k] + (size_t)lane * memory->value_width, memory->bytes);
    }
    return true;
}

bool access_atomic(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask)
{
    const struct step_memory *memory = step->memory;
    unsigned width = memory->value_width;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t address = access_address(warp, memory, lane), value = 0, swap = 0;
        void *place =
            access_lane(worker, warp, lane, step, memory->space, address, memory->bytes, ACCESS_ATOMIC);
        if (place == NULL) return false;
        bool is_shared = place >= (void *)worker->shared &&
                         place < (void *)(worker->shared + worker->machine->shared_bytes);
        memcpy(&value, warp->frame + memory->values[0] + (size_t)lane * width, memory->bytes);
        if (memory->operation == PTX_MOD_CAS)
            memcpy(&swap, warp->frame + memory->values[1] + (size_t)lane * width, memory->bytes);
        uint64_t old = atomic_apply(memory, place, value, swap, is_shared);
        if (!memory->is_sink) memcpy(warp->frame + step->d + (size_t)lane * width, &old, width);
    }
    return true;
}
