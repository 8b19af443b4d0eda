/* SPDX-License-Identifier: Apache-2.0
 * The time model; its numbers are in clock.h. */
#include "emulator/clock.h"

enum { CLOCK_WARP = 32 };

const struct emu_clock_device emu_clock_device = {
#define X(name, type, value, unit, source) .name = value,
    EMU_CLOCK_DEVICE(X)
#undef X
};

static uint32_t clock_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t emu_clock_occupancy(const struct emu_kernel_info *kernel, uint32_t block_threads,
                             uint32_t dynamic_shared)
{
    const struct emu_clock_device *device = &emu_clock_device;
    uint32_t warps = (block_threads + CLOCK_WARP - 1) / CLOCK_WARP, unit = device->register_unit;
    uint32_t shared = kernel->static_shared + dynamic_shared;
    if (warps == 0 || block_threads > kernel->max_threads || shared > device->shared_per_block_optin)
        return 0;
    uint32_t registers = (kernel->registers * CLOCK_WARP + unit - 1) / unit * unit * warps;
    uint32_t blocks = clock_least(device->blocks_per_multiprocessor,
                                  device->threads_per_multiprocessor / (warps * CLOCK_WARP));
    if (registers > 0) blocks = clock_least(blocks, device->registers_per_multiprocessor / registers);
    return clock_least(blocks, device->shared_per_multiprocessor / (shared + device->shared_reserved));
}

uint64_t emu_clock_kernel_ns(const struct emu_counts *counts, const struct emu_launch *launch,
                             const struct emu_kernel_info *kernel)
{
    const struct emu_clock_device *device = &emu_clock_device;
    double blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    uint32_t resident = emu_clock_occupancy(kernel, threads, launch->dynamic_shared);
    double slots = (double)device->multiprocessors * (resident ? resident : 1);
    double busy = blocks < device->multiprocessors ? blocks / device->multiprocessors : 1;
    double live = blocks < slots ? blocks * threads : slots * threads; /* threads on the device at once */
    double fill = live / (device->saturating_threads * device->multiprocessors);
    double memory =
        (double)(counts->load_bytes + counts->store_bytes) / device->bandwidth / (fill < 1 ? fill : 1);
    double cycles = (double)counts->warp_instructions / (device->issue_rate * device->multiprocessors * busy);
    double warps = blocks * ((threads + CLOCK_WARP - 1) / CLOCK_WARP), waves = blocks / slots;
    double chain = (double)counts->warp_instructions / warps * device->instruction_latency +
                   (double)counts->barriers / (blocks * threads) * device->barrier_cycles;
    chain *= waves > 1 ? waves : 1;
    double seconds = (cycles > chain ? cycles : chain) / (device->clock_khz * 1e3);
    if (memory > seconds) seconds = memory;
    double ns = seconds * 1e9;
    return (uint64_t)((ns > device->kernel_floor_ns ? ns : device->kernel_floor_ns) + 0.5);
}

uint64_t emu_clock_gap_ns(void)
{
    return (uint64_t)emu_clock_device.launch_gap_ns;
}

uint64_t emu_clock_copy_ns(uint64_t bytes, enum emu_copy_kind kind)
{
    const struct emu_clock_device *device = &emu_clock_device;
    double rate = device->bandwidth;
    switch (kind) {
    case EMU_COPY_DEVICE:
        rate = device->copy_device_rate;
        break;
    case EMU_COPY_HOST:
        rate = device->copy_host_rate;
        break;
    case EMU_COPY_PAGEABLE:
        rate = device->copy_pageable_rate;
        break;
    case EMU_COPY_SET:
        break;
    }
    return (uint64_t)(device->copy_floor_ns + (double)bytes / rate * 1e9 + 0.5);
}
