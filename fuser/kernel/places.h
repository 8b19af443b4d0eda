/* SPDX-License-Identifier: Apache-2.0
 * Registers that hold an address of a kernel's parameters, or of its local variables, and how far behind the
 * variable's beginning, as far as that follows from the PTX alone. */
#ifndef KFUSE_FUSER_KERNEL_PLACES_H
#define KFUSE_FUSER_KERNEL_PLACES_H

#include "fuser/kernel/ssa.h"

enum place_kind {
    PLACE_NOT_YET, /* nothing defines it */
    PLACE_NUMBER,  /* offset is its value */
    PLACE_PARAMETER,
    PLACE_LOCAL,
    PLACE_OTHER,
};
struct place {
    enum place_kind kind;
    bool is_generic;                     /* an address: in the generic space, else in the variable's own */
    bool is_known;                       /* an address: offset is its distance from the variable */
    const struct ptx_variable *variable; /* NULL: one of several */
    int64_t offset;
};
struct places {
    const struct ptx_function *function;
    const struct ssa *ssa;
    struct place *of; /* by SSA value */
};

/* The function's own parameter: not one of a call. */
bool places_is_parameter(const struct ptx_function *function, const struct ptx_variable *variable);
/* Some operand other than of a plain `ld.param [name+offset]` names a parameter. */
bool places_are_taken(const struct ptx_function *function);
/* In the arena; false when memory is out. */
bool places_find(struct places *places, struct arena *arena, const struct ssa *ssa);
struct place places_of_operand(const struct places *places, uint32_t instruction,
                               const struct ptx_operand *operand);
/* Where a load or store goes to, its own offset included. OTHER where it names another space than the address has. */
struct place places_of_access(const struct places *places, uint32_t instruction);
/* NULL, or what is done with an address of this kind besides to compute another, to compare two of one variable,
 * to load, and, of a local variable, to store: whether that stays what it is is not known. */
const char *places_obstacle(const struct places *places, enum place_kind kind, uint32_t *instruction);

#endif
