/* SPDX-License-Identifier: Apache-2.0
 * What inline.c writes: the parts of the copy, one growing array each, and loads and stores of parameters as
 * moves. */
#ifndef KFUSE_FUSER_KERNEL_INLINE_MOVE_H
#define KFUSE_FUSER_KERNEL_INLINE_MOVE_H

#include "ptx/ptx.h"

struct inline_output {
    struct arena *arena;
    struct ptx_register *registers;
    const struct ptx_variable **variables;
    struct ptx_instruction *instructions;
    struct ptx_label *labels;
    struct ptx_table *tables;
    uint32_t register_count, register_capacity, variable_count, variable_capacity, instruction_count,
        instruction_capacity, label_count, label_capacity, table_count, table_capacity;
    bool has_failed; /* memory is out, or a call is malformed */
};
/* Their numbers; false or a wrong number with has_failed set. */
uint32_t inline_add_register(struct inline_output *output, struct ptx_register reg);
uint32_t inline_add_label(struct inline_output *output, const char *name);
bool inline_add_variable(struct inline_output *output, const struct ptx_variable *variable);
bool inline_add_instruction(struct inline_output *output, const struct ptx_instruction *instruction);
/* first_label: what the table's labels are counted from. */
bool inline_add_table(struct inline_output *output, struct ptx_table table, uint32_t first_label);
/* The label stands before the next instruction. */
void inline_set_label(struct inline_output *output, uint32_t label);
/* in place of an instruction, for messages */
bool inline_add_branch(struct inline_output *output, const struct ptx_instruction *place, int32_t guard,
                       bool is_negated, uint32_t label);
/* The parts become the function's. */
void inline_take(struct inline_output *output, struct ptx_function *function);

/* `ld.param.f32` as `ld.local.f32`; text NULL: memory is out, or it is none */
struct ptx_span inline_local_mnemonic(struct arena *arena, struct ptx_span mnemonic);

struct inline_piece { /* bytes of a parameter that are always accessed together */
    int64_t offset;
    uint32_t bytes;
    int32_t reg;
};
struct inline_access {
    const struct ptx_instruction *instruction; /* its operands count registers from first_register */
    uint32_t first_register;
    int64_t offset;
    struct inline_piece **pieces; /* grown for what is met first */
    uint32_t *piece_count;
};
enum inline_outcome { INLINE_MOVED, INLINE_MIXED /* not those pieces */, INLINE_FAILED };
/* Moves between the instruction's registers and the pieces. */
enum inline_outcome inline_move(struct inline_output *output, const struct inline_access *access);

#endif
