/* SPDX-License-Identifier: Apache-2.0
 * Projected time of a group. Model: a launch costs a fixed time on the device (its floor: the shortest
 * recorded kernel) and a gap to the launch before it; the rest of its time moves bytes or computes. Fusing
 * keeps one floor, drops the gaps, and saves the bytes that no longer move, at the device's effective
 * bandwidth (seed 000, section V: the roofline bound on what a fusion can save). */
#ifndef KFUSE_FUSER_PLANNER_PROJECTION_H
#define KFUSE_FUSER_PLANNER_PROJECTION_H

#include "fuser/planner/launch_class.h"

struct projection {
    double bytes_per_ns; /* effective memory bandwidth */
    double floor_ns;     /* of a kernel on the device */
    double gap_ns;       /* between two dependent launches that follow at once */
    double host_ns;      /* that the driver takes to accept a launch: the shortest recorded call */
    uint32_t registers_per_multiprocessor, threads_per_multiprocessor;
};
struct projected {
    double original_ns, fused_ns;
};

/* Calibrates the model on the trace: median gap of neighbouring launches, shortest kernel. */
struct projection projection_calibrate(const struct program *program);
/* registers: of the fused kernel, 0 before it has been compiled; threads: of its block. */
struct projected projection_group(const struct projection *projection, const uint64_t *member_ns,
                                  uint32_t count, uint64_t bytes_saved, uint32_t registers, uint32_t threads);

#endif
