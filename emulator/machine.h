/* SPDX-License-Identifier: Apache-2.0
 * Inside the machine: workers run blocks, blocks have warps, a warp's lanes stand in groups that share a
 * program counter. Lanes that diverge form more groups; the group with the smallest program counter runs
 * first and takes in those that it meets. */
#ifndef KFUSE_EMULATOR_MACHINE_H
#define KFUSE_EMULATOR_MACHINE_H

#include "emulator/engine.h"

#include <pthread.h>
#include <stdatomic.h>

/* Both are halved whenever they were not enough, so that loops which wait for other lanes or warps end soon.
 */
enum { PATIENCE_MOST = 4096, PATIENCE_LEAST = 16, TURNS_MOST = 1 << 16, TURNS_LEAST = 64 };
enum { BARRIER_COUNT = 16, WARPS_MOST = 32, THREADS_MOST = 1024, SECTOR_BYTES = 32 };
#define ALL_LANES UINT32_MAX

enum group_state { GROUP_READY, GROUP_AT_WARP_SYNC, GROUP_AT_BARRIER };
struct group {
    uint32_t pc, mask;
    enum group_state state;
    uint32_t barrier; /* GROUP_AT_BARRIER */
    bool is_forced;   /* runs a warp-wide instruction without the lanes that cannot come */
};

struct warp {
    unsigned char *frame, *local;
    uint32_t index;
    uint32_t exited;                     /* lanes that are done or never were */
    struct group groups[LANE_COUNT + 1]; /* one more while a group is being split */
    uint32_t group_count;
    uint64_t steps;    /* what %clock reads */
    uint32_t patience; /* backward branches of one group before another one of the warp goes on */
    uint32_t turns;    /* the same of the warp */
};

struct barrier {
    uint32_t arrived, expected; /* expected 0: every thread that has not exited */
    uint32_t count;             /* REDUCE: of true predicates */
    bool is_used;
};

struct traffic {        /* of one worker */
    uint64_t *bits;     /* one a sector of the reserved range */
    uint64_t *used;     /* one a word of bits: it is not 0 */
    uint64_t bytes;     /* of both */
    uint64_t low, high; /* words of used */
};

struct address_range {
    uint64_t start, size;
};

struct worker_memory { /* grows only */
    void *start;
    uint64_t bytes;
};

struct machine;
struct races;
struct worker {
    struct machine *machine;
    const struct code *code;
    const struct lanes *lanes;
    struct worker *next; /* between launches */
    struct worker_memory frames, local, shared_memory, range_memory;
    unsigned char *shared;
    struct warp warps[WARPS_MOST];
    struct barrier barriers[BARRIER_COUNT];
    struct address_range *ranges; /* by step: the allocation that it touched last */
    struct traffic loads, stores;
    struct races *races; /* NULL: no report */
    uint32_t warp_count, live_threads;
    uint32_t block[3];
    uint64_t block_number;
    uint64_t random;
    uint64_t instructions, warp_instructions, float_operations, barrier_count, reported, host_bytes_read,
        host_bytes_written;
    bool is_observed; /* accesses go one by one: races or watch */
    /* Where the worker goes on after a slice. */
    bool has_block, has_warp; /* has_warp: of warps that run one after the other, one is under way */
    uint32_t next_warp;
    uint64_t spent, allowance; /* turns of the slice, and how many it has */
    uint64_t lasting;          /* turns of the block */
};

struct machine {
    const struct emu_settings *settings;
    const struct emu_launch *launch;
    const struct code *code;
    const char *name;
    uint64_t memory_start, memory_end, window;
    uint32_t threads, warps, shared_bytes;
    uint32_t frames; /* of a worker: one a warp, or 1 where the warps of a block run one after the other */
    uint64_t blocks;
    _Atomic uint64_t next_block;
    _Atomic uint64_t instructions; /* for the limit */
    _Atomic bool is_stopped;
    pthread_mutex_t lock; /* of fault */
    struct emu_fault *fault;
    emu_watch watch;
    void *watch_context;
};

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };
enum run_result { RUN_AGAIN, RUN_BLOCKED, RUN_DONE, RUN_FAULT };

/* --- machine.c */
/* Notes the first fault of the launch: the thread is the first of mask; stops all workers unless it is a
 * race. */
void machine_fault(struct worker *worker, const struct warp *warp, uint32_t lane, const struct step *step,
                   enum emu_fault_kind kind, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
uint64_t machine_random(struct worker *worker);
void block_begin(struct worker *worker, uint64_t block_number);
/* Until the block ends (RUN_DONE), or the worker's turns are used up (RUN_AGAIN). */
enum run_result block_go(struct worker *worker);
void block_thread(const struct machine *machine, uint32_t linear, uint32_t thread[3]);

/* --- worker.c: NULL when memory is out */
struct worker *worker_open(struct machine *machine, uint32_t index);
void worker_close(struct worker *worker);

/* --- warp.c */
/* Runs until every lane waits or has exited, or the warp's turns are used up. */
enum run_result warp_run(struct worker *worker, struct warp *warp);

/* --- frame.c: constants, parameters and special registers in a warp's frame */
void frame_fill_launch(struct worker *worker, struct warp *warp);
void frame_fill_warp(struct worker *worker, struct warp *warp);
void frame_fill_block(struct worker *worker, struct warp *warp);
void frame_clock(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);

/* --- access.c: false is a fault */
bool access_load(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);
bool access_store(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);
bool access_atomic(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);
/* The host's pointer to an address of one lane, checked; NULL after a fault. */
void *access_lane(struct worker *worker, struct warp *warp, uint32_t lane, const struct step *step,
                  enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind);

/* --- atomic.c */
uint64_t atomic_apply(const struct step_memory *memory, void *place, uint64_t value, uint64_t swap,
                      bool is_shared);

/* --- traffic.c */
/* Keeps a map that fits. */
bool traffic_open(struct traffic *traffic, const struct machine *machine);
void traffic_close(struct traffic *traffic);
void traffic_mark(struct traffic *traffic, const struct machine *machine, uint64_t address, uint64_t bytes);
/* Distinct sectors in all of them; clears them. */
uint64_t traffic_sectors(struct traffic *const *traffic, uint32_t count);

/* --- barrier.c */
/* The group (mask: its lanes) arrives at step's barrier; its pc is already the next one. It waits there,
 * unless this completes the barrier. False: a fault. */
bool barrier_arrive(struct worker *worker, struct warp *warp, const struct step *step, struct group *group,
                    uint32_t mask);
/* After threads exited: releases barriers that only waited for them. */
void barrier_check(struct worker *worker);

/* --- collective.c: shfl, vote, match, redux, elect, activemask */
bool collective_run(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);
/* Lanes that must take part and are not in mask; 0 without a member mask. */
uint32_t collective_missing(const struct warp *warp, const struct step *step, uint32_t mask);

/* --- output.c: printf and assert */
bool output_call(struct worker *worker, struct warp *warp, const struct step *step, uint32_t mask);

/* --- races.c */
struct races *races_open(const struct machine *machine);
void races_close(struct races *races);
void races_access(struct worker *worker, const struct warp *warp, uint32_t lane, const struct step *step,
                  enum ptx_space space, uint64_t address, uint32_t bytes, enum access_kind kind);
/* --- race_order.c */
void races_block(struct worker *worker); /* a block begins */
/* Lanes of the warp arrive at a barrier of the block, to wait there or not. */
void races_arrive(struct worker *worker, const struct warp *warp, uint32_t id, uint32_t lanes, bool waits);
/* The barrier is complete: what was done before it is ordered before what those that waited do now. */
void races_barrier(struct worker *worker, uint32_t id);
/* Lanes of the warp have met. */
void races_warp(struct worker *worker, const struct warp *warp, uint32_t lanes);
/* Lanes that fence for the device. */
void races_fence(struct worker *worker, const struct warp *warp, uint32_t lanes);

#endif
