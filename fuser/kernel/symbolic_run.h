/* SPDX-License-Identifier: Apache-2.0
 * A thread's way through a function, run symbolically for a loop of a known number of iterations,
 *
 *     for (i = first; i < limit; i += step) body
 *
 * in whatever form a compiler has brought it: unrolled, with iterations before or behind, with a count made by a division. What
 * the thread leaves is one value, made of its stores in their order; two functions that leave equal values for every number of iterations
 * do the same.
 *
 * The number of iterations decides: `index < limit`, where index is first + k * step; what is made of the count, which is a division by
 * the step. All other ways that the thread may take are both run, and joined. */
#ifndef KFUSE_FUSER_KERNEL_SYMBOLIC_RUN_H
#define KFUSE_FUSER_KERNEL_SYMBOLIC_RUN_H

#include "fuser/kernel/liveness.h"
#include "fuser/kernel/loops.h"
#include "fuser/kernel/symbols.h"

/* What symbols_operation's words begin with. Words that follow are arguments but where said. */
enum symbol_tag {
    TAG_SPECIAL = 1, /* which: enum ptx_special */
    TAG_VARIABLE,    /* its address: two halves of a pointer to the variable, offset */
    TAG_FLOAT,       /* is it double, two halves of its bits */
    TAG_TRUE,
    TAG_FALSE,
    TAG_COUNT,     /* of iterations */
    TAG_START,     /* memory, as the thread finds it */
    TAG_TURN,      /* the number of a loop's turn, times an atom; 0: alone */
    TAG_CHOICE,    /* predicate, one value, the other */
    TAG_RESULT,    /* which of an instruction's results: a number; then as TAG_COMPUTE */
    TAG_COMPUTE,   /* an instruction: symbolic_run.c */
    TAG_PARAMETER, /* offset, bytes: of an integer */
    TAG_WIDE,      /* has it a sign, a form of 32 bits: the number as one of 64 */
    TAG_PRODUCT,   /* bits, two forms, the lesser first: of two numbers, modulo 2^bits */
};
enum { RUN_DECISIONS = 16, RUN_VISITS = 17, RUN_WIDENED = 64, RUN_MOST_UNROLLED = 16 };

/* A function, looked at for one loop. */
struct symbolic_function {
    const struct ptx_function *function;
    const struct dominators *dominators;
    const struct loop_forest *forest;
    const struct ssa *ssa;
    struct liveness liveness;
    uint32_t header, latch; /* of the loop */
    uint32_t guard;         /* the instruction that compares first with limit: its operands 1 and 2 */
};
/* What a run found; equal for all functions and numbers of iterations but where said. */
struct symbolic_run {
    struct symbols *symbols;
    struct arena *arena;
    uint32_t iterations;          /* what is asked */
    uint32_t first, limit;        /* forms, of the same bits */
    uint32_t step;                /* form; SYMBOL_NONE: no division by it was met */
    uint32_t period;              /* a power of 2: only the count modulo it, and whether it is less, decide */
    uint32_t memory;              /* as the thread leaves it; of this run */
    uint32_t visit_count;         /* of the loop's header */
    uint32_t *visits[RUN_VISITS]; /* the first ones: register -> value */
    uint32_t visit_memories[RUN_VISITS];
    uint32_t decision_count; /* before the header's first visit, by the number of iterations */
    struct decision {
        uint32_t branch;
        bool is_taken;
    } decisions[RUN_DECISIONS];
    /* Numbers of 32 bits read as such of 64: right where they are from -2^31 (unsigned: 0) to 2^31 - 1. */
    uint32_t widened_count;
    struct widened {
        int64_t of_index; /* so many times the index of an iteration, or the one after the last */
        uint32_t rest;    /* form of 64 bits: what is added */
        bool is_signed;
    } widened[RUN_WIDENED];
};
/* False: it can't be run so. */
bool symbolic_run(const struct symbolic_function *function, struct symbolic_run *run);

/* How many steps lie between first and the form. False: none such. */
bool symbolic_steps(const struct symbolic_run *run, uint32_t form, uint32_t *steps);

/* One turn of the loop that is not the last, from its header to its jump back; first is the index that it begins with, iterations how
 * many iterations it has. The values of registers and memory: before, and then behind it. False: it can't be run so. */
bool symbolic_turn(const struct symbolic_function *function, struct symbolic_run *run, uint32_t *registers,
                   uint32_t *memory);

#endif
