/* SPDX-License-Identifier: Apache-2.0
 * Kernels as C that a person can read: PTX with its control flow as if, while and for (goto where it has no
 * such form), and expressions in place of registers that are read once. For reading, not for compiling: what
 * C has no words for is called by its mnemonic or kept as asm. The names are those of CUDA C: `a + b` may be
 * contracted by the compiler, as add.f32 may be,
 * __fadd_rn(a, b) is add.rn.f32. Comments at the right end of a line
 * give lines of the PTX: of all memory accesses of the statement, or else, in parentheses and every so often,
 * of the statement itself. Every memory access of the PTX that can be reached stands there once. */
#ifndef KFUSE_FUSER_DECOMPILE_DECOMPILE_H
#define KFUSE_FUSER_DECOMPILE_DECOMPILE_H

#include "ptx/ptx.h"

struct decompile_place { /* what becomes of a load or store in a fused kernel; all NULL: nothing else */
    const char *value;   /* a load: what it takes instead of the array's element */
    const char *also;    /* a variable, or element of a tile, that keeps what is loaded or stored */
    const char *comment; /* behind the statement */
    bool is_dropped;     /* a store: it is not made */
};
/* What a caller wants otherwise; any may be NULL, or return NULL for "as it was". */
struct decompile_names {
    /* Of the parameter, or of its part, at this offset in the buffer. */
    const char *(*parameter)(void *context, uint32_t offset);
    /* Of a load or store; *place is zeroed. */
    void (*place)(void *context, uint32_t instruction, struct decompile_place *place);
    const char *prefix; /* of registers and labels */
    void *context;
};
struct decompile_options {
    const char *title; /* a comment above, or NULL */
    bool is_body;      /* only what stands between the kernel's braces */
    const char *leave; /* a label that `return` leads to instead, or NULL; set at the end where one does */
    unsigned depth;    /* of indentation */
    const struct decompile_names *names;
    unsigned char *shown; /* one an instruction: how often it was written, or NULL */
};
/* False with *reason (in the arena) when the kernel's text or control flow cannot be read, or memory is out.
 */
bool decompile_kernel(FILE *out, struct arena *arena, const struct ptx_function *function,
                      const struct decompile_options *options, const char **reason);

#endif
