/* SPDX-License-Identifier: Apache-2.0
 * Projected time of a group. Model: a launch costs a fixed time on the device (its floor: the shortest
 * recorded kernel) and a gap to the launch before it; the rest of its time is in proportion to the bytes that
 * its threads move. Fusing keeps one floor, drops the gaps, and saves of each member's time the share of its
 * traffic that no longer moves. (Wahib and Maruyama, "Scalable Kernel Fusion for Memory-Bound GPU Applications", SC'14, section IV,
 * project from bytes over bandwidth; a share of the measured time is right also for kernels that the caches or
 * latency bound.) A halo fusion's code also decides, for each cell and load, where a value lies. Its stages run one after the other, so
 * what its instructions take to begin and what its traffic takes add up in part, and traffic waits where few threads are resident. */
#ifndef KFUSE_FUSER_PLANNER_PROJECTION_H
#define KFUSE_FUSER_PLANNER_PROJECTION_H

#include "fuser/planner/launch_class.h"

struct projection {
    double bytes_per_ns; /* effective memory bandwidth */
    double floor_ns;     /* of a kernel on the device */
    double gap_ns;       /* between two dependent launches that follow at once */
    double host_ns;      /* that the driver takes to accept a launch: the shortest recorded call */
    double load_ns;      /* that a run spends once on loading the code of a group */
    double latency_ns;   /* from a load that goes to memory to its value */
    double warps_per_ns; /* instructions of warps that it begins, at most; 0: not known */
    double cache_bytes;  /* of the level that all multiprocessors share */
    uint32_t multiprocessors;
    uint32_t registers_per_multiprocessor, threads_per_multiprocessor, blocks_per_multiprocessor,
        shared_per_multiprocessor;
};
struct projected {
    double original_ns, fused_ns;
};

/* Calibrates the model on the trace: median gap of neighbouring launches, shortest kernel. */
struct projection projection_calibrate(const struct program *program);
struct projection_kernel { /* a fused kernel */
    double saved_ns;       /* of the members' times, by what each no longer moves; nine tenths at most */
    double repeated_ns;    /* of computing that it does more than once */
    double waiting_ns;     /* more, of threads that run several of a member's, one after the other */
    double either_ns;      /* of members with loads from a tile or else from memory, as they run apart */
    double apart_ns;       /* of members to and from which hardly anything passes */
    double issued_ns;      /* that it takes at least to begin all of its instructions */
    double moved_ns;       /* that its traffic takes at least; 0: the members' times tell */
    double
        alone_share; /* of a multiprocessor's threads, that are resident where its members run apart; 0: not known */
    bool fits;      /* all of its blocks are resident at once */
    bool is_deep;   /* stages run tiles of three dimensions */
    bool has_loops; /* a member has: its iterations' loads are under way together */
    uint32_t threads, registers,
        static_shared; /* of a block; registers and shared memory 0 before it is compiled */
};
/* Of a multiprocessor's threads, the share that can be resident. */
double projection_occupancy(const struct projection *projection, const struct projection_kernel *kernel);
/* Blocks that are resident on a multiprocessor at a time, at most so many as its threads allow: *most. */
uint32_t projection_blocks(const struct projection *projection, const struct projection_kernel *kernel,
                           uint32_t *most);
/* Of traffic that a block repeats, the share that a cache saves: none where what the resident blocks touch
 * does not fit. block_bytes: of one of the blocks. */
double projection_cached(const struct projection *projection, uint64_t block_bytes, uint64_t blocks,
                         const struct projection_kernel *kernel);
/* The share of it that a cache serves at all. */
double projection_held(const struct projection *projection, uint64_t block_bytes, uint64_t blocks,
                       const struct projection_kernel *kernel);
struct projected projection_group(const struct projection *projection, const uint64_t *member_ns,
                                  uint32_t count, const struct projection_kernel *kernel);

#endif
