/* SPDX-License-Identifier: Apache-2.0
 * A kernel that is being written as C. Registers are C variables; one with a single definition is written in
 * the place of its use where that is the same (fold.c). Internal to fuser/decompile. */
#ifndef KFUSE_FUSER_DECOMPILE_CODE_H
#define KFUSE_FUSER_DECOMPILE_CODE_H

#include "fuser/decompile/decompile.h"
#include "fuser/kernel/dominators.h"

enum { CODE_NONE = -1, CODE_ALL_REGISTERS = -2 };

/* How tightly an expression's outermost operator binds. */
enum precedence {
    PRECEDENCE_CONDITION = 1,
    PRECEDENCE_LOGICAL_OR,
    PRECEDENCE_LOGICAL_AND,
    PRECEDENCE_OR,
    PRECEDENCE_XOR,
    PRECEDENCE_AND,
    PRECEDENCE_EQUALITY,
    PRECEDENCE_RELATION,
    PRECEDENCE_SHIFT,
    PRECEDENCE_SUM,
    PRECEDENCE_PRODUCT,
    PRECEDENCE_UNARY,
    PRECEDENCE_PRIMARY,
};
enum text_sign { SIGN_ANY, SIGN_SIGNED, SIGN_UNSIGNED }; /* of the value in C; ANY: a number, or no integer */
struct text {
    const char *string;
    enum precedence precedence;
    enum text_sign sign;
};

struct code_register {
    const char *name;
    enum ptx_type type; /* as a C variable: never PTX_B32 and the like */
    uint32_t definition_count;
    int32_t definition;    /* the only one, not under a guard; or CODE_NONE */
    uint32_t references;   /* in the text, by name */
    uint32_t reference_at; /* the last one: an instruction */
    bool is_folded;        /* written where it is referred to */
    bool is_hoisted;       /* declared at the top */
    uint32_t scope;        /* of its definition */
    int32_t pointer;       /* a parameter's offset: an address in what that points to; or CODE_NONE */
    const char *alias;     /* an element of a vector that was loaded */
};
struct code {
    struct arena *arena;
    const struct ptx_function *function;
    const struct decompile_options *options;
    struct ptx_cfg *cfg;
    struct dominators *dominators;
    struct code_register *registers;
    uint32_t **definitions;  /* register -> its defining instructions, definition_count of them, ascending */
    bool *is_pointer;        /* parameter buffer offset / 4: used as the base of an address */
    enum ptx_type *elements; /* likewise: what it points to, or PTX_NO_TYPE */
    enum ptx_type *variable_elements; /* of the function's variables, by number */
    bool *is_written;                 /* likewise: stored to */
    /* while a statement is written */
    uint32_t at;                    /* its instruction */
    uint32_t lines[64], line_count; /* of its memory accesses */
    bool has_left;                  /* a jump to options->leave was written */
    bool is_counting;               /* references are being counted */
    int32_t *seen;                  /* registers that it refers to, or NULL: not asked for */
    uint32_t seen_count;
};

/* --- types.c: registers as C variables --------------------------------------------------------------- */
bool types_infer(struct code *code);
const char *types_name(enum ptx_type type); /* "unsigned" */
/* The type of an instruction's result, or of what it stores. */
enum ptx_type types_result(const struct ptx_instruction *instruction);
/* Of an operand: PTX_NO_TYPE for one that is no value. */
enum ptx_type types_operand(const struct ptx_instruction *instruction, uint32_t operand);
/* Signed or not makes a difference to the result. */
bool types_see_sign(const struct ptx_instruction *instruction);
enum ptx_type types_plain(enum ptx_type type); /* bits become unsigned integers */

/* --- registers.c --------------------------------------------------------------------------------------- */
bool registers_collect(struct code *code);
/* Some definition of the register lies behind one instruction and before another of the same block; or they
 * are in two. */
bool registers_may_change(const struct code *code, int32_t reg, uint32_t from, uint32_t to);
/* The register is written as its definition wherever it is read: a parameter, a constant, a thread's number.
 */
bool registers_is_plain(const struct code *code, int32_t reg);
/* The instruction loads a parameter, or part of one, by its name. */
bool registers_is_parameter(const struct ptx_instruction *instruction);
/* Such a load reads bytes that another one reads in other pieces, or as another type. */
bool registers_overlap(const struct code *code, uint32_t load);
const char *registers_type(const struct code_register *info); /* of its declaration */
/* The destination, if it is one whole register; else CODE_NONE. */
int32_t registers_destination(const struct ptx_instruction *instruction);

/* --- operand.c ------------------------------------------------------------------------------------------ */
struct text text_primary(const char *string);
struct text text_cast(struct code *code, const char *type, struct text text);
struct text text_with_sign(struct text text, enum text_sign sign);
enum text_sign text_sign_of(enum ptx_type type);
/* In parentheses where it binds less tightly. */
const char *expression_within(struct code *code, struct text text, enum precedence precedence);
struct text expression_operand(struct code *code, uint32_t instruction, uint32_t operand);
struct text expression_register(struct code *code, int32_t reg);
const char *expression_symbol(struct code *code, const char *symbol);
/* "p2", or a part of a struct: "p2.at8". */
const char *expression_parameter(struct code *code, uint32_t offset);
/* The parameter of this name; NULL: the symbol is none. */
const char *expression_whole_parameter(struct code *code, const char *symbol);

/* --- expression.c --------------------------------------------------------------------------------------- */
struct text expression_of(struct code *code, uint32_t instruction); /* what the instruction computes */
struct text expression_by_mnemonic(struct code *code, uint32_t instruction);
struct text expression_condition(struct code *code, int32_t predicate, bool is_negated);
struct text expression_comparison(struct code *code, uint32_t setp, bool is_negated);
/* It has one result, which follows from its operands alone. */
bool expression_is_known(const struct ptx_instruction *instruction);

/* --- address.c ------------------------------------------------------------------------------------------ */
/* The element that a load, store or atomic touches, as an lvalue. */
struct text address_element(struct code *code, uint32_t instruction);

/* The instruction accesses memory through this pointer. */
void address_note(struct code *code, uint32_t parameter, const struct ptx_instruction *instruction);

/* --- pointers.c ----------------------------------------------------------------------------------------- */
bool pointers_infer(struct code *code);

/* --- fold.c: which registers are written in the place of their use --------------------------------------- */
void fold_registers(struct code *code);

/* --- statement.c ---------------------------------------------------------------------------------------- */
/* Without indentation, semicolon included; NULL: nothing is to be written. May hold several, separated by
 * newlines. */
const char *statement_of(struct code *code, uint32_t instruction);
/* What the caller says of a load or store, and whether it says anything. */
struct decompile_place statement_place(const struct code *code, uint32_t instruction);
bool statement_is_placed(const struct code *code, uint32_t instruction);
bool statement_has_effect(const struct ptx_instruction *instruction);

#endif
