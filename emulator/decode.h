/* SPDX-License-Identifier: Apache-2.0
 * Inside the decoder: its state, and the parts that it is made of. */
#ifndef KFUSE_EMULATOR_DECODE_H
#define KFUSE_EMULATOR_DECODE_H

#include "emulator/engine.h"

enum { DECODE_NONE = 0xffffffff, DECODE_STEPS_MOST = 1 << 20, DECODE_DEPTH_MOST = 64 };

struct decode_place { /* where a variable lies */
    const struct ptx_variable *variable;
    enum ptx_space space; /* LOCAL for .param variables of calls */
    uint64_t address;
    bool is_dynamic; /* dynamic shared memory: the address counts from the end of the static one */
};

struct decode_fixup {
    uint32_t step, label;
    uint32_t *target; /* or a table's entry */
};

struct decode_instance { /* one copy of a function's body */
    struct decode_instance *caller;
    const struct ptx_function *function;
    uint32_t *slots;  /* by register */
    uint32_t *labels; /* by label: step */
    struct decode_place *places;
    uint32_t place_count, place_capacity;
    struct decode_fixup *fixups; /* label DECODE_NONE: the end of the function */
    uint32_t fixup_count, fixup_capacity;
    uint32_t depth;
};

struct decoder {
    struct arena *arena;
    struct emu_program *program;
    const struct lanes *lanes;
    struct code *code;
    struct decode_instance *instance;
    const struct ptx_function *kernel;
    const struct ptx_instruction *instruction;
    uint32_t step_capacity, constant_capacity, special_capacity, parameter_capacity;
    uint32_t guard, guard_flip;
    uint8_t issues;
    uint32_t always, sink, carry; /* slots */
    struct decode_place *shared;  /* shared variables of the kernel */
    uint32_t shared_count, shared_capacity;
    uint64_t **late; /* values that get the size of static shared memory added */
    uint32_t late_count, late_capacity;
};

/* Notes why the kernel cannot run (the first reason counts). Returns false. */
bool decode_fail(struct decoder *decoder, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- operands: decode_operand.c */
uint32_t decode_register_width(enum ptx_type type); /* bytes a lane; 0: a predicate */
uint32_t decode_temporary(struct decoder *decoder, uint32_t width);
uint32_t decode_constant(struct decoder *decoder, uint32_t width, uint64_t value);
/* The slot that holds an operand's value in `type`; steps are added where it must be computed. */
uint32_t decode_source(struct decoder *decoder, const struct ptx_operand *operand, enum ptx_type type);
/* The slot of operand's register; *width is set to its width. The sink for `_`. */
uint32_t decode_destination(struct decoder *decoder, const struct ptx_operand *operand, uint32_t *width);
uint32_t decode_operand_width(const struct decoder *decoder, const struct ptx_operand *operand);
bool decode_place_of(struct decoder *decoder, const struct ptx_variable *variable,
                     struct decode_place *place);
void decode_place_add(struct decoder *decoder, struct decode_instance *instance, struct decode_place place);
void decode_late(struct decoder *decoder, uint64_t *value);
uint32_t decode_local(struct decoder *decoder, uint64_t size, uint32_t alignment);

/* --- steps */
struct step *decode_step(struct decoder *decoder, enum step_kind kind);
/* NULL operations fail. Unused sources: pass the slot of any register. */
bool decode_lanes(struct decoder *decoder, lane_op run, uint32_t width, uint32_t d, uint32_t a, uint32_t b,
                  uint32_t c, uint32_t e, uint64_t extra);

/* --- instructions, by group; false: failed */
bool decode_arithmetic(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_compare(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_select(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_convert(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_move(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_cvta(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_isspacep(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_load(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_store(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_atomic(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_barrier(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_warp(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_call(struct decoder *decoder, const struct ptx_instruction *instruction);
bool decode_body(struct decoder *decoder, struct decode_instance *instance);

#endif
