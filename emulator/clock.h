/* SPDX-License-Identifier: Apache-2.0
 * Time on the emulated device: a deterministic model of one named GPU. Times are nanoseconds and depend on
 * nothing but their arguments. A kernel takes the longest of what its memory traffic, its instructions and
 * the latency of one thread's chain need, on the multiprocessors that it fills, and never less than a floor.
 */
#ifndef KFUSE_EMULATOR_CLOCK_H
#define KFUSE_EMULATOR_CLOCK_H

#include "emulator/exec.h"

/* X(name, type, value, unit, source) */
#define EMU_CLOCK_DEVICE(X)                                                                                  \
    X(name, const char *, "NVIDIA H100 80GB HBM3 (emulated)", "", "named after what the numbers describe")   \
    X(compute_major, uint32_t, 9, "", "compute capability 9.0")                                              \
    X(compute_minor, uint32_t, 0, "", "")                                                                    \
    X(multiprocessors, uint32_t, 132, "", "measured: device attributes")                                     \
    X(clock_khz, uint32_t, 1980000, "kHz", "data sheet: highest clock")                                      \
    X(memory_clock_khz, uint32_t, 2619000, "kHz", "data sheet")                                              \
    X(bus_width_bits, uint32_t, 5120, "bit", "data sheet")                                                   \
    X(l2_bytes, uint32_t, 50u << 20, "bytes", "measured: device attributes")                                 \
    X(threads_per_multiprocessor, uint32_t, 2048, "", "CUDA programming guide, compute capability 9.0")      \
    X(blocks_per_multiprocessor, uint32_t, 32, "", "the same")                                               \
    X(registers_per_multiprocessor, uint32_t, 65536, "", "the same")                                         \
    X(register_unit, uint32_t, 256, "", "registers are given to warps in units of 256")                      \
    X(shared_per_multiprocessor, uint32_t, 228u << 10, "bytes",                                              \
      "CUDA programming guide, compute capability 9.0")                                                      \
    X(shared_per_block_optin, uint32_t, 227u << 10, "bytes", "the same")                                     \
    X(shared_reserved, uint32_t, 1024, "bytes", "the same: taken by the system in every block")              \
    X(bandwidth, double, 3.0e12, "bytes/s", "measured: a fused addition of four arrays moves 3027 GB/s")     \
    X(saturating_threads, double, 512, "a multiprocessor",                                                   \
      "estimate: loads in flight that fill the memory system")                                               \
    X(issue_rate, double, 4, "warp instructions a cycle and multiprocessor", "four schedulers")              \
    X(instruction_latency, double, 6, "cycles", "estimate: dependent arithmetic, mixed with memory")         \
    X(barrier_cycles, double, 30, "cycles", "estimate")                                                      \
    X(kernel_floor_ns, double, 2000, "ns", "measured: the shortest kernels take about 2 us")                 \
    X(launch_gap_ns, double, 900, "ns", "measured: 2.9 us between dependent tiny kernels, less the floor")   \
    X(graph_gap_ns, double, 0, "ns", "measured: 1.36 us a kernel in a graph is below the floor")             \
    X(copy_device_rate, double, 2.981e12 / 2, "bytes/s", "measured: a copy reads and writes 2981 GB/s")      \
    X(copy_host_rate, double, 50e9, "bytes/s", "estimate: PCIe 5.0 x16, pinned memory")                      \
    X(copy_pageable_rate, double, 10e9, "bytes/s", "estimate")                                               \
    X(copy_floor_ns, double, 1500, "ns", "estimate")

struct emu_clock_device {
#define X(name, type, value, unit, source) type name;
    EMU_CLOCK_DEVICE(X)
#undef X
};
extern const struct emu_clock_device emu_clock_device;

enum emu_copy_kind { EMU_COPY_DEVICE, EMU_COPY_HOST, EMU_COPY_PAGEABLE, EMU_COPY_SET };

/* Blocks of block_threads threads that fit on one multiprocessor; 0: none. */
uint32_t emu_clock_occupancy(const struct emu_kernel_info *kernel, uint32_t block_threads,
                             uint32_t dynamic_shared);
uint64_t emu_clock_kernel_ns(const struct emu_counts *counts, const struct emu_launch *launch,
                             const struct emu_kernel_info *kernel);
/* From the end of one operation of a stream to the start of the next. */
uint64_t emu_clock_gap_ns(void);
uint64_t emu_clock_copy_ns(uint64_t bytes, enum emu_copy_kind kind);

#endif
