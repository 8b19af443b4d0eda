/* SPDX-License-Identifier: Apache-2.0
 * Inside the engine: a kernel decoded into steps, and what decoder and machine agree on. A kernel is decoded
 * once, with the functions that it calls copied into it, so that a warp has one program counter space and one
 * frame.
 *
 * Frame: the bytes of one warp's registers. A register of N bytes has 32 * N bytes (lane after lane), a
 * predicate 4 (one bit a lane), constants and special registers have slots like registers and are filled in
 * before a warp starts. */
#ifndef KFUSE_EMULATOR_ENGINE_H
#define KFUSE_EMULATOR_ENGINE_H

#include "emulator/exec.h"
#include "emulator/lanes.h"
#include "ptx/ptx.h"

#include <pthread.h>

/* Where generic addresses of the other spaces lie, from emu_memory_window() -- ISA 5.2 */
enum { WINDOW_BYTES = 16 << 20, WINDOW_SHARED = 0, WINDOW_LOCAL = 16 << 20, WINDOW_PARAM = 32 << 20 };

enum step_kind {
    STEP_LANES,         /* d = run(a, b, c, e) */
    STEP_LANES_ROUNDED, /* the same in another rounding mode */
    STEP_BRANCH,        /* to target */
    STEP_BRANCH_TABLE,  /* to targets[a] */
    STEP_EXIT,
    STEP_LOAD,
    STEP_STORE,
    STEP_ATOMIC,
    STEP_BARRIER,
    STEP_WARP, /* shfl, vote, match, redux, elect, bar.warp.sync, activemask: by source opcode */
    STEP_CLOCK,
    STEP_TRAP,
    STEP_FENCE, /* of more than the block; told to the race report alone */
    STEP_CALL,  /* of a function without a body */
};

/* Effective address: base (a slot of base_width bytes, 0: none) + offset. */
struct step_memory {
    enum ptx_space space;
    enum ptx_type type;
    uint8_t bytes; /* of one element in memory */
    uint8_t count; /* elements: .v2 .v4 .v8 */
    uint8_t base_width;
    uint8_t value_width; /* of the registers that hold elements */
    bool is_signed;      /* extension of narrow loads */
    bool is_strong;      /* volatile, relaxed, acquire, release: no data race among themselves */
    bool is_device;      /* atomic for more than the block */
    bool acquires, releases;
    uint32_t base;
    uint64_t offset;
    uint32_t values[8];          /* slots; UINT32_MAX: nothing */
    enum ptx_modifier operation; /* atom, red */
    bool is_sink;                /* red, or atom into _ */
};

struct step_barrier {
    enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_REDUCE } kind;
    uint32_t id, count; /* slots, 4 bytes; count UINT32_MAX: all threads */
    uint32_t predicate; /* slot, REDUCE */
    enum ptx_modifier operation;
};

struct step_warp {        /* slots are UINT32_MAX where there is none */
    uint32_t member_mask; /* slot, 4 bytes */
    uint32_t value, second, third;
    uint32_t predicate_out;
    uint8_t width; /* of value: 4 or 8 */
};

/* A call of a function that the machine has: its arguments and result lie in local memory. */
struct step_call {
    struct step_memory memory; /* what it reads is read like this */
    enum { CALL_VPRINTF, CALL_ASSERTFAIL } function;
    uint32_t arguments[5], result; /* offsets in a thread's local memory */
};

struct step {
    lane_op run;
    uint64_t extra;
    uint32_t d, a, b, c, e; /* slots: offsets in the frame */
    uint32_t guard, guard_flip;
    uint8_t kind, width; /* width: bytes of d, 0 a predicate */
    uint8_t issues;      /* 1 on the first step of an instruction */
    uint8_t float_operations;
    int rounding; /* FE_... */
    uint32_t target;
    union {
        const struct step_memory *memory;
        const struct step_call *call; /* also as memory */
        const struct step_barrier *barrier;
        const struct step_warp *warp;
        const uint32_t *targets; /* extra of them */
    };
    const struct ptx_instruction *source;
};

struct code_slot { /* a constant or a special register in the frame */
    uint32_t slot, width;
    uint64_t value; /* constants */
    bool is_late;   /* constants: the start of dynamic shared memory is to be added; no other's */
    enum ptx_special special;
};

struct code_parameter { /* a kernel parameter that is read as a whole */
    uint32_t slot, offset;
    uint8_t bytes, width;
    bool is_signed;
};

struct code {
    struct step *steps;
    uint32_t count;
    uint32_t frame_bytes;
    struct code_slot *constants, *specials;
    uint32_t constant_count, special_count, parameter_count;
    struct code_parameter *parameters;
    uint32_t local_bytes, shared_bytes;
    uint32_t dynamic_alignment;
    bool needs_all_warps;    /* barriers or shared memory: the warps of a block take turns */
    bool is_order_sensitive; /* atomics whose results depend on the order of blocks */
    const char *fault;       /* why it cannot run, or NULL */
    uint32_t fault_line;
};

struct emu_kernel {
    struct emu_program *program;
    const struct ptx_function *function;
    struct arena *arena;
    struct code *code; /* NULL until asked for */
    uint32_t registers;
};

struct program_variable {
    const struct ptx_variable *variable;
    uint64_t address;
};

struct emu_program {
    struct ptx_module *module;
    struct emu_kernel *kernels;
    uint32_t kernel_count;
    struct program_variable *variables; /* of global and constant memory */
    uint32_t variable_count;
    uint64_t functions; /* address that stands for function 0; one byte a function */
    pthread_mutex_t lock;
};

/* The kernel's code, decoded on the first call; NULL when memory is out. */
const struct code *emu_kernel_code(const struct emu_kernel *kernel);
struct code *decode_kernel(struct arena *arena, struct emu_program *program,
                           const struct ptx_function *function);
/* Address of a module variable, 0: none. */
uint64_t program_address(const struct emu_program *program, const struct ptx_variable *variable);
uint64_t program_function_address(const struct emu_program *program, const char *name);
/* Most 32-bit registers live at once. */
uint32_t liveness_registers(const struct ptx_function *function);
/* By register: whether some path reads it before it is written. */
void liveness_undefined(const struct ptx_function *function, bool *undefined);

#endif
