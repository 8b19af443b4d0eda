/* SPDX-License-Identifier: Apache-2.0
 * The engine: runs PTX kernels on the CPU, warp by warp. Semantics: PTX ISA 9.0. Not part of it: streams,
 * handles, errors of the driver API (driver.c) and time (clock.h).
 *
 * Order: blocks run one after the other on each of N worker threads (settings.workers), but for blocks that
 * seem to wait for others (emu_run_go). Without a seed the order is fixed; with a seed, blocks, warps and
 * divergent paths inside a warp are taken in a random order that the seed fixes (then one worker), and shared
 * memory that is not written yet holds garbage. Race report: two accesses of different threads to one byte in
 * one launch, one of them a write and one of them plain (neither atomic nor volatile), not ordered by
 * barriers of their block or warp. */
#ifndef KFUSE_EMULATOR_EXEC_H
#define KFUSE_EMULATOR_EXEC_H

#include "ptx/ptx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_settings {
    uint64_t seed; /* 0: fixed order */
    bool report_races;
    uint32_t
        workers; /* CPU threads; 0: as many as processors. One is used with a seed, race report or watch, for
                  * small launches, and where an atomic's result or rounding depends on the order of blocks */
    uint64_t step_limit; /* thread instructions of one launch before it is called hung; 0: none */
    /* What a call of printf, or an assertion that fails, prints; NULL: nothing. From any worker. */
    void (*print)(void *context, bool is_error, const char *text, size_t length);
    void *print_context;
};

/* A loaded module: variables live in device memory. */
struct emu_program;
/* ptx: NUL-terminated text. NULL with *error (to be freed by the caller) when the module cannot be loaded. A
 * function with an unknown opcode loads; launching it fails. */
struct emu_program *emu_program_load(const char *name, const char *ptx, char **error);
void emu_program_unload(struct emu_program *program);
/* Gives variables their first values again. */
void emu_program_reset(struct emu_program *program);

struct emu_kernel; /* belongs to its program */
const struct emu_kernel *emu_program_kernel(const struct emu_program *program, const char *name);
uint32_t emu_program_kernel_count(const struct emu_program *program);
const struct emu_kernel *emu_program_kernel_at(const struct emu_program *program, uint32_t index);
/* Address and size of a module variable. */
bool emu_program_variable(const struct emu_program *program, const char *name, uint64_t *address,
                          uint64_t *size);

struct emu_kernel_info {
    const char *name;
    uint32_t registers; /* estimate: most 32-bit registers live at once */
    uint32_t static_shared, local_bytes, constant_bytes, max_threads;
    uint32_t parameter_count, parameter_bytes;
    uint32_t required[3]; /* the only block that it may be launched with; 0: any */
};
void emu_kernel_info(const struct emu_kernel *kernel, struct emu_kernel_info *info);
/* Offset and size of a parameter in the parameter buffer. */
bool emu_kernel_parameter(const struct emu_kernel *kernel, uint32_t index, uint32_t *offset, uint32_t *size);

struct emu_launch {
    const struct emu_kernel *kernel;
    uint32_t grid[3], block[3], dynamic_shared;
    const void *parameters; /* info.parameter_bytes */
    uint64_t clock_ns;      /* what %globaltimer reads at the start */
};

struct emu_counts {        /* what clock.c turns into time */
    uint64_t instructions; /* by threads */
    uint64_t warp_instructions;
    uint64_t load_bytes, store_bytes; /* of distinct 32-byte sectors of device memory touched in this launch,
                                       * and every byte moved from and to host memory */
    uint64_t float_operations, barriers;
};

enum emu_fault_kind {
    EMU_FAULT_NONE,
    EMU_FAULT_ADDRESS,
    EMU_FAULT_ALIGNMENT,
    EMU_FAULT_OPCODE,
    EMU_FAULT_TRAP,
    EMU_FAULT_ASSERT,
    EMU_FAULT_HUNG,
    EMU_FAULT_BARRIER,
    EMU_FAULT_RESOURCES,
    EMU_FAULT_RACE,
};
struct emu_fault { /* the first one of a launch */
    enum emu_fault_kind kind;
    char message[512]; /* kernel, block, thread, address, line and text of the PTX instruction */
    uint32_t line;
    uint64_t address;
};
/* Every access can be watched for tests: the instruction, the thread (block and thread coordinates), the
 * address, the bytes and whether it writes. */
typedef void (*emu_watch)(void *context, const struct ptx_instruction *instruction, const uint32_t block[3],
                          const uint32_t thread[3], uint64_t address, uint32_t bytes, bool is_write);

/* A launch under way, run in slices. What launch->parameters points to must stay until it is closed. NULL
 * with *fault: it cannot begin. watch may be NULL. */
struct emu_run;
struct emu_run *emu_run_open(const struct emu_settings *settings, const struct emu_launch *launch,
                             struct emu_fault *fault, emu_watch watch, void *watch_context);
/* Goes on; true when the launch has ended. It stops before that when it has used so many turns, as a rule one
 * a backward branch of a warp: without a seed since a block ended or a call of this began, for which only
 * loops that wait for something take long; with a seed in all, whose turns are some instructions of a warp.
 * Where a block seems to wait for later blocks, up to 64 of them go on in turns (not with a race report or
 * watch). Each call may come from another thread. */
bool emu_run_go(struct emu_run *run, uint64_t turns);
/* Also of one that has not ended. False with *fault on a fault. */
bool emu_run_close(struct emu_run *run, struct emu_counts *counts, struct emu_fault *fault);
/* Runs one launch to its end. False with *fault on a fault; a race (fault->kind RACE) does not end the launch
 * and the result is then false after it has finished. */
bool emu_run(const struct emu_settings *settings, const struct emu_launch *launch, struct emu_counts *counts,
             struct emu_fault *fault, emu_watch watch, void *watch_context);

#endif
