/* SPDX-License-Identifier: Apache-2.0
 * Grid-stride loops: kernels that do the work of any number of elements with whatever threads there are,
 *
 *     for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) body(i);
 *
 * Such a launch leaves the same memory whatever its extent along x is (or y, or z: below, x stands for the axis), as long as no iteration touches what another one
 * writes: in a larger grid each thread has one iteration. What is asked of the function:
 * 1. all that it stores is stored in such loops, which lie in no others and are left at their ends only: several one after the
 *    other, or such as compilers make of one for a case that is decided before it;
 * 2. a loop carries i alone from iteration to iteration. i begins as the thread's number along x, or that and a constant from
 *    0 to GRID_STRIDE_MOST_FIRST; to it each iteration adds the number of threads along x;
 *    What else an iteration computes nobody reads behind the loop;
 * 3. nothing else in the loops follows from tid.x, ctaid.x or nctaid.x, but when they end; what is
 *    loaded before, all threads load from one place. Nothing in the function follows
 *    from other special registers than these, their fellows along the other axes, and ntid;
 * 4. when they end is no matter of data; and threads do not meet: no barriers, shared or local memory, atomics, warps.
 * How many iterations there are, and whether they touch what others write, is a matter of the launch (access/regrid.h). */
#ifndef KFUSE_FUSER_KERNEL_GRID_STRIDE_H
#define KFUSE_FUSER_KERNEL_GRID_STRIDE_H

#include "fuser/kernel/loops.h"
#include "fuser/kernel/reroll.h"
#include "fuser/kernel/ssa.h"

enum { GRID_STRIDE_LOOPS = 8, GRID_STRIDE_AXES = 3, GRID_STRIDE_MOST_FIRST = 1 << 20 };
struct grid_stride { /* along one axis */
    int axis;        /* 0: x */
    uint32_t headers[GRID_STRIDE_LOOPS],
        count; /* of the loops: blocks of the function's control flow graph */
    /* A copy that goes on behind each loop after one iteration. Instructions keep their numbers. */
    const struct ptx_function *once;
};
struct
    grid_strides { /* along several: the outer loops first; each is one of the copy that the one before it leaves */
    struct grid_stride of[GRID_STRIDE_AXES];
    uint32_t count;
    const struct reroll *rolled; /* not NULL: of its function, as the one asked for has unrolled loops */
};

/* Of a launch of this shape, whose grid matters only by which extents are 1. False: the function has none, or memory is out.
 * All lies in the arena, but for what grid_strides_close frees. */
bool grid_strides_find(struct arena *arena, const struct ptx_function *function, const uint32_t grid[3],
                       const uint32_t block[3], struct grid_strides *found);
void grid_strides_close(struct grid_strides *found);
/* The function has loops, and reads nctaid: how often they iterate may be a matter of the grid. */
bool grid_stride_may_be(const struct ptx_function *function);

#endif
