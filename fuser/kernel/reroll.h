/* SPDX-License-Identifier: Apache-2.0
 * Loops that a compiler has unrolled, as they were. Of `for (i = first; i < limit; i += step)`, where the step is no
 * constant, nvcc makes a loop of four iterations, and the one, two or three that are left before it, in code of their own.
 * Seen so, no analysis knows what one iteration does. Here the loop's first copy is made the loop, and all else of it is
 * left out. That this is the same is not read off the code's form, but proved (symbolic_run.h):
 * 1. for each number of iterations less than four times the copies, both functions leave equal values of memory;
 * 2. a turn of the loop that has had any number of turns before it does what as many turns of the rolled loop do as it
 *    has copies, whatever memory holds; both leave the registers that are carried as the next such turn finds them;
 * 3. the first turn begins where the iterations that are left for no whole turn have been done, and memory is left as the
 *    last turn leaves it.
 * It holds for launches in which some numbers of 32 bits are less than 2^31, as they must be in C, where they have signs,
 * but in PTX need not: reroll_holds. */
#ifndef KFUSE_FUSER_KERNEL_REROLL_H
#define KFUSE_FUSER_KERNEL_REROLL_H

#include "fuser/kernel/symbolic_run.h"

struct reroll {
    const struct ptx_function
        *function; /* with the loop as it was; instructions keep their numbers, some are added at the end */
    struct symbolic_run
        run; /* first, limit, step; widened: what must be numbers of 32 bits for each iteration */
};
/* All in the arena, but for run.symbols: reroll_close. NULL: the function has no such loop, or memory is out. */
const struct reroll *reroll_find(struct arena *arena, const struct ptx_function *function);
void reroll_close(const struct reroll *reroll);

/* A launch. */
struct reroll_launch {
    const unsigned char *parameters; /* as cuLaunchKernel's */
    uint32_t parameter_bytes, grid[3], block[3];
    int64_t greatest; /* first + k * step of all iterations lie from 0 to this */
};
/* Whether it holds there. uses: of each byte of parameters, whether the answer rests on it (0 or 1); the caller's, cleared. */
bool reroll_holds(const struct reroll *reroll, const struct reroll_launch *launch, unsigned char *uses);

#endif
