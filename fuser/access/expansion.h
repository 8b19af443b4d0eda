/* SPDX-License-Identifier: Apache-2.0
 * A launch whose threads iterate loops, seen as one that has a thread for each iteration: iteration t of
 * thread (x, y) is thread (x, y, t) of the expanded launch, which halo fusion can place, serve and run again
 * like any other.
 *
 * The loops are the outermost ones; their iterations are numbered one loop after the other, first +
 * iteration. A thread of the expanded launch runs what the kernel does before its loops, passes over loops of
 * earlier iterations, runs one iteration of its own loop, and ends. Both launches leave the same memory where
 * 1. a loop is left at its latch only, and every thread that enters it iterates as often, a number that is
 * known (it follows from words that are guarded);
 * 2. what an iteration leaves in registers for the next ones, or a loop for what comes after, are integers to
 * which each iteration adds the same: start + iterations * step is exact, as both wrap alike. A step is a
 * number, or a register that the loop does not write;
 * 3. nothing is stored outside of loops, there are no atomics, and no memory of the thread's own;
 * 4. no byte that one iteration writes is touched by another, nor by what is done before each: halo.c asks
 * that of the fused iteration space, as it depends on where pointers lead. */
#ifndef KFUSE_FUSER_ACCESS_EXPANSION_H
#define KFUSE_FUSER_ACCESS_EXPANSION_H

#include "fuser/access/access.h"
#include "fuser/kernel/liveness.h"
#include "fuser/kernel/loops.h"

enum { EXPANSION_MOST_ITERATIONS = 65535 }; /* the iteration is a coordinate along z */

struct expansion_step { /* each iteration adds this to the register, so many times */
    int32_t reg;
    uint32_t times;
    const struct ptx_operand *addend; /* an integer, or a register */
    bool is_subtracted;
};
struct
    expansion_result { /* read behind the loop: what the register `from` is in the last iteration, and steps
                        */
    int32_t reg, from;
};
struct expansion_loop {
    uint32_t header, latch;     /* blocks */
    uint32_t first, iterations; /* 0: no thread enters it */
    struct expansion_step *steps;
    uint32_t step_count;
    struct expansion_result *results;
    uint32_t result_count;
    struct expansion_step *last_steps; /* of results */
    uint32_t last_step_count;
};
struct expansion {
    const char *refusal; /* NULL, or why not, with kernel and line: then only this is valid */
    const struct ptx_cfg *cfg;
    struct expansion_loop *loops; /* in an order in which threads reach them */
    uint32_t loop_count, iterations;
    struct access_summary
        summary; /* of the expanded launch: grid.z is the number of iterations; shares its arena */
};

/* Found once for a summary, which owns it. NULL: the launch has no loop, or memory is out. */
const struct expansion *expansion_of(const struct access_summary *summary);
/* The loop to which the block is the header (or the latch), or NULL. */
const struct expansion_loop *expansion_loop_at(const struct expansion *expansion, uint32_t header);
const struct expansion_loop *expansion_loop_left_at(const struct expansion *expansion, uint32_t latch);
/* A later loop iterates: those pass over this one. */
bool expansion_is_passed(const struct expansion *expansion, const struct expansion_loop *loop);

/* --- expansion_values.c: rule 2 */
struct expanding {
    struct arena *arena;
    const struct access_summary *summary;
    const struct ptx_cfg *cfg;
    const struct loop_forest *forest;
    const struct ssa *ssa;
    struct liveness liveness;
    uint32_t *
        writers; /* register -> an instruction of the loop that is looked at which writes it, or UINT32_MAX */
    const char *why; /* of a refusal */
};
/* Fills the steps of a loop. False with why. */
bool expansion_find_steps(struct expanding *expanding, int32_t number, bool is_passed,
                          struct expansion_loop *loop);
/* Always false. */
bool expansion_refuse(struct expanding *expanding, uint32_t instruction, const char *why);

#endif
